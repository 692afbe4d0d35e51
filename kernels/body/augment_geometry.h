// The specification of AUGMENT's geometry: Pillow's Image.transform, output px to input px. Pixel
// centres lie at .5.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/host_device.h"
#include "body/augment_point.h"

namespace fl {

// An image that positions are looked up in. column() and line() clamp, which is how the border
// continues.
struct Texture {
  const uint8_t* data;  // [height, width, 3]
  int height, width;    // px
  ptrdiff_t stride;     // bytes from row to row

  FL_HD const uint8_t* row(int y) const { return data + y * stride; }
  FL_HD bool holds(double x, double y) const {
    return x >= 0.0 && x < width && y >= 0.0 && y < height;
  }
  FL_HD int column(int x) const { return x < 0 ? 0 : x < width ? x : width - 1; }
  FL_HD int line(int y) const { return y < 0 ? 0 : y < height ? y : height - 1; }
};

struct Position {
  double x, y;  // px
};

// Sums in this order: affine_transform of Pillow's Geometry.c. Another order would round
// differently.
struct AffineMap {
  double a[6];

  FL_HD Position operator()(int x, int y) const {
    const double right = x + 0.5, down = y + 0.5;
    return {a[0] * right + a[1] * down + a[2], a[3] * right + a[4] * down + a[5]};
  }
};

// perspective_transform of Geometry.c. A depth of 0 gives infinity or no number; Texture::holds is
// false for both.
struct PerspectiveMap {
  double a[8];

  FL_HD Position operator()(int x, int y) const {
    const double right = x + 0.5, down = y + 0.5;
    const double depth = a[6] * right + a[7] * down + 1.0;
    return {(a[0] * right + a[1] * down + a[2]) / depth,
            (a[3] * right + a[4] * down + a[5]) / depth};
  }
};

// Nearest affine maps in 16.16 fixed point, each coefficient rounded half up on its own.
// affine_fixed of Pillow's Geometry.c.
constexpr int kFixedBits = 16;

FL_HD int64_t to_fixed(double value) {
  return static_cast<int64_t>(std::floor(value * (1 << kFixedBits) + 0.5));
}

// 64 bits: of maps that fits_fixed takes, no product overflows.
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

  FL_HD int64_t column(int64_t at_x, int64_t at_y) const {
    return (x + at_y * x_down + at_x * x_right) >> kFixedBits;
  }
  FL_HD int64_t line(int64_t at_x, int64_t at_y) const {
    return (y + at_y * y_down + at_x * y_right) >> kFixedBits;
  }
};

// Fixed point holds the map if no corner of the output comes from 32768 px or more away.
FL_HD bool fits_fixed(const double* a, int height, int width) {
  for (int corner = 0; corner < 4; ++corner) {
    const double x = corner & 1 ? width : 0, y = corner & 2 ? height : 0;
    if (!(std::fabs(x * a[0] + y * a[1] + a[2]) < 32768.0) ||
        !(std::fabs(x * a[3] + y * a[4] + a[5]) < 32768.0))
      return false;
  }
  return true;
}

// The px at a position on one axis; -1 beyond the image.
FL_HD int inside(double at, int count) {
  return at >= 0.0 && at < count ? static_cast<int>(at) : -1;
}

FL_HD double lerp(double from, double to, double share) { return from + (to - from) * share; }

// For values that an int can hold.
FL_HD int floor_to_int(double value) {
  const int cut = static_cast<int>(value);
  return cut - (value < cut);
}

// The samplers write three channels at a position that the texture holds. Beyond the border lies
// the border.
FL_HD void nearest(const Texture& from, Position at, uint8_t* out) {
  const uint8_t* px = from.row(static_cast<int>(at.y)) + static_cast<int>(at.x) * 3;
  for (int c = 0; c < 3; ++c) out[c] = px[c];
}

// Rounds towards zero at the end, as Pillow's bilinear_filter: a picture becomes up to 1 darker.
FL_HD void bilinear(const Texture& from, Position at, uint8_t* out) {
  const double x = at.x - 0.5, y = at.y - 0.5;
  const int left = floor_to_int(x), top = floor_to_int(y);
  const int a = from.column(left) * 3, b = from.column(left + 1) * 3;
  const uint8_t *upper = from.row(from.line(top)), *lower = from.row(from.line(top + 1));
  for (int c = 0; c < 3; ++c) {
    const double above = lerp(upper[a + c], upper[b + c], x - left),
                 below = lerp(lower[a + c], lower[b + c], x - left);
    out[c] = static_cast<uint8_t>(lerp(above, below, y - top));  // cuts off
  }
}

// Catmull-Rom (a = -0.5), in the order of operations of Geometry.c.
FL_HD double cubic(double a, double b, double c, double d, double share) {
  const double p2 = -a + c, p3 = 2 * (a - b) + c - d, p4 = -a + b - c + d;
  return b + share * (p2 + share * (p3 + share * p4));
}

// Rows first, then down; overshoot is clipped, then cut off.
FL_HD void bicubic(const Texture& from, Position at, uint8_t* out) {
  const double x = at.x - 0.5, y = at.y - 0.5;
  const int left = floor_to_int(x), top = floor_to_int(y);
  int columns[4];
  const uint8_t* rows[4];
  for (int k = 0; k < 4; ++k) {
    columns[k] = from.column(left - 1 + k) * 3;
    rows[k] = from.row(from.line(top - 1 + k));
  }
  for (int c = 0; c < 3; ++c) {
    double across[4];
    for (int k = 0; k < 4; ++k) {
      const uint8_t* row = rows[k] + c;
      across[k] =
          cubic(row[columns[0]], row[columns[1]], row[columns[2]], row[columns[3]], x - left);
    }
    const double value = cubic(across[0], across[1], across[2], across[3], y - top);
    out[c] = static_cast<uint8_t>(value <= 0.0 ? 0.0 : value >= 255.0 ? 255.0 : value);
  }
}

}  // namespace fl
