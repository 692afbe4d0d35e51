// parquet_page: where the values of a page lie. The GIL is given up.
#include "parquet/page.h"

#include <cstring>

#include "bind/bind.h"

namespace fl::bind {
namespace {

using namespace nb::literals;

nb::tuple page(int file, int64_t offset, int64_t size, int64_t unpacked, int64_t values, int depth,
               int64_t levels, bool packed, bool indices) {
  parquet::Found found;
  {
    const nb::gil_scoped_release unlocked;
    found = parquet::look(file, {offset, size, unpacked, values, depth, levels, packed, indices});
  }
  if (indices)
    return nb::make_tuple(found.missing,
                          to_numpy<int32_t, 1>(found.indices, {found.indices.size()}));
  constexpr size_t kColumns = sizeof(parquet::Value) / sizeof(int64_t);
  static_assert(sizeof(parquet::Value) == kColumns * sizeof(int64_t));
  std::vector<int64_t> rows(found.values.size() * kColumns);
  if (!rows.empty()) std::memcpy(rows.data(), found.values.data(), rows.size() * sizeof(int64_t));
  return nb::make_tuple(found.missing, to_numpy<int64_t, 2>(rows, {found.values.size(), kColumns}));
}

}  // namespace

void bind_parquet(nb::module_& m) {
  m.def("parquet_page", &page, "file"_a, "offset"_a, "size"_a, "unpacked"_a, "values"_a, "depth"_a,
        "levels"_a, "packed"_a, "indices"_a);
}

}  // namespace fl::bind
