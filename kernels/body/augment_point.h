// The specification of AUGMENT's pointwise ops: Pillow's arithmetic on uint8 values.
#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace fl {

FL_HD uint8_t clip_to_byte(int value) {
  return static_cast<uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
}

// Pillow's Image.blend, which all ImageEnhance ops end in: float32, cut off towards zero. Factor 1
// gives `to` back.
FL_HD uint8_t blend(int from, int to, float factor) {
  const float scaled = factor * static_cast<float>(to - from);
  const float value = static_cast<float>(from) + scaled;
  return static_cast<uint8_t>(value <= 0.0f ? 0.0f : value >= 255.0f ? 255.0f : value);
}

// ITU-R 601-2 in 16 bits: Pillow's mode L
constexpr int kLumaRed = 19595, kLumaGreen = 38470, kLumaBlue = 7471;

FL_HD uint8_t luma(int red, int green, int blue) {
  return static_cast<uint8_t>((red * kLumaRed + green * kLumaGreen + blue * kLumaBlue + 0x8000) >>
                              16);
}

FL_HD uint8_t posterize(int value, int bits) {
  return static_cast<uint8_t>(value & ~((1 << (8 - bits)) - 1));
}

FL_HD uint8_t solarize(int value, double threshold) {
  return static_cast<uint8_t>(value < threshold ? value : 255 - value);
}

FL_HD uint8_t solarize_add(int value, int add, double threshold) {
  return value < threshold ? clip_to_byte(value + add) : static_cast<uint8_t>(value);
}

// Pillow's ImageFilter.SMOOTH: the 3x3 sum, the middle five times, over 13. Pillow rounds a float32
// sum; it is never nearer to a tie than 1/26, so integers give the same.
FL_HD uint8_t smooth(int sum) { return static_cast<uint8_t>((sum + 6) / 13); }

}  // namespace fl
