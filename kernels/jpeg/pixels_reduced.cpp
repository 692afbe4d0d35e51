// The reduced transforms in vector code (Highway), bit-equal to body/idct_reduced.h: pass 1 makes
// fewer lines, so that the rows of a block fit into 16 bytes.
#include "jpeg/pixels_tuned.h"

#include <cstring>

#include "simd/vectors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "jpeg/pixels_reduced.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "jpeg/pixels_pairs.h"

HWY_BEFORE_NAMESPACE();
namespace fl::jpeg::HWY_NAMESPACE {
#if FL_NO_VECTORS

bool Idct4x4(const Blocks& blocks, const Quantiser& quant, const Tiles& out) {
  return kScalarPixels.idct_4x4(blocks, quant, out);
}

bool Idct2x2(const Blocks& blocks, const Quantiser& quant, const Tiles& out) {
  return kScalarPixels.idct_2x2(blocks, quant, out);
}

#else

template <int kShift>
HWY_INLINE void run_line(V32 even, V32 odd, V32& plus, V32& minus) {
  plus = hn::ShiftRight<kShift>(hn::Add(even, odd));
  minus = hn::ShiftRight<kShift>(hn::Sub(even, odd));
}

template <int kSize, int kShift>
HWY_INLINE void run_reduced(const Pairs& in, int32_t round, V32* out) {
  if constexpr (kSize == 4) {
    for (int j = 0; j < 2; ++j)
      run_line<kShift>(dot(in.p02, in.p46, kFactorsTo4.even[j], round),
                       dot(in.p13, in.p57, kFactorsTo4.odd[j], 0), out[j], out[3 - j]);
  } else {  // half of the even factor, which needs 17 bits
    const V32 half = dot(in.p02, in.p46, kFactorsTo2.even[0], 0);
    run_line<kShift>(hn::Add(hn::Add(half, half), hn::Set(kD32, round)),
                     dot(in.p13, in.p57, kFactorsTo2.odd[0], 0), out[0], out[1]);
    out[2] = out[0];
    out[3] = out[1];
  }
}

// 16 bytes: the rows of a block. Two lines stand for four: rows 0 0 1 1 then.
template <int kSize>
HWY_INLINE Pairs turn_lines(const V32 (*columns)[4]) {
  const Turned first = turn(columns[0]);
  if constexpr (kParts == 1)
    return {left(first.even, first.even), right(first.even, first.even), left(first.odd, first.odd),
            right(first.odd, first.odd)};
  const Turned second = turn(columns[kParts - 1]);
  return {hn::BitCast(kD16, first.even), hn::BitCast(kD16, second.even),
          hn::BitCast(kD16, first.odd), hn::BitCast(kD16, second.odd)};
}

// bytes: rows of four.
template <int kSize>
HWY_INLINE void store_small(const uint8_t* bytes, uint8_t* out, ptrdiff_t stride) {
  for (int y = 0; y < kSize; ++y) std::memcpy(out + y * stride, bytes + 4 * y, kSize);
}

// Both passes of one block, or of two side by side.
template <int kSize>
HWY_INLINE bool transform(int16_t* a, int16_t* b, const Quantiser& quant, uint8_t* out,
                          ptrdiff_t stride) {
  constexpr int shift1 = idct::reduced_shift1(kSize), shift2 = idct::reduced_shift2(kSize);
  V32 lines[kParts][4];
  bool sure = true;
  for (int part = 0; part < kParts; ++part) {
    const Pairs values = load_pairs(a, b, part), by = prepared(quant, part);
    sure &= surely_plausible(values, by);
    run_reduced<kSize, shift1>(values * by, idct::reduced_round1(kSize), lines[part]);
  }
  const bool good = sure || (plausible_block(a, quant.zigzag) && plausible_block(b, quant.zigzag));
  clear(a);
  clear(b);
  run_reduced<kSize, shift2>(turn_lines<kSize>(lines), idct::reduced_round2(kSize), lines[0]);
  alignas(64) uint8_t bytes[kBytes];
  hn::Store(hn::BitCast(kD8, four_columns(lines[0])), kD8, bytes);
  store_small<kSize>(bytes, out, stride);
  if (a != b) store_small<kSize>(bytes + kBytes / 2, out + kSize, stride);
  return good;
}

template <int kSize>
HWY_INLINE bool transform_all(const Blocks& blocks, const Quantiser& quant, const Tiles& out) {
  bool good = true;
  BlockWalk walk(blocks);
  for (int n = 0; n < blocks.count; n += kTogether) {
    int16_t *const a = walk.next(), *const b = n + kTogether > blocks.count || kTogether == 1
                                                   ? a
                                                   : walk.next();
    good &= transform<kSize>(a, b, quant, out.first + n * kSize, out.stride);
  }
  return good;
}

bool Idct4x4(const Blocks& blocks, const Quantiser& quant, const Tiles& out) {
  return transform_all<4>(blocks, quant, out);
}

bool Idct2x2(const Blocks& blocks, const Quantiser& quant, const Tiles& out) {
  return transform_all<2>(blocks, quant, out);
}

#endif  // FL_NO_VECTORS
}  // namespace fl::jpeg::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fl::jpeg::tuned {

HWY_EXPORT(Idct4x4);
HWY_EXPORT(Idct2x2);

bool idct_4x4(const Blocks& blocks, const Quantiser& quant, const Tiles& out) {
  return HWY_DYNAMIC_DISPATCH(Idct4x4)(blocks, quant, out);
}

bool idct_2x2(const Blocks& blocks, const Quantiser& quant, const Tiles& out) {
  return HWY_DYNAMIC_DISPATCH(Idct2x2)(blocks, quant, out);
}

bool idct_1x1(const Blocks& blocks, const Quantiser& quant, const Tiles& out) {
  return kScalarPixels.idct_1x1(blocks, quant, out);  // one product a block
}

}  // namespace fl::jpeg::tuned
#endif
