// The specification of Hue: Pillow's RGB → HSV → RGB, hue turned by `shift` of 256. Pillow's mix of
// float32 and double.
#pragma once

#include <cstdint>

#include "base/host_device.h"
#include "body/augment_point.h"

namespace fl {

struct Hsv {
  uint8_t hue, saturation, value;
};

// rgb2hsv_row of Pillow's Convert.c: 8 bits for each of the three, so that a round trip changes
// pixels even with shift 0.
FL_HD Hsv to_hsv(int red, int green, int blue) {
  const int most = red > green ? (red > blue ? red : blue) : (green > blue ? green : blue);
  const int least = red < green ? (red < blue ? red : blue) : (green < blue ? green : blue);
  if (most == least) return {0, 0, static_cast<uint8_t>(most)};
  const float range = static_cast<float>(most - least);
  const float saturation = range / static_cast<float>(most);
  const float r = static_cast<float>(most - red) / range,
              g = static_cast<float>(most - green) / range,
              b = static_cast<float>(most - blue) / range;
  float hue = red == most ? b - g : static_cast<float>(green == most ? 2.0 + r - b : 4.0 + g - r);
  const double turns = hue / 6.0 + 1.0;  // 0.8..1.9
  hue = static_cast<float>(turns - static_cast<int>(turns));
  return {clip_to_byte(static_cast<int>(hue * 255.0)),
          clip_to_byte(static_cast<int>(saturation * 255.0)), static_cast<uint8_t>(most)};
}

// Half away from zero, as the C library's round: the product is never negative.
FL_HD uint8_t of_value(int value, double share) {
  const double product = static_cast<float>(value) * share;  // 0..255, up to rounding errors
  const int cut = static_cast<int>(product);
  return clip_to_byte(cut + (product - cut >= 0.5));
}

// hsv2rgb_row of Convert.c. The sextant 6 (hue 255) is 0 again.
FL_HD void from_hsv(Hsv in, uint8_t* rgb) {
  const int sextant = static_cast<int>(static_cast<float>(in.hue) * 6.0 / 255.0);
  const float part =
      static_cast<float>(static_cast<float>(in.hue) * 6.0 / 255.0 - static_cast<float>(sextant));
  const float saturation = static_cast<float>(static_cast<float>(in.saturation) / 255.0);
  const uint8_t v = in.value, p = of_value(v, 1.0 - saturation),
                q = of_value(v, 1.0 - saturation * part),
                t = of_value(v, 1.0 - saturation * (1.0 - part));
  const uint8_t parts[6][3] = {{v, t, p}, {q, v, p}, {p, v, t}, {p, q, v}, {t, p, v}, {v, p, q}};
  for (int c = 0; c < 3; ++c) rgb[c] = in.saturation == 0 ? v : parts[sextant % 6][c];
}

FL_HD void turn_hue(const uint8_t* in, int shift, uint8_t* out) {
  Hsv colour = to_hsv(in[0], in[1], in[2]);
  colour.hue = static_cast<uint8_t>(colour.hue + shift);
  from_hsv(colour, out);
}

}  // namespace fl
