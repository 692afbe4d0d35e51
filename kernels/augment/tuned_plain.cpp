// Tuned passes that vectors do not help: table lookups, counting, mirroring.
#include <cstring>

#include "augment/tuned.h"

namespace fl::augment {
namespace {

void lookup(const Pixels& image, const Lut& lut) {
  const int64_t pixels = static_cast<int64_t>(image.height) * image.width;
  const uint8_t *red = lut.of[0], *green = lut.of[1], *blue = lut.of[2];
  uint8_t* px = image.data;
  for (int64_t i = 0; i < pixels; ++i, px += kChannels) {
    const uint8_t r = red[px[0]], g = green[px[1]], b = blue[px[2]];  // all loads before the first store
    px[0] = r;
    px[1] = g;
    px[2] = b;
  }
}

// Two counters for each value, so that equal neighbours do not wait for each other.
void count(const Image& image, Counts& counts) {
  const int64_t pixels = static_cast<int64_t>(image.height) * image.width;
  Counts odd = {};
  counts = {};
  const uint8_t* px = image.data;
  for (int64_t i = 0; i + 1 < pixels; i += 2, px += 2 * kChannels) {
    for (int c = 0; c < kChannels; ++c) {
      ++counts.of[c][px[c]];
      ++odd.of[c][px[kChannels + c]];
    }
  }
  for (int c = 0; c < kChannels; ++c) {
    if (pixels % 2 == 1) ++counts.of[c][px[c]];
    for (int v = 0; v < 256; ++v) counts.of[c][v] += odd.of[c][v];
  }
}

// Pixels go as four bytes: the fourth is the next one's first, written after it, or padding.
void flip_x(const Image& in, const Pixels& out) {
  for (int y = 0; y < in.height; ++y) {
    uint8_t* to = out.row(y);
    const uint8_t* from = in.row(y) + (in.width - 1) * kChannels;
    for (int x = 0; x < in.width; ++x, to += kChannels, from -= kChannels) std::memcpy(to, from, kChannels + 1);
  }
}

}  // namespace

const Passes tuned_passes = {lookup, count,        tuned::luma_sum, tuned::saturate,    tuned::sharpen, tuned::hue,
                             flip_x, tuned::fixed, tuned::affine,   tuned::perspective, tuned::blur};

}  // namespace fl::augment
