// The specification of a block's way to fewer samples: libjpeg-turbo's reduced-size transforms. 4x4 and 2x2 are the
// 8-point transform, in 13-bit fixed point, averaged over pairs and fours of its outputs: most coefficients cancel out
// (4, and for 2x2 all even ones but DC). 1x1 is DC alone.
//
// Every input has a defined result, as in body/idct.h: values wrap to 16 bits when dequantised, pass 1 saturates to 16
// bits, and sums are taken modulo 2^32. For plausible blocks nothing wraps, and the result is libjpeg-turbo's.
#pragma once

#include "body/idct.h"

namespace fl {

namespace idct {

// The value of input 0 goes into each sum times 2^(kBits + 1) (4 points) or 2^(kBits + 2) (2 points).
struct Reduced4 {
  int16_t even[2][3];  // of inputs 0, 2, 6; row j makes outputs j (plus odd) and 3 - j (minus)
  int16_t odd[2][4];   // of inputs 1, 3, 5, 7
};

constexpr FL_HD Reduced4 reduced4() {
  return {{{16384, 15137, -6270},  //
           {16384, -15137, 6270}},
          {{20995, 7373, -4926, -4176},  //
           {8697, -17799, 11893, -1730}}};
}

struct Reduced2 {
  int16_t odd[4];  // of inputs 1, 3, 5, 7: plus for output 0, minus for output 1
};

constexpr FL_HD Reduced2 reduced2() { return {{29692, -10426, 6967, -5906}}; }

constexpr FL_HD int32_t rounding(int shift) { return 1 << (shift - 1); }

// A product of 16 bits each, for sums modulo 2^32.
FL_HD uint32_t times(int32_t factor, int32_t value) { return static_cast<uint32_t>(factor * value); }

}  // namespace idct

// 8 values, in[step * n], to 4 sums, still to be shifted down.
FL_HD void reduced_line4(const int16_t* in, int step, int32_t round, int32_t out[4]) {
  constexpr idct::Reduced4 by = idct::reduced4();
  using idct::times;
  for (int j = 0; j < 2; ++j) {
    const auto& e = by.even[j];
    const auto& o = by.odd[j];
    const uint32_t even =
        times(e[0], in[0]) + times(e[1], in[2 * step]) + times(e[2], in[6 * step]) + static_cast<uint32_t>(round);
    const uint32_t odd =
        times(o[0], in[step]) + times(o[1], in[3 * step]) + times(o[2], in[5 * step]) + times(o[3], in[7 * step]);
    out[j] = static_cast<int32_t>(even + odd);
    out[3 - j] = static_cast<int32_t>(even - odd);
  }
}

// 8 values, in[step * n], to 2 sums, still to be shifted down.
FL_HD void reduced_line2(const int16_t* in, int step, int32_t round, int32_t out[2]) {
  constexpr idct::Reduced2 by = idct::reduced2();
  using idct::times;
  const uint32_t even = times(1 << (idct::kBits + 2), in[0]) + static_cast<uint32_t>(round);
  const uint32_t odd = times(by.odd[0], in[step]) + times(by.odd[1], in[3 * step]) + times(by.odd[2], in[5 * step]) +
                       times(by.odd[3], in[7 * step]);
  out[0] = static_cast<int32_t>(even + odd);
  out[1] = static_cast<int32_t>(even - odd);
}

// kSize: 4 or 2. values: 8 rows of 8 dequantised coefficients; out: kSize rows of kSize samples, `stride` bytes apart.
template <int kSize>
FL_HD void idct_reduced(const int16_t* values, uint8_t* out, ptrdiff_t stride) {
  constexpr auto line = kSize == 4 ? reduced_line4 : reduced_line2;
  constexpr int gain = kSize == 4 ? 1 : 2;
  constexpr int shift1 = idct::kShift1 + gain, shift2 = idct::kShift2 + gain;
  int16_t rows[kSize][kBlockSize];
  int32_t sums[kSize];
  for (int x = 0; x < kBlockSize; ++x) {
    line(values + x, kBlockSize, idct::rounding(shift1), sums);
    for (int y = 0; y < kSize; ++y) rows[y][x] = clip16(sums[y] >> shift1);
  }
  for (int y = 0; y < kSize; ++y) {
    line(rows[y], 1, idct::rounding(shift2), sums);
    for (int x = 0; x < kSize; ++x) out[y * stride + x] = clip_sample((sums[x] >> shift2) + 128);
  }
}

// The mean of a block, from its dequantised DC.
FL_HD uint8_t idct_mean(int32_t dc) { return clip_sample(((dc + 4) >> 3) + 128); }

// Beyond this libjpeg-turbo's table of samples wraps around.
FL_HD bool plausible_mean(int32_t dc) { return dc >= -4096 && dc <= 4091; }

}  // namespace fl
