// Tuned passes that vectors do not help: counting and mirroring.
//
// The table below is what run.cpp uses as `tuned`: these two passes and those of the other
// tuned_*.cpp.
#include <cstring>

#include "augment/tuned.h"

namespace fl::augment {
namespace {

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
    const uint8_t* from = in.row(y);
    uint8_t* to = out.row(y);
    for (int x = 0; x < in.width; ++x)
      std::memcpy(to + x * kChannels, from + (in.width - 1 - x) * kChannels, kChannels + 1);
  }
}

}  // namespace

const Passes tuned_passes = {
    tuned::lookup, count,        tuned::luma_sum, tuned::saturate,    tuned::sharpen, tuned::hue,
    flip_x,        tuned::fixed, tuned::affine,   tuned::perspective, tuned::box,     tuned::blur,
    tuned::add,    tuned::cut,   tuned::mix,      tuned::blend};

}  // namespace fl::augment
