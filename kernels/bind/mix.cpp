// What STORE does beyond one image's own values: boxes that are erased, and partners. For whole batches, on the host
// and on the device.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstring>

#include "bind/bind.h"
#include "core/error.h"
#include "cuda/store.h"

namespace fl::bind {
namespace {

using namespace nb::literals;

constexpr int64_t kPartnerColumns = sizeof(Partner) / sizeof(int32_t);

// box: top, left, height, width; px.
void check_box(const std::string& where, const int32_t* box, int height, int width) {
  const bool inside = *std::min_element(box, box + 4) >= 0 && box[2] <= height && box[3] <= width &&
                      box[0] <= height - box[2] && box[1] <= width - box[3];
  if (inside) return;
  refuse(where, "top, left, height, width",
         std::to_string(box[0]) + ", " + std::to_string(box[1]) + ", " + std::to_string(box[2]) + ", " +
             std::to_string(box[3]),
         "a box inside " + std::to_string(height) + "x" + std::to_string(width));
}

// Whole batches as uint8 [N, h, w, 3], mixed into `out`.
void store_mixed(const Input& images, const std::optional<Input>& table, const Output& out, bool channels_last,
                 const std::string& target, const Input& partners, const std::optional<Input>& boxes,
                 const std::optional<Input>& fills) {
  const std::string where = "store_mixed";
  const uint8_t* from = checked<uint8_t>(where + ": images", images, {kAny, kAny, kAny, kChannels});
  const auto count = static_cast<int64_t>(images.shape(0));
  const auto height = static_cast<int>(images.shape(1)), width = static_cast<int>(images.shape(2));
  const cpu::Target on = parse_target(target);
  const cpu::Format format = channels_last ? check_store(where, table, out, {count, height, width, kChannels}, true)
                                           : check_store(where, table, out, {count, kChannels, height, width}, false);
  const std::vector<Partner> how = parse_partners(where, partners, count, height, width);
  const ErasedLists erased = parse_erased(where, boxes, fills, out, count, height, width);
  const cpu::Mixture batch{from,        height,        width, how.data(), erased.boxes.data(), erased.fills.data(),
                           erased.each, number_of(out)};
  auto* to = static_cast<uint8_t*>(out.data());
  const nb::gil_scoped_release unlocked;
  Scratch scratch;
  const int64_t bytes = int64_t{height} * width * kChannels * format.item_size;
  for (int64_t n = 0; n < count; ++n) cpu::mix(batch, n, format, to + n * bytes, scratch, on);
}

Number parse_number(const std::string& name) {
  if (name == "uint8") return Number::kUint8;
  if (name == "float16") return Number::kFloat16;
  if (name == "bfloat16") return Number::kBfloat16;
  if (name == "float32") return Number::kFloat32;
  refuse("mix_cuda", "dtype", '"' + name + '"', "uint8, float16, bfloat16 or float32");
}

int bytes_of(Number number) { return number == Number::kUint8 ? 1 : number == Number::kFloat32 ? 4 : 2; }

void mix_cuda(uintptr_t images, uintptr_t table, uintptr_t out, int64_t count, int64_t height, int64_t width,
              const std::string& dtype, bool channels_last, uintptr_t partners, uintptr_t stream) {
  if (count < 0 || height < 1 || width < 1 || height > kMaxPixels / width)
    refuse("mix_cuda", "images", std::to_string(count) + " of " + std::to_string(height) + "x" + std::to_string(width),
           "at most " + std::to_string(kMaxPixels) + " px each");
  const Number number = parse_number(dtype);
  if (table == 0 && number != Number::kUint8) refuse("mix_cuda", "no table", "dtype " + dtype, "uint8");
  const cuda::StoreArgs to{images, table, out, count, height, width, bytes_of(number), channels_last};
  cuda::mix({to, partners, number}, stream);
}

}  // namespace

ErasedLists parse_erased(const std::string& where, const std::optional<Input>& boxes, const std::optional<Input>& fills,
                         const Output& out, int64_t count, int height, int width) {
  if (boxes.has_value() != fills.has_value())
    refuse(where, "boxes and fills", boxes.has_value() ? "boxes only" : "fills only", "both or neither");
  if (!boxes.has_value()) return {};
  const int32_t* values = checked<int32_t>(where + ": boxes", *boxes, {count, kAny, 4});
  const auto each = static_cast<int64_t>(boxes->shape(1));
  check(where + ": fills", Facts(*fills), {each, kChannels}, out.dtype());
  for (int64_t k = 0; k < count * each; ++k)
    check_box(where + ": boxes[" + std::to_string(k / each) + "][" + std::to_string(k % each) + "]", values + 4 * k,
              height, width);
  const auto* bytes = static_cast<const uint8_t*>(fills->data());
  return {{values, values + count * each * 4},
          {bytes, bytes + each * kChannels * (out.dtype().bits / 8)},
          static_cast<int>(each)};
}

std::vector<Partner> parse_partners(const std::string& where, const Input& rows, int64_t count, int height, int width) {
  const int32_t* values = checked<int32_t>(where + ": partners", rows, {count, kPartnerColumns});
  std::vector<Partner> out(count);
  for (int64_t n = 0; n < count; ++n) {
    const int32_t* row = values + n * kPartnerColumns;
    const std::string here = where + ": partners[" + std::to_string(n) + "]";
    if (row[0] < 0 || row[0] >= count)
      refuse(here, "no such sample", std::to_string(row[0]), "0.." + std::to_string(count - 1));
    check_box(here, row + 1, height, width);
    std::memcpy(&out[n], row, sizeof(Partner));
    for (const float weight : {out[n].own, out[n].other})
      if (!(weight >= 0 && weight <= 1)) refuse(here, "weight", std::to_string(weight), "0 to 1");
  }
  return out;
}

Number number_of(const Output& out) {
  const std::string got = name(out.dtype());
  if (got == "uint8") return Number::kUint8;
  return got == "float16" ? Number::kFloat16 : got == "uint16" ? Number::kBfloat16 : Number::kFloat32;
}

void bind_mix(nb::module_& m) {
  m.def("store_mixed", &store_mixed, "images"_a.noconvert(), "table"_a.noconvert().none(), "out"_a.noconvert(),
        "channels_last"_a, "target"_a, "partners"_a.noconvert(), "boxes"_a.noconvert() = nb::none(),
        "fills"_a.noconvert() = nb::none());
  m.def("mix_cuda", &mix_cuda, "images"_a, "table"_a, "out"_a, "count"_a, "height"_a, "width"_a, "dtype"_a,
        "channels_last"_a, "partners"_a, "stream"_a, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace fl::bind
