// One encoded image to pixels, for fastload.image. The GIL is given up; whoever calls keeps the
// bytes as they are meanwhile.
#include "engine/look.h"
#include "engine/single.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <memory>

#include "base/error.h"
#include "bind/bind.h"
#include "bind/buffered.h"

namespace fl::bind {
namespace {

using namespace nb::literals;
using Ints4 = std::tuple<int, int, int, int>;
using Box = std::tuple<float, float, float, float>;  // as Pillow takes it

Region region_of(const Ints4& box) {
  const auto [left, top, right, bottom] = box;
  return {top, left, bottom - top, right - left};
}

std::tuple<int, bool, int, int, int> header_of(const nb::object& data) {
  const Buffered held(data);
  const nb::gil_scoped_release unlocked;
  thread_local jpeg::Frame frame;
  thread_local png::Layout layout;
  const Header header = fl::header_of(held.bytes(), layout);
  const bool own = header.status == kOk && jpeg::parse_frame(held.bytes(), frame).empty() &&
                   frame.height == header.height && frame.width == header.width;
  return {header.status, own, header.height, header.width, header.components};
}

Single single_of(int scale, const Ints4& crop, const std::tuple<int, int>& size, const Box& box,
                 const Ints4& window, bool flip, const std::string& filter,
                 const std::string& order) {
  const Region cut = region_of(crop);
  const auto [width, height] = size;
  const auto [left, top, right, bottom] = box;
  return {scale,
          cut,
          {cut.height, cut.width, top, left, bottom - top, right - left, height, width,
           region_of(window), flip},
          {cpu::parse_filter(filter), cpu::parse_order(order)}};
}

// As Python gives it: XXH3 of the bytes, the index or b"", whether one is to be collected.
using Seek = std::tuple<uint64_t, nb::bytes, bool>;

Seeking seeking_of(const std::optional<Seek>& seek) {
  if (!seek.has_value()) return {};
  const auto& [hash, index, collect] = *seek;
  return {hash, {static_cast<const uint8_t*>(index.data()), index.size()}, collect, {}};
}

nb::object pixels_of(const nb::object& data, int scale, const Ints4& crop,
                     const std::tuple<int, int>& size, const Box& box, const Ints4& window,
                     bool flip, const std::string& filter, const std::string& order,
                     const Packing& packing, bool library, const std::optional<Output>& out,
                     Seeking& seeking) {
  const std::string where = "image_pixels";
  const Buffered held(data);
  png::Layout layout;
  const Header header = fl::header_of(held.bytes(), layout);
  if (header.status != kOk) throw std::invalid_argument(where + ": " + header.why);
  const Single single = single_of(scale, crop, size, box, window, flip, filter, order);
  check_single(single, header.height, header.width, where);
  const Region& shown = single.resize.window;
  const size_t shape[] = {static_cast<size_t>(shown.height), static_cast<size_t>(shown.width),
                          static_cast<size_t>(packing.channels)};
  std::unique_ptr<uint8_t[]> made;
  uint8_t* to = nullptr;
  if (out.has_value()) {
    to = checked<uint8_t>(where + ": out", *out, {shown.height, shown.width, packing.channels});
  } else {
    made.reset(new uint8_t[shape[0] * shape[1] * shape[2]]);
    to = made.get();
  }
  {
    const nb::gil_scoped_release unlocked;
    thread_local Worker worker;
    std::string why;
    try {
      why = make_single(held.bytes(), header, single, packing, library, seeking, to, worker);
    } catch (...) {
      worker.trim();
      throw;
    }
    worker.trim();
    if (!why.empty()) throw std::invalid_argument(where + ": " + why);
  }
  if (out.has_value()) return nb::none();
  uint8_t* owned = made.release();
  const nb::capsule owner(owned,
                          [](void* memory) noexcept { delete[] static_cast<uint8_t*>(memory); });
  return nb::cast(nb::ndarray<nb::numpy, uint8_t>(owned, 3, shape, owner));
}

Packing packing_of(int channels, int filler, bool bgr) {
  if (channels != 1 && channels != 3 && channels != 4)
    refuse("image_pixels", "channels", std::to_string(channels), "1, 3 or 4");
  if (filler < 0 || filler > 255)
    refuse("image_pixels", "filler", std::to_string(filler), "0..255");
  return {channels, static_cast<uint8_t>(filler), bgr && channels == kChannels};
}

}  // namespace

void bind_single(nb::module_& m) {
  m.def("image_header", &header_of, "data"_a);
  m.def(
      "image_pixels",
      [](const nb::object& data, int scale, const Ints4& crop, const std::tuple<int, int>& size,
         const Box& box, const Ints4& window, bool flip, const std::string& filter,
         const std::string& order, int channels, int filler, bool library,
         const std::optional<Output>& out, const std::optional<Seek>& seek, bool bgr) {
        Seeking seeking = seeking_of(seek);
        const nb::object pixels =
            pixels_of(data, scale, crop, size, box, window, flip, filter, order,
                      packing_of(channels, filler, bgr), library, out, seeking);
        const auto& made = seeking.made;
        nb::object index = nb::none();
        if (made) index = nb::bytes(made->data(), made->size());
        return nb::make_tuple(pixels, index);
      },
      "data"_a, nb::kw_only(), "scale"_a, "crop"_a, "size"_a, "box"_a, "window"_a, "flip"_a,
      "filter"_a, "order"_a, "channels"_a, "filler"_a, "library"_a,
      "out"_a.noconvert().none() = nb::none(), "seek"_a = nb::none(), "bgr"_a = false);
}

}  // namespace fl::bind
