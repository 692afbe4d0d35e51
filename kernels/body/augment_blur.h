// The specification of the blurs. GaussianBlur is torchvision's: float32, rows then columns, tap by
// tap; beyond the border the image is mirrored. BoxBlur is Pillow's, and three of them are what it
// calls GaussianBlur.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/host_device.h"
#include "base/libm.h"

namespace fl {

constexpr int kMaxBlur = 255;  // taps

// No edge twice
FL_HD int mirrored(int at, int count) {
  return at < 0 ? -at : at < count ? at : 2 * count - 2 - at;
}

// The weights of torchvision's GaussianBlur, in double and rounded to float32 at the end. Host
// only: exp is not the same on every machine, so a GPU gets finished weights.
inline void gaussian(int taps, double sigma, float* weights) {
  double sum = 0;
  for (int k = 0; k < taps; ++k) {
    const double x = (k - (taps - 1) * 0.5) / sigma;
    sum += libm::exp(-0.5 * x * x);
  }
  for (int k = 0; k < taps; ++k) {
    const double x = (k - (taps - 1) * 0.5) / sigma;
    weights[k] = static_cast<float>(libm::exp(-0.5 * x * x) / sum);
  }
}

FL_HD uint8_t round_to_byte(float value) {  // half to even
  const float clipped = value < 0.0f ? 0.0f : value > 255.0f ? 255.0f : value;
  return static_cast<uint8_t>(std::nearbyint(clipped));
}

constexpr int kMaxBoxRadius = 127;  // px: sums of 16 bits hold it

// Weights in 24 bits of a box that reaches `radius` px to both sides; the outermost px count in
// part. As Pillow's BoxBlur.c has it: (2 * reach + 1) * inner + 2 * outer is 2^24, up to rounding.
struct Box {
  int reach = 0;  // px that count in full
  uint32_t inner = 1 << 24, outer = 0;

  FL_HD explicit Box(float radius)
      : reach(static_cast<int>(radius)),
        inner(static_cast<uint32_t>(16777216.0f / (radius * 2.0f + 1.0f))),
        outer(((1 << 24) - (2 * static_cast<uint32_t>(reach) + 1) * inner) / 2) {}

  // sum: of the px that count in full; ends: of the two beyond them. Beyond the border lies the
  // border.
  FL_HD uint8_t operator()(uint32_t sum, uint32_t ends) const {
    return static_cast<uint8_t>((sum * inner + ends * outer + (1 << 23)) >> 24);
  }
};

}  // namespace fl
