// libwebp decodes a part that is a little larger than the region: at the borders of a part it has
// no neighbours to smooth chroma with, and begins at even places.
#include "webp/region.h"

#include <webp/decode.h>

#include <algorithm>
#include <new>
#include <utility>

#include "webp/memory.h"

namespace fl::webp {
namespace {

constexpr int kAround = 2;  // px
constexpr int kAlphaValues = 4;
// Bytes that libwebp takes beside pixels: for rows of an image as wide as can be; and for the
// tables of codes of one that is lossless, of which its own encoder makes less
constexpr size_t kRows = size_t{8} << 20, kTables = size_t{48} << 20;

// The least and the most that is needed of a side, both even or the image's end.
std::pair<int, int> widened(int first, int count, int side) {
  const int end = first + count;
  return {std::max(0, first - kAround) & ~1, std::min(side, (end + kAround + 1) & ~1)};
}

// Down to the image's last row.
Region around(const Region& region, const Layout& layout) {
  const int top = widened(region.top, region.height, layout.height).first;
  const auto [left, right] = widened(region.left, region.width, layout.width);
  return {top, left, layout.height - top, right - left};
}

// Of the library at most.
size_t taken(const Layout& layout) {
  const size_t pixels = static_cast<size_t>(layout.height) * layout.width;
  if (!layout.lossless && !layout.alpha) return kRows;
  // All pixels of 32 bits; an alpha plane may be packed as such an image
  return kRows + kTables + (sizeof(uint32_t) + 2) * pixels;
}

bool inside(const Region& region, const Layout& layout) {
  return region.top >= 0 && region.left >= 0 && region.height <= layout.height - region.top &&
         region.width <= layout.width - region.left;
}

// Transparency is dropped, as Pillow's `convert("RGB")` does. In place.
void drop_alpha(uint8_t* pixels, size_t count) {
  for (size_t n = 0; n < count; ++n)
    std::copy_n(pixels + kAlphaValues * n, kChannels, pixels + kChannels * n);
}

}  // namespace

std::string libwebp_version() {
  const int version = WebPGetDecoderVersion();
  return std::to_string(version >> 16) + "." + std::to_string(version >> 8 & 255) + "." +
         std::to_string(version & 255);
}

Decoded decode(Bytes bytes, const Region& region, Scratch& pixels,
               const std::function<void(size_t)>& ask) {
  Layout layout;
  if (std::string why = parse(bytes, layout); !why.empty()) return {{}, std::move(why)};
  if (!inside(region, layout)) return {{}, "its size is another one"};
  const Region part = around(region, layout);
  // A separate plane is decoded only where it is asked for; whether it is bad must not be missed
  const bool plane = layout.alpha && !layout.lossless;
  const size_t count = static_cast<size_t>(part.height) * part.width;
  const size_t line = static_cast<size_t>(part.width) * (plane ? kAlphaValues : kChannels);
  const size_t most = taken(layout);
  ask(most + line * part.height);
  uint8_t* const out = pixels.reserve(line * part.height + kPadding);

  WebPDecoderConfig how;
  if (!WebPInitDecoderConfig(&how)) return {{}, "libwebp is of another version"};
  how.options.use_cropping = 1;
  how.options.crop_top = part.top;
  how.options.crop_left = part.left;
  how.options.crop_height = part.height;
  how.options.crop_width = part.width;
  how.output.colorspace = plane ? MODE_RGBA : MODE_RGB;
  how.output.is_external_memory = 1;
  how.output.u.RGBA = {out, static_cast<int>(line), line * part.height};
  const Allowance allowance(most);
  const VP8StatusCode status = WebPDecode(bytes.data(), bytes.size(), &how);
  if (allowance.starved()) throw std::bad_alloc();
  if (allowance.exceeded()) return {{}, "it asks for more memory than others"};
  if (status != VP8_STATUS_OK) return {{}, "its pixels cannot be decoded"};

  if (plane) drop_alpha(out, count);
  const ptrdiff_t stride = static_cast<ptrdiff_t>(part.width) * kChannels;
  const Image all{out, part.height, part.width, stride, true};
  return {all.part({region.top - part.top, region.left - part.left, region.height, region.width}),
          {}};
}

}  // namespace fl::webp
