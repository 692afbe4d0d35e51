// png_refusal, png_decode: a PNG by itself, for tests and for whoever has only the bytes. The GIL is
// given up.
#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/error.h"
#include "bind/bind.h"
#include "png/decode.h"

namespace fl::bind {
namespace {

using namespace nb::literals;

png::Bytes view(const nb::bytes& data) {
  return {static_cast<const uint8_t*>(data.data()), data.size()};
}

std::string refusal(const nb::bytes& data) {
  png::Layout layout;
  return png::parse(view(data), layout);
}

void check(const Region& region, const png::Layout& layout) {
  if (region.empty() || region.top < 0 || region.left < 0 ||
      region.height > layout.height - region.top || region.width > layout.width - region.left)
    refuse("png_decode", "the region leaves the image",
           "top " + std::to_string(region.top) + ", left " + std::to_string(region.left) +
               ", size " + std::to_string(region.height) + "x" + std::to_string(region.width),
           "a region inside " + std::to_string(layout.height) + "x" +
               std::to_string(layout.width));
}

nb::object decode(const nb::bytes& data, int top, int left, int height, int width) {
  const Region region{top, left, height, width};
  png::Workspace space;
  if (const std::string why = png::parse(view(data), space.layout); !why.empty())
    throw std::invalid_argument("png_decode: " + why);
  check(region, space.layout);
  std::vector<uint8_t> pixels(static_cast<size_t>(height) * width * kChannels);
  {
    const nb::gil_scoped_release unlocked;
    const png::Decoded decoded = png::decode(view(data), region, space, [](size_t) {});
    if (!decoded.ok()) throw std::invalid_argument("png_decode: " + decoded.error);
    uint8_t* out = pixels.data();
    for (int y = 0; y < height; ++y)
      out = std::copy_n(decoded.image.row(y), static_cast<size_t>(width) * kChannels, out);
  }
  return to_numpy<uint8_t, 3>(
      pixels, {static_cast<size_t>(height), static_cast<size_t>(width), size_t{kChannels}});
}

}  // namespace

void bind_png(nb::module_& m) {
  m.def("png_refusal", &refusal, "data"_a);
  m.def("png_decode", &decode, "data"_a, "top"_a, "left"_a, "height"_a, "width"_a);
}

}  // namespace fl::bind
