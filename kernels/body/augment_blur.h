// The specification of GaussianBlur: float32, rows then columns, tap by tap; beyond the border the image is mirrored.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/host_device.h"

namespace fl {

constexpr int kMaxBlur = 255;  // taps

FL_HD int mirrored(int at, int count) { return at < 0 ? -at : at < count ? at : 2 * count - 2 - at; }  // no edge twice

FL_HD void gaussian(int taps, double sigma, float* weights) {
  double sum = 0;
  for (int k = 0; k < taps; ++k) {
    const double x = (k - (taps - 1) * 0.5) / sigma;
    sum += std::exp(-0.5 * x * x);
  }
  for (int k = 0; k < taps; ++k) {
    const double x = (k - (taps - 1) * 0.5) / sigma;
    weights[k] = static_cast<float>(std::exp(-0.5 * x * x) / sum);
  }
}

FL_HD uint8_t round_to_byte(float value) {  // half to even
  const float clipped = value < 0.0f ? 0.0f : value > 255.0f ? 255.0f : value;
  return static_cast<uint8_t>(std::nearbyint(clipped));
}

}  // namespace fl
