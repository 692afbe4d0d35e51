// Texts of the array checks.
//
// Only contiguous arrays pass, but where check_strided is asked: kernels compute addresses from
// shapes. Arrays without elements count as contiguous.
#include "bind/arrays.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace fl::bind {
namespace {

std::string text(const int64_t* shape, size_t count) {
  std::string out = "[";
  for (size_t i = 0; i < count; ++i)
    out += (i ? ", " : "") + (shape[i] == kAny ? std::string("any") : std::to_string(shape[i]));
  return out + "]";
}

bool contiguous(const Facts& got) {
  if (std::count(got.shape.begin(), got.shape.end(), 0) > 0) return true;
  int64_t want = 1;
  for (size_t i = got.shape.size(); i-- > 0; want *= got.shape[i])
    if (got.shape[i] > 1 && got.strides[i] != want) return false;
  return true;
}

bool fits(const Facts& got, std::initializer_list<int64_t> shape) {
  if (got.shape.size() != shape.size()) return false;
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape.begin()[i] != kAny && shape.begin()[i] != got.shape[i]) return false;
  return true;
}

constexpr int64_t kCropColumns = sizeof(Crop) / sizeof(int32_t);

Crop crop_of(const int32_t* row, int64_t columns) {
  Crop out{};
  out.scale = 1;
  std::memcpy(&out, row, columns * sizeof(int32_t));
  return out;
}

int64_t columns_of(const Input& rows) {
  const bool scaled =
      rows.ndim() > 0 && static_cast<int64_t>(rows.shape(rows.ndim() - 1)) == kCropColumns;
  return scaled ? kCropColumns : kCropColumns - 1;
}

}  // namespace

std::string name(nb::dlpack::dtype type) {
  using Code = nb::dlpack::dtype_code;
  const auto code = static_cast<Code>(type.code);
  const char* kind = code == Code::Int      ? "int"
                     : code == Code::UInt   ? "uint"
                     : code == Code::Float  ? "float"
                     : code == Code::Bool   ? "bool"
                     : code == Code::Bfloat ? "bfloat"
                                            : "other";
  return kind + std::to_string(type.bits);
}

void check(const std::string& where, const Facts& got, std::initializer_list<int64_t> shape) {
  if (!fits(got, shape))
    refuse(where, "shape", text(got.shape.data(), got.shape.size()),
           text(shape.begin(), shape.size()));
  if (!contiguous(got)) refuse(where, "memory layout", "strided", "C-contiguous");
}

void check(const std::string& where, const Facts& got, std::initializer_list<int64_t> shape,
           nb::dlpack::dtype type) {
  if (got.type != type) refuse(where, "dtype", name(got.type), name(type));
  check(where, got, shape);
}

void check_strided(const std::string& where, const Facts& got, std::initializer_list<int64_t> shape,
                   nb::dlpack::dtype type) {
  Facts as_if = got;
  for (size_t i = as_if.shape.size(), want = 1; i-- > 0; want *= as_if.shape[i])
    as_if.strides[i] = static_cast<int64_t>(want);
  check(where, as_if, shape, type);
}

std::vector<Crop> crops(const std::string& where, const Input& rows, int64_t count) {
  const int64_t columns = columns_of(rows);
  const int32_t* values = checked<int32_t>(where, rows, {count, columns});
  std::vector<Crop> out;
  for (int64_t n = 0; n < count; ++n) out.push_back(crop_of(values + n * columns, columns));
  return out;
}

Crop one_crop(const std::string& where, const Input& row) {
  const int64_t columns = columns_of(row);
  return crop_of(checked<int32_t>(where, row, {columns}), columns);
}

}  // namespace fl::bind
