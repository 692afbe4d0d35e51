// Loops of weights.cpp over all outputs of an axis, for each instruction set. Sums and products of
// doubles have the same bits in all of them.
#pragma once

#include <cstdint>

namespace fl::cpu {

// 16-bit multipliers: weight = high * 2^11 + low, 0 <= low < 2^11. Two taps share one 32-bit word:
// first tap in its low half. So sum(weight * value) = (sum(high * value) << 11) + sum(low * value),
// exactly (modulo 2^32).
inline void split_pair(const int32_t* weights, int32_t* pair) {
  constexpr int kLowBits = 11, kLow = (1 << kLowBits) - 1;
  const auto pack = [](int32_t a, int32_t b) {
    return static_cast<int32_t>((static_cast<uint32_t>(a) & 0xFFFF) | static_cast<uint32_t>(b)
                                                                          << 16);
  };
  const int32_t a = weights[0], b = weights[1];
  pair[0] = pack(a >> kLowBits, b >> kLowBits);
  pair[1] = pack(a & kLow, b & kLow);
}

namespace tuned {

// Where outputs lie among the sources, in source pixels. Outputs rise by step, 1 or -1.
struct Geometry {
  double scale, support;  // source px per output px; source px on each side
  double origin;          // where output 0 begins
  int size;
  int first, step;
};

// Where outputs look: centres and first sources (px), and how many sources each has.
struct Looks {
  double* centre;
  int32_t *begin, *size;
  int count;
};

// The largest size.
int look(const Geometry& geometry, const Looks& out);

// The weights of tap k by the triangle filter, 0 behind an output's last source; added to sums.
void triangle_row(const Looks& looks, int k, double shrink, double* row, double* sums);

// The weights divided by their sums, in fixed point.
void fixed_row(const double* row, const double* sums, int count, int32_t* out);

// Weights tap by tap [taps, count] to output by output [count, taps], and as Axis::pairs; taps is
// even.
void by_output(const int32_t* rows, int count, int taps, int32_t* weights, int32_t* pairs);

}  // namespace tuned
}  // namespace fl::cpu
