// The specification of one resized value: Pillow's fixed-point arithmetic for 8-bit channels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/host_device.h"

namespace fl {

// Pillow's PRECISION_BITS: 8 for the value, 2 for overshoot and sign
constexpr int kWeightBits = 32 - 8 - 2;

FL_HD uint8_t clip8(int32_t sum) {
  const int32_t value = sum >> kWeightBits;
  return static_cast<uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
}

// `taps` values of one channel, `step` bytes apart, weighted. Both passes round to uint8, so a pass
// is only this. ImagingResampleHorizontal_8bpc and its vertical twin in Pillow's Resample.c. The
// sum of one channel is at most 255 * 2^22 plus overshoot, so 32 bits hold the true sum; modulo
// 2^32 any order of taps gives it.
FL_HD uint8_t weigh(const uint8_t* values, ptrdiff_t step, const int32_t* weights, int taps) {
  // Rounds half up; unsigned, so that partial sums may wrap
  uint32_t sum = 1u << (kWeightBits - 1);
  for (int k = 0; k < taps; ++k) sum += static_cast<uint32_t>(weights[k]) * values[k * step];
  return clip8(static_cast<int32_t>(sum));
}

}  // namespace fl
