// The specification of one block's way from coefficients to samples: libjpeg-turbo's accurate
// integer IDCT ("islow"). Loeffler, Ligtenberg, Moschytz (ICASSP 1989) in 13-bit fixed point,
// columns first, then rows. Its butterflies are exact integer sums, so they stand here as what they
// come to: products with constants, which vector code can pair up.
//
// Every input has a defined result. A stream from an encoder is plausible, stays inside the 16
// bits, and the result is then libjpeg-turbo's; for hostile ones, coefficient times quantiser wraps
// to 16 bits and pass 1 saturates to 16 bits. The 32-bit sums cannot overflow: their constants add
// up to 61,214 at most, times 2^15, plus the rounding.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/host_device.h"

namespace fl {

constexpr int kBlockSize = 8;     // px
constexpr int kBlockValues = 64;  // coefficients or samples

// Where the n-th coefficient of the stream stands in its block, as row * 8 + column (ITU-T T.81,
// figure A.6).
constexpr FL_HD int zigzag_to_natural(int n) {
  constexpr uint8_t order[kBlockValues] = {
      0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,   //
      12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,  //
      35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,  //
      58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};
  return order[n];
}

namespace idct {

// Libjpeg's CONST_BITS; the precision that pass 1 keeps for pass 2
constexpr int kBits = 13, kPass1Bits = 2;
constexpr int kShift1 = kBits - kPass1Bits;
// 3: an 8-point transform in each direction gains a factor of 8
constexpr int kShift2 = kBits + kPass1Bits + 3;
constexpr int32_t kRound1 = 1 << (kShift1 - 1);
constexpr int32_t kRound2 = (1 << (kShift2 - 1)) + (128 << kShift2);  // with the level shift

// Row j makes outputs j (even part plus odd part) and 7 - j (minus). Each factor is a sum of
// libjpeg's FIX_ constants.
struct Factors {
  int16_t even[4][4];  // of inputs 0, 2, 4, 6
  int16_t odd[4][4];   // of inputs 1, 3, 5, 7
};

// A function, because device code cannot index a global table
constexpr FL_HD Factors factors() {
  return {{{8192, 10703, 8192, 4433},  //
           {8192, 4433, -8192, -10704},
           {8192, -4433, -8192, 10704},
           {8192, -10703, 8192, -4433}},
          {{11363, 9633, 6437, 2260},  //
           {9633, -2259, -11362, -6436},
           {6437, -11362, 2261, 9633},
           {2260, -6436, 9633, -11363}}};
}

}  // namespace idct

// 8 values to 8 sums, still to be shifted down.
FL_HD void idct_line(const int16_t in[kBlockSize], int32_t round, int32_t out[kBlockSize]) {
  constexpr idct::Factors by = idct::factors();
  for (int j = 0; j < 4; ++j) {
    const auto &e = by.even[j], &o = by.odd[j];
    const int32_t even = e[0] * in[0] + e[1] * in[2] + e[2] * in[4] + e[3] * in[6] + round;
    const int32_t odd = o[0] * in[1] + o[1] * in[3] + o[2] * in[5] + o[3] * in[7];
    out[j] = even + odd;
    out[7 - j] = even - odd;
  }
}

// quant: 16 bits without a sign, which the low half of a product does not see. Of a plausible block
// nothing wraps.
FL_HD int16_t dequantise(int16_t coefficient, int16_t quant) {
  return static_cast<int16_t>(coefficient * quant);  // C++20: modulo 2^16
}

FL_HD int16_t clip16(int32_t v) {
  return static_cast<int16_t>(v < -32768 ? -32768 : v > 32767 ? 32767 : v);
}
FL_HD uint8_t clip_sample(int32_t v) { return static_cast<uint8_t>(v < 0 ? 0 : v > 255 ? 255 : v); }

// The sum of absolute dequantised coefficients up to which nothing can overflow: pass 1 gives at
// most 4 * 11363 / 8192 = 5.55 times its column's sum, and pass 2 adds up two of these, columns n
// and n + 4.
constexpr int kMaxBlockSum = 5900;

// Can an encoder of 8-bit images have made this block? Beyond that libjpeg-turbo's 16-bit sums
// overflow and its pixels depend on the machine, so that there is no right result.
FL_HD bool plausible_block(const int16_t* coefficients, const int16_t* quant) {
  int32_t sums[kBlockSize / 2] = {};
  for (int n = 0; n < kBlockValues; ++n) {
    const int32_t value = coefficients[n] < 0 ? -coefficients[n] : coefficients[n];
    sums[zigzag_to_natural(n) % (kBlockSize / 2)] += value * static_cast<uint16_t>(quant[n]);
  }
  for (const int32_t sum : sums)
    if (sum > kMaxBlockSum) return false;
  return true;
}

// coefficients and quant in zigzag order; out: 8 rows of 8 samples, `stride` bytes apart.
FL_HD void idct_block(const int16_t* coefficients, const int16_t* quant, uint8_t* out,
                      ptrdiff_t stride) {
  int16_t columns[kBlockSize][kBlockSize], rows[kBlockSize][kBlockSize];
  int32_t sums[kBlockSize];
  for (int n = 0; n < kBlockValues; ++n) {
    const int at = zigzag_to_natural(n);
    columns[at % kBlockSize][at / kBlockSize] = dequantise(coefficients[n], quant[n]);
  }
  for (int x = 0; x < kBlockSize; ++x) {
    idct_line(columns[x], idct::kRound1, sums);
    for (int y = 0; y < kBlockSize; ++y) rows[y][x] = clip16(sums[y] >> idct::kShift1);
  }
  for (int y = 0; y < kBlockSize; ++y) {
    idct_line(rows[y], idct::kRound2, sums);
    for (int x = 0; x < kBlockSize; ++x)
      out[y * stride + x] = clip_sample(sums[x] >> idct::kShift2);
  }
}

// The sample that fills a block without any coefficient but DC (dequantised): what the two passes
// come to.
FL_HD uint8_t idct_flat(int16_t dc) {
  const int32_t column = clip16(dc * (1 << idct::kPass1Bits));
  return clip_sample(((column << idct::kBits) + idct::kRound2) >> idct::kShift2);
}

}  // namespace fl
