// What the IDCTs of whole tiles share: the two passes, and samples to tiles. Built once per
// instruction set, as Highway asks.
#if defined(FL_JPEG_PIXELS_PASSES_H) == defined(HWY_TARGET_TOGGLE)
#ifdef FL_JPEG_PIXELS_PASSES_H
#undef FL_JPEG_PIXELS_PASSES_H
#else
#define FL_JPEG_PIXELS_PASSES_H
#endif

#include <cstring>

#include "jpeg/pixels.h"
#include "jpeg/pixels_pairs.h"

HWY_BEFORE_NAMESPACE();
namespace fl::jpeg::HWY_NAMESPACE {
#if !FL_NO_VECTORS

// Which pairs may have something else than zeros.
enum class Has { kAll, k0To4, k0To3 };  // lines of the block

// idct_line() for as many columns as a vector has lanes.
template <int kShift, Has kHas = Has::kAll>
HWY_INLINE void run_pass(const Pairs& in, int32_t round, V32* out) {
  for (int j = 0; j < 4; ++j) {
    const auto &e = kFactors.even[j], &o = kFactors.odd[j];
    const V32 even = kHas == Has::k0To3 ? dot(in.p02, e, round) : dot(in.p02, in.p46, e, round);
    const V32 odd = kHas == Has::kAll ? dot(in.p13, in.p57, o, 0) : dot(in.p13, o, 0);
    out[j] = hn::ShiftRight<kShift>(hn::Add(even, odd));
    out[7 - j] = hn::ShiftRight<kShift>(hn::Sub(even, odd));
  }
}

HWY_INLINE void turn_block(const V32 (*columns)[kBlockSize], Pairs* rows) {
  const Turned upper = turn(columns[0]), lower = turn(columns[0] + 4);
  if constexpr (kParts == 1) {
    rows[0] = {left(upper.even, lower.even), right(upper.even, lower.even),
               left(upper.odd, lower.odd), right(upper.odd, lower.odd)};
  } else {  // the blocks of 16 bytes are vectors, nothing has to cross
    const Turned upper_right = turn(columns[kParts - 1]),
                 lower_right = turn(columns[kParts - 1] + 4);
    rows[0] = {hn::BitCast(kD16, upper.even), hn::BitCast(kD16, upper_right.even),
               hn::BitCast(kD16, upper.odd), hn::BitCast(kD16, upper_right.odd)};
    rows[kParts - 1] = {hn::BitCast(kD16, lower.even), hn::BitCast(kD16, lower_right.even),
                        hn::BitCast(kD16, lower.odd), hn::BitCast(kD16, lower_right.odd)};
  }
}

// ---- samples to tiles

#if FL_BYTE_VECTORS

HWY_INLINE void store_row(__m128i row, uint8_t* out, int tiles) {
  if (HWY_LIKELY(tiles == 2)) return _mm_storeu_si128(reinterpret_cast<__m128i*>(out), row);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out), row);
}

HWY_INLINE void store_tiles(const V32* lines, uint8_t* out, ptrdiff_t stride, int tiles) {
  const V8 left = columns_to_bytes(lines), right = columns_to_bytes(lines + 4);
  for (int half = 0; half < 2; ++half, out += 4 * stride) {
    const __m512i from = hn::Load(kD8, kRowIndices.from[half]).raw;
    const __m512i rows = _mm512_permutex2var_epi8(left.raw, from, right.raw);
    store_row(_mm512_castsi512_si128(rows), out, tiles);
    store_row(_mm512_extracti32x4_epi32(rows, 1), out + stride, tiles);
    store_row(_mm512_extracti32x4_epi32(rows, 2), out + 2 * stride, tiles);
    store_row(_mm512_extracti32x4_epi32(rows, 3), out + 3 * stride, tiles);
  }
}

#else

HWY_INLINE void store_two_rows(hn::Vec128<uint64_t> rows, uint8_t* out, ptrdiff_t stride) {
  const hn::Full64<uint64_t> row;
  hn::StoreU(hn::LowerHalf(row, rows), row, reinterpret_cast<uint64_t*>(out));
  hn::StoreU(hn::UpperHalf(row, rows), row, reinterpret_cast<uint64_t*>(out + stride));
}

// 16 bytes: two rows of the tile, and 16 bytes further, the rows 4 below.
template <class V>
HWY_INLINE void store_rows(V rows, uint8_t* out, ptrdiff_t stride) {
  const hn::DFromV<V> d;
  if constexpr (hn::MaxLanes(d) == 2) {
    store_two_rows(rows, out, stride);
  } else {
    const hn::Half<decltype(d)> half;
    store_two_rows(hn::LowerHalf(half, rows), out, stride);
    store_two_rows(hn::UpperHalf(half, rows), out + 4 * stride, stride);
  }
}

HWY_INLINE void store_tiles(const V32* lines, uint8_t* out, ptrdiff_t stride, int /*tiles*/) {
  const V32 left = four_columns(lines), right = four_columns(lines + 4);
  store_rows(hn::BitCast(kD64, hn::InterleaveLower(kD32, left, right)), out, stride);
  store_rows(hn::BitCast(kD64, hn::InterleaveUpper(kD32, left, right)), out + 2 * stride, stride);
}

#endif

HWY_INLINE void fill_tile(int16_t dc, const Quantiser& quant, uint8_t* out, ptrdiff_t stride) {
  const uint8_t sample = idct_flat(dequantise(dc, quant.values[0]));  // every layout begins with DC
  for (int y = 0; y < kBlockSize; ++y) std::memset(out + y * stride, sample, kBlockSize);
}

// Two blocks where a vector holds them, or one twice, between the two passes.
struct Half {
  Pairs rows[kParts];
  uint8_t* tile = nullptr;  // null: there is none
  int tiles = 0;

  HWY_INLINE Half() {}  // spelled out: as in Pairs
};

HWY_INLINE void end_blocks(const Half& half, ptrdiff_t stride) {
  V32 lines[kBlockSize];
  for (int part = 0; part < kParts; ++part) {
    run_pass<idct::kShift2>(half.rows[part], idct::kRound2, lines);
    store_tiles(lines, half.tile + part * 4 * stride, stride, half.tiles);
  }
}

#endif  // FL_NO_VECTORS
}  // namespace fl::jpeg::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
