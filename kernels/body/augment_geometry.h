// The specification of AUGMENT's geometry: Pillow's Image.transform, output px to input px. Pixel centres lie at .5.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "body/augment_point.h"
#include "core/host_device.h"

namespace fl {

struct Texture {
  const uint8_t* data;  // [height, width, 3]
  int height, width;    // px
  ptrdiff_t stride;     // bytes from row to row

  FL_HD const uint8_t* row(int y) const { return data + y * stride; }
  FL_HD bool holds(double x, double y) const { return x >= 0.0 && x < width && y >= 0.0 && y < height; }
  FL_HD int column(int x) const { return x < 0 ? 0 : x < width ? x : width - 1; }
  FL_HD int line(int y) const { return y < 0 ? 0 : y < height ? y : height - 1; }
};

struct Position {
  double x, y;  // px
};

struct AffineMap {
  double a[6];

  FL_HD Position operator()(int x, int y) const {
    const double right = x + 0.5, down = y + 0.5;
    return {a[0] * right + a[1] * down + a[2], a[3] * right + a[4] * down + a[5]};
  }
};

struct PerspectiveMap {
  double a[8];

  FL_HD Position operator()(int x, int y) const {
    const double right = x + 0.5, down = y + 0.5;
    const double depth = a[6] * right + a[7] * down + 1.0;
    return {(a[0] * right + a[1] * down + a[2]) / depth, (a[3] * right + a[4] * down + a[5]) / depth};
  }
};

// Nearest affine maps in 16.16 fixed point, each coefficient rounded half up on its own.
constexpr int kFixedBits = 16;

FL_HD int64_t to_fixed(double value) { return static_cast<int64_t>(std::floor(value * (1 << kFixedBits) + 0.5)); }

struct FixedMap {
  int64_t x, y;              // of output px 0, 0
  int64_t x_right, y_right;  // what one output px to the right adds
  int64_t x_down, y_down;    // … one down

  FL_HD explicit FixedMap(const double* a)
      : x(to_fixed(a[2] + a[0] * 0.5 + a[1] * 0.5)),
        y(to_fixed(a[5] + a[3] * 0.5 + a[4] * 0.5)),
        x_right(to_fixed(a[0])),
        y_right(to_fixed(a[3])),
        x_down(to_fixed(a[1])),
        y_down(to_fixed(a[4])) {}

  FL_HD int64_t column(int64_t at_x, int64_t at_y) const { return (x + at_y * x_down + at_x * x_right) >> kFixedBits; }
  FL_HD int64_t line(int64_t at_x, int64_t at_y) const { return (y + at_y * y_down + at_x * y_right) >> kFixedBits; }
};

// Fixed point holds the map if no corner of the output comes from 32768 px or more away.
FL_HD bool fits_fixed(const double* a, int height, int width) {
  for (int corner = 0; corner < 4; ++corner) {
    const double x = corner & 1 ? width : 0, y = corner & 2 ? height : 0;
    if (!(std::fabs(x * a[0] + y * a[1] + a[2]) < 32768.0) || !(std::fabs(x * a[3] + y * a[4] + a[5]) < 32768.0))
      return false;
  }
  return true;
}

FL_HD double mix(double from, double to, double share) { return from + (to - from) * share; }

// One channel at a position that the texture holds; cut off towards zero. Beyond the border lies the border.
FL_HD uint8_t bilinear(const Texture& from, Position at, int channel) {
  const double x = at.x - 0.5, y = at.y - 0.5;
  const double left = std::floor(x), top = std::floor(y);
  const int x0 = static_cast<int>(left), y0 = static_cast<int>(top);
  const int a = from.column(x0) * 3 + channel, b = from.column(x0 + 1) * 3 + channel;
  const uint8_t *upper = from.row(from.line(y0)), *lower = from.row(from.line(y0 + 1));
  const double above = mix(upper[a], upper[b], x - left), below = mix(lower[a], lower[b], x - left);
  return static_cast<uint8_t>(mix(above, below, y - top));
}

FL_HD double cubic(double a, double b, double c, double d, double share) {
  const double p2 = -a + c, p3 = 2 * (a - b) + c - d, p4 = -a + b - c + d;
  return b + share * (p2 + share * (p3 + share * p4));
}

FL_HD uint8_t bicubic(const Texture& from, Position at, int channel) {
  const double x = at.x - 0.5, y = at.y - 0.5;
  const double left = std::floor(x), top = std::floor(y);
  const int x0 = static_cast<int>(left) - 1, y0 = static_cast<int>(top) - 1;
  double rows[4];
  for (int k = 0; k < 4; ++k) {
    const uint8_t* row = from.row(from.line(y0 + k)) + channel;
    rows[k] = cubic(row[from.column(x0) * 3], row[from.column(x0 + 1) * 3], row[from.column(x0 + 2) * 3],
                    row[from.column(x0 + 3) * 3], x - left);
  }
  const double value = cubic(rows[0], rows[1], rows[2], rows[3], y - top);
  return static_cast<uint8_t>(value <= 0.0 ? 0.0 : value >= 255.0 ? 255.0 : value);
}

FL_HD uint8_t nearest(const Texture& from, Position at, int channel) {
  return from.row(static_cast<int>(at.y))[static_cast<int>(at.x) * 3 + channel];
}

}  // namespace fl
