// The resampling filters, in double as Pillow computes them. Host only: sin is not the same
// everywhere.
//
// The formulas are those of Pillow's Resample.c, and so is the order of their operations: a weight
// is rounded to 22 bits once, but a last bit of a double may still decide which way.
#pragma once

#include <cmath>

#include "base/image.h"
#include "base/libm.h"
#include "body/resize.h"

namespace fl::cpu {

constexpr double kPi = 3.14159265358979323846;

// A filter and how far it reaches.
struct Kernel {
  double (*weight)(double);
  double support;  // px on each side at scale 1
};

inline double box(double x) { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }

inline double triangle(double x) {
  const double rest = 1.0 - std::fabs(x);
  return rest > 0.0 ? rest : 0.0;  // a maximum, which needs no branch
}

inline double hamming(double x) {
  x = std::fabs(x);
  if (x == 0.0) return 1.0;
  if (x >= 1.0) return 0.0;
  x *= kPi;
  return libm::sin(x) / x * (0.54f + 0.46f * libm::cos(x));  // Pillow's constants are floats
}

inline double cubic(double x) {
  constexpr double a = -0.5;  // Catmull-Rom
  x = std::fabs(x);
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
  if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * a;
  return 0.0;
}

inline double sinc(double x) {
  if (x == 0.0) return 1.0;
  x *= kPi;
  return libm::sin(x) / x;
}

inline double lanczos(double x) { return -3.0 <= x && x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0; }

// Not for nearest, which has no weights.
inline Kernel kernel(Filter filter) {
  switch (filter) {
    case Filter::kBox:
      return {box, 0.5};
    case Filter::kHamming:
      return {hamming, 1.0};
    case Filter::kBicubic:
      return {cubic, 2.0};
    case Filter::kLanczos:
      return {lanczos, 3.0};
    default:
      return {triangle, 1.0};
  }
}

// Half away from zero, as Pillow casts.
inline int32_t to_fixed(double weight) {
  return static_cast<int32_t>((weight < 0 ? -0.5 : 0.5) + weight * (1 << kWeightBits));
}

}  // namespace fl::cpu
