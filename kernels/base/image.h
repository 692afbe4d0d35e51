// Views of RGB images (uint8, channels last) and the records that say what to cut from them.
//
// Views own no memory and check no bounds: whoever makes one vouches for its size. In a row the
// pixels lie side by side, R G B; rows are `stride` bytes apart.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fl {

constexpr int kChannels = 3;
// Pillow's decompression-bomb error line (2 * MAX_IMAGE_PIXELS)
constexpr int64_t kMaxPixels = 178'956'970;
// px of images that others decoded: a row's bytes are an int
constexpr int64_t kMostGiven = 715'827'882;
// Bytes that vector loads may touch after the last pixel of a padded image
constexpr size_t kPadding = 64;

struct Region {
  int top = 0, left = 0, height = 0, width = 0;  // px

  bool empty() const { return height <= 0 || width <= 0; }
};

// Pixels that are read.
struct Image {
  const uint8_t* data = nullptr;
  int height = 0, width = 0;  // px
  ptrdiff_t stride = 0;       // bytes from row to row
  bool padded = false;        // kPadding bytes after the last row may be read

  const uint8_t* row(int y) const { return data + y * stride; }
  Image part(const Region& r) const {
    return {row(r.top) + r.left * kChannels, r.height, r.width, stride, padded};
  }
};

// Pixels that are written. A separate type, so that the compiler tells inputs from outputs.
struct Pixels {
  uint8_t* data = nullptr;
  int height = 0, width = 0;  // px
  ptrdiff_t stride = 0;       // bytes from row to row

  uint8_t* row(int y) const { return data + y * stride; }
};

// One row of the crops array: the box is cut, resized, and seen through a window that may reach
// past it.
struct Crop {
  int32_t top, left, height, width;       // box, px of the image
  int32_t resized_height, resized_width;  // px
  int32_t window_top, window_left;        // px of the resized box; may be negative
  int32_t flip;                           // 0 or 1: mirror the window left-right
  // 1, 2, 4 or 8: the image is decoded at 1/scale of its size
  int32_t scale;
};
static_assert(sizeof(Crop) == 10 * sizeof(int32_t));

// px of an image decoded at 1/scale Rounded up, as libjpeg and Pillow do.
constexpr int shrunk(int size, int scale) {
  return static_cast<int>((int64_t{size} + scale - 1) / scale);
}

// In the order of the names that parse_filter takes. Python counts them as Pillow does
// (Image.Resampling); bind/crops.cpp translates.
enum class Filter { kNearest, kBox, kBilinear, kHamming, kBicubic, kLanczos };

}  // namespace fl
