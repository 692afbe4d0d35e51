// The specification of YCbCr to RGB: libjpeg's 16-bit fixed point of JFIF's (ITU-R BT.601, full
// range) equations.
#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace fl {

struct Rgb {
  uint8_t r, g, b;
};

namespace ycc {
constexpr int kBits = 16;
constexpr int32_t kHalf = 1 << (kBits - 1);
constexpr int32_t kRedCr = 91881;    // 1.402
constexpr int32_t kGreenCr = 46802;  // 0.71414
constexpr int32_t kGreenCb = 22554;  // 0.34414
constexpr int32_t kBlueCb = 116130;  // 1.772
}  // namespace ycc

FL_HD uint8_t clip_colour(int32_t v) { return static_cast<uint8_t>(v < 0 ? 0 : v > 255 ? 255 : v); }

// Green's two products are added before the shift, as in jdcolor.c: rounding each would differ.
FL_HD Rgb ycc_to_rgb(uint8_t luma, uint8_t blue, uint8_t red) {
  using namespace ycc;
  const int32_t y = luma, cb = blue - 128, cr = red - 128;
  return {clip_colour(y + ((kRedCr * cr + kHalf) >> kBits)),
          clip_colour(y + ((kHalf - kGreenCb * cb - kGreenCr * cr) >> kBits)),
          clip_colour(y + ((kBlueCb * cb + kHalf) >> kBits))};
}

}  // namespace fl
