// The specification of a block's way to fewer samples: libjpeg-turbo's reduced-size transforms. 4x4
// and 2x2 are the 8-point transform, in 13-bit fixed point, averaged over pairs and fours of its
// outputs: some coefficients cancel out (4, and for 2x2 all even ones but DC). 1x1 is DC alone.
//
// Every input has a defined result, as in body/idct.h: values wrap to 16 bits when dequantised,
// pass 1 saturates to 16 bits, and sums are taken modulo 2^32. For plausible blocks nothing wraps,
// and the result is libjpeg-turbo's.
#pragma once

#include "body/idct.h"

namespace fl {
namespace idct {

// Row j makes outputs j (even part plus odd part) and kSize - 1 - j (minus).
template <int kSize>
struct Reduced {
  int16_t even[kSize / 2][4];  // of inputs 0, 2, 4, 6
  int16_t odd[kSize / 2][4];   // of inputs 1, 3, 5, 7
};

constexpr FL_HD Reduced<4> reduced4() {
  return {{{16384, 15137, 0, -6270},  //
           {16384, -15137, 0, 6270}},
          {{20995, 7373, -4926, -4176},  //
           {8697, -17799, 11893, -1730}}};
}

// The even factor is half of what it should be, 2^15, which does not fit.
constexpr FL_HD Reduced<2> reduced2() {
  return {{{16384, 0, 0, 0}}, {{29692, -10426, 6967, -5906}}};
}

// A transform to kSize points gains more than one to 8 by a factor of 2 (4 points) or 4 (2 points).
constexpr FL_HD int gain(int size) { return size == 4 ? 1 : 2; }
constexpr FL_HD int reduced_shift1(int size) { return kShift1 + gain(size); }
constexpr FL_HD int reduced_shift2(int size) { return kShift2 + gain(size); }
constexpr FL_HD int32_t reduced_round1(int size) { return 1 << (reduced_shift1(size) - 1); }
constexpr FL_HD int32_t reduced_round2(int size) {  // with the level shift
  return (1 << (reduced_shift2(size) - 1)) + (128 << reduced_shift2(size));
}

// Four products of 16 bits each, modulo 2^32; inputs first, first + 2, …
FL_HD uint32_t sum_products(const int16_t by[4], const int16_t* in, int first, int step) {
  uint32_t sum = 0;
  for (int n = 0; n < 4; ++n) sum += static_cast<uint32_t>(by[n] * in[(first + 2 * n) * step]);
  return sum;
}

}  // namespace idct

// 8 values, in[step * n], to kSize sums, still to be shifted down.
template <int kSize>
FL_HD void reduced_line(const int16_t* in, int step, int32_t round, int32_t out[kSize]) {
  constexpr idct::Reduced<4> four = idct::reduced4();
  constexpr idct::Reduced<2> two = idct::reduced2();
  for (int j = 0; j < kSize / 2; ++j) {
    const uint32_t even = idct::sum_products(kSize == 4 ? four.even[j] : two.even[0], in, 0, step);
    const uint32_t odd = idct::sum_products(kSize == 4 ? four.odd[j] : two.odd[0], in, 1, step);
    const uint32_t start = (kSize == 4 ? even : 2 * even) + static_cast<uint32_t>(round);
    out[j] = static_cast<int32_t>(start + odd);
    out[kSize - 1 - j] = static_cast<int32_t>(start - odd);
  }
}

// coefficients and quant in zigzag order; out: kSize (4 or 2) rows of kSize samples, `stride` bytes
// apart.
template <int kSize>
FL_HD void idct_reduced(const int16_t* coefficients, const int16_t* quant, uint8_t* out,
                        ptrdiff_t stride) {
  int16_t values[kBlockValues], rows[kSize][kBlockSize];
  int32_t sums[kSize];
  for (int n = 0; n < kBlockValues; ++n)
    values[zigzag_to_natural(n)] = dequantise(coefficients[n], quant[n]);
  for (int x = 0; x < kBlockSize; ++x) {
    reduced_line<kSize>(values + x, kBlockSize, idct::reduced_round1(kSize), sums);
    for (int y = 0; y < kSize; ++y) rows[y][x] = clip16(sums[y] >> idct::reduced_shift1(kSize));
  }
  for (int y = 0; y < kSize; ++y) {
    reduced_line<kSize>(rows[y], 1, idct::reduced_round2(kSize), sums);
    for (int x = 0; x < kSize; ++x)
      out[y * stride + x] = clip_sample(sums[x] >> idct::reduced_shift2(kSize));
  }
}

// The mean of a block, from its dequantised DC.
FL_HD uint8_t idct_mean(int32_t dc) { return clip_sample(((dc + 4) >> 3) + 128); }

// Beyond this libjpeg-turbo's table of samples wraps around.
FL_HD bool plausible_mean(int32_t dc) { return dc >= -4096 && dc <= 4091; }

}  // namespace fl
