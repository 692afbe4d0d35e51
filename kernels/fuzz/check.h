// What the fuzz targets share: an end with a reason, and numbers out of the input.
//
// Targets stop at the first broken promise, by abort, and print which one. Images are kept small:
// 2^14 px have the cases that large ones have, and take less time.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>

#include "base/image.h"

namespace fl::fuzz {

using Bytes = std::span<const uint8_t>;

constexpr int64_t kMostPixels = 1 << 14;  // larger images only take longer

// A broken promise: libFuzzer keeps the input and reports the crash.
[[noreturn]] inline void fail(const std::string& what) {
  std::fprintf(stderr, "fuzz: %s\n", what.c_str());
  std::abort();
}

inline void want(bool promise, const std::string& what) {
  if (!promise) fail(what);
}

// Some region of an image; four bytes say which. Two thirds of the regions end at the image's
// border.
inline Region region_of(const uint8_t* numbers, int height, int width) {
  Region out;
  out.top = numbers[0] % height;
  out.left = numbers[1] % width;
  const int below = height - out.top, right = width - out.left;
  out.height = numbers[2] % 3 != 0 ? below : 1 + numbers[2] % below;
  out.width = numbers[3] % 3 != 0 ? right : 1 + numbers[3] % right;
  return out;
}

inline bool same_pixels(const Image& one, const Image& other) {
  if (one.height != other.height || one.width != other.width) return false;
  for (int y = 0; y < one.height; ++y)
    if (std::memcmp(one.row(y), other.row(y), static_cast<size_t>(one.width) * kChannels) != 0)
      return false;
  return true;
}

// What holds of every decoder of regions: a region's pixels are those of the whole image there, and
// whether an image is bad does not depend on the region. choices: four bytes, as of `region_of`;
// decode(region, scratch): into memory of scratch number 0 or 1.
template <typename Decode>
void want_regions(const uint8_t* choices, int height, int width, Decode decode) {
  want(height > 0 && width > 0, "a layout of nothing");
  if (int64_t{height} * width > kMostPixels) return;
  const Region region = region_of(choices, height, width);
  const auto one = decode(Region{0, 0, height, width}, 0), other = decode(region, 1);
  want(one.error == other.error, "a region decides: " + one.error + "; " + other.error);
  if (one.ok()) want(same_pixels(one.image.part(region), other.image), "a region differs");
}

}  // namespace fl::fuzz
