// The specification of AUGMENT's histogram ops: 256 counts of one channel to its table, Pillow's
// ImageOps.
#pragma once

#include <cstdint>

#include "base/host_device.h"
#include "body/augment_point.h"

namespace fl {

FL_HD void identity_table(uint8_t* table) {
  for (int v = 0; v < 256; ++v) table[v] = static_cast<uint8_t>(v);
}

// Stretches low..high to 0..255; a channel of one value stays.
FL_HD uint8_t stretched(int value, int low, int high) {
  if (high <= low) return static_cast<uint8_t>(value);
  const double scale = 255.0 / (high - low);
  const double offset = -low * scale;
  const double scaled = value * scale;
  return clip_to_byte(static_cast<int>(scaled + offset));
}

// ImageOps.autocontrast without a cutoff.
FL_HD void autocontrast_table(const uint32_t* counts, uint8_t* table) {
  int low = 0, high = 255;
  while (low < 255 && counts[low] == 0) ++low;
  while (high > 0 && counts[high] == 0) --high;
  for (int v = 0; v < 256; ++v) table[v] = stretched(v, low, high);
}

// Evens out the counts; a channel of one value, or whose step would be 0, stays.
// below: px with a smaller value; step: px per value, by the count of the highest value there is.
FL_HD int64_t equalize_step(int64_t pixels, uint32_t highest) { return (pixels - highest) / 255; }

FL_HD uint8_t evened(int value, int64_t below, int64_t step) {
  if (step == 0) return static_cast<uint8_t>(value);
  const int64_t level = (step / 2 + below) / step;
  return static_cast<uint8_t>(level > 255 ? 255 : level);
}

// ImageOps.equalize: integers only, so the order of steps is free.
FL_HD void equalize_table(const uint32_t* counts, uint8_t* table) {
  int64_t pixels = 0;
  uint32_t highest = 0;
  for (int v = 0; v < 256; ++v) {
    pixels += counts[v];
    if (counts[v] != 0) highest = counts[v];
  }
  const int64_t step = equalize_step(pixels, highest);
  int64_t below = 0;
  for (int v = 0; v < 256; ++v) {
    table[v] = evened(v, below, step);
    below += counts[v];
  }
}

// The grey that Pillow's ImageEnhance.Contrast blends with: the mean luma, rounded half up.
FL_HD int mean_luma(int64_t sum, int64_t pixels) {
  return static_cast<int>(static_cast<double>(sum) / static_cast<double>(pixels) + 0.5);
}

}  // namespace fl
