// The specification of AUGMENT's histogram ops: 256 counts of one channel to its table, Pillow's ImageOps.
#pragma once

#include <cstdint>

#include "body/augment_point.h"
#include "core/host_device.h"

namespace fl {

FL_HD void identity_table(uint8_t* table) {
  for (int v = 0; v < 256; ++v) table[v] = static_cast<uint8_t>(v);
}

// Stretches lowest..highest to 0..255; a channel of one value stays.
FL_HD void autocontrast_table(const uint32_t* counts, uint8_t* table) {
  int low = 0, high = 255;
  while (low < 255 && counts[low] == 0) ++low;
  while (high > 0 && counts[high] == 0) --high;
  if (high <= low) return identity_table(table);
  const double scale = 255.0 / (high - low);
  const double offset = -low * scale;
  for (int v = 0; v < 256; ++v) {
    const double scaled = v * scale;
    table[v] = clip_to_byte(static_cast<int>(scaled + offset));
  }
}

// Evens out the counts; a channel of one value, or whose step would be 0, stays.
FL_HD void equalize_table(const uint32_t* counts, uint8_t* table) {
  int64_t sum = 0;
  uint32_t last = 0;  // of the highest value there is
  for (int v = 0; v < 256; ++v) {
    sum += counts[v];
    if (counts[v] != 0) last = counts[v];
  }
  const int64_t step = (sum - last) / 255;
  if (step == 0) return identity_table(table);
  int64_t seen = step / 2;
  for (int v = 0; v < 256; ++v) {
    const int64_t value = seen / step;
    table[v] = static_cast<uint8_t>(value > 255 ? 255 : value);
    seen += counts[v];
  }
}

// The grey that Pillow's ImageEnhance.Contrast blends with: the mean luma, rounded half up.
FL_HD int mean_luma(int64_t sum, int64_t pixels) {
  return static_cast<int>(static_cast<double>(sum) / static_cast<double>(pixels) + 0.5);
}

}  // namespace fl
