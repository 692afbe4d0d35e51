// png_numbers, mask_seen: masks of classes, from a PNG to the rows and columns that a batch shows. The
// GIL is given up.
#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "base/error.h"
#include "bind/bind.h"
#include "png/decode.h"

namespace fl::bind {
namespace {

using namespace nb::literals;

constexpr size_t kKept = size_t{4} << 20;  // bytes of a thread's memory between two masks

template <class T>
using Plane = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Places = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void numbers(const nb::bytes& data, const Plane<uint8_t>& out) {
  thread_local png::Workspace space;
  const png::Bytes bytes{static_cast<const uint8_t*>(data.data()), data.size()};
  std::string why;
  {
    const nb::gil_scoped_release unlocked;
    why = png::parse(bytes, space.layout);
    const bool same = static_cast<size_t>(space.layout.height) == out.shape(0) &&
                      static_cast<size_t>(space.layout.width) == out.shape(1);
    if (why.empty() && !same) why = "another size";
    if (why.empty()) why = png::numbers(bytes, space, out.data());
    space.trim(kKept);
  }
  if (!why.empty()) throw std::invalid_argument("png_numbers: " + why);
}

// Each lies inside, or is negative: outside.
void check(const std::string& what, const Places& places, size_t count, size_t side) {
  if (places.shape(0) != count)
    refuse("mask_seen", what, std::to_string(places.shape(0)), std::to_string(count));
  for (size_t at = 0; at < count; ++at)
    if (places(at) >= static_cast<int64_t>(side))
      refuse("mask_seen", what, std::to_string(places(at)),
             "less than " + std::to_string(side));
}

template <class T>
void seen(const Plane<const uint8_t>& mask, const Places& rows, const Places& columns, uint8_t fill,
          const Plane<T>& out) {
  const size_t height = out.shape(0), width = out.shape(1), stride = mask.shape(1);
  check("rows", rows, height, mask.shape(0));
  check("columns", columns, width, stride);
  const nb::gil_scoped_release unlocked;
  const int64_t* const across = columns.data();
  for (size_t y = 0; y < height; ++y) {
    T* const to = out.data() + y * width;
    const int64_t down = rows(y);
    if (y > 0 && down == rows(y - 1)) {  // as most rows of a mask that was made larger
      std::memcpy(to, to - width, width * sizeof(T));
      continue;
    }
    if (down < 0) {
      std::fill_n(to, width, T{fill});
      continue;
    }
    const uint8_t* const from = mask.data() + static_cast<size_t>(down) * stride;
    for (size_t x = 0; x < width; ++x) to[x] = across[x] < 0 ? fill : from[across[x]];
  }
}

}  // namespace

void bind_class_masks(nb::module_& m) {
  m.def("png_numbers", &numbers, "data"_a, "out"_a.noconvert());
  m.def("mask_seen", &seen<uint8_t>, "mask"_a.noconvert(), "rows"_a.noconvert(),
        "columns"_a.noconvert(), "fill"_a, "out"_a.noconvert());
  m.def("mask_seen", &seen<int64_t>, "mask"_a.noconvert(), "rows"_a.noconvert(),
        "columns"_a.noconvert(), "fill"_a, "out"_a.noconvert());
}

}  // namespace fl::bind
