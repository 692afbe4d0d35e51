// The IDCT of blocks whose last values are known to be zeros, bit-equal to body/idct.h: a
// coefficient layer says where each block ends. What is zero is not loaded and not multiplied.
//
// Most of a photograph's chroma ends early. Blocks whose values lie in the upper left quarter share
// a vector by two in pass 1, and half of pass 2 is zeros too.
#include <algorithm>
#include <bit>
#include <cstring>

#include "jpeg/pixels_tuned.h"
#include "simd/vectors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "jpeg/pixels_ended.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "jpeg/pixels_passes.h"

HWY_BEFORE_NAMESPACE();
namespace fl::jpeg::HWY_NAMESPACE {
#if FL_NO_VECTORS

void IdctEnded(const Blocks& blocks, const uint8_t* ends, const Quantiser& quant,
               const Tiles& out) {
  kScalarPixels.idct_ended(blocks, ends, quant, out);
}

#else

// Pass 1.
HWY_INLINE void begin_all(const int16_t* a, const int16_t* b, const Quantiser& quant,
                          V32 (*lines)[kBlockSize]) {
  for (int part = 0; part < kParts; ++part)
    run_pass<idct::kShift1>(load_pairs(a, b, part) * prepared(quant, part), idct::kRound1,
                            lines[part]);
}

#if HWY_MAX_BYTES != 32

// In their order: only blocks of a mere DC are told apart.
void IdctEnded(const Blocks& blocks, const uint8_t* ends, const Quantiser& quant,
               const Tiles& out) {
  Half half;
  for (int n = 0; n < blocks.count; n += kTogether) {
    const int last = std::min(n + kTogether, blocks.count) - 1;
    const int16_t* const a = blocks.first + n * ptrdiff_t{kBlockValues};
    const int16_t* const b = blocks.first + last * ptrdiff_t{kBlockValues};
    uint8_t* const tile = out.first + n * kBlockSize;
    if (std::max(ends[n], ends[last]) == 1) {
      fill_tile(*a, quant, tile, out.stride);
      if (n != last) fill_tile(*b, quant, tile + kBlockSize, out.stride);
      continue;
    }
    V32 lines[kParts][kBlockSize];
    begin_all(a, b, quant, lines);
    if (half.tile != nullptr) end_blocks(half, out.stride);
    turn_block(lines, half.rows);
    half.tile = tile;
    half.tiles = last - n + 1;
  }
  if (half.tile != nullptr) end_blocks(half, out.stride);
}

#else

// In zigzag order, values before these lie in rows and columns 0..3, and in rows 0..4. Of the third
// group a short block has one value, which is in row 1.
constexpr int kQuarterBlock = 10, kShortBlock = 17;

// Eight values of each block, one beside the other.
HWY_INLINE V8 group_of(const int16_t* a, const int16_t* b, int group) {
  const hn::Half<decltype(kD16)> half;
  return hn::BitCast(
      kD8, hn::Combine(kD16, hn::LoadU(half, b + 8 * group), hn::LoadU(half, a + 8 * group)));
}

HWY_INLINE V16 join(V8 first, V8 from_first, V8 second, V8 from_second) {
  return hn::BitCast(kD16, hn::Or(hn::TableLookupBytesOr0(first, from_first),
                                  hn::TableLookupBytesOr0(second, from_second)));
}

// A short block's values as load_pairs() gives them.
HWY_INLINE V16 short_pair(V8 first, V8 second, int pair) {
  const auto& from = kShortShuffles.bytes[pair];
  return join(first, hn::Load(kD8, from[0]), second, hn::Load(kD8, from[1]));
}

// Columns 0..3 of two blocks.
HWY_INLINE V16 quarter_pair(V8 first, V8 second, int pair) {
  const auto& from = kShortShuffles.bytes[pair];
  return join(first, hn::LoadDup128(kD8, from[0]), second, hn::LoadDup128(kD8, from[1]));
}

// Two quarter blocks, which may be the same; tiles: where they go.
HWY_INLINE void quarters(const int16_t* a, const int16_t* b, const Quantiser& quant,
                         uint8_t* const* tiles, ptrdiff_t stride) {
  const V8 first = group_of(a, b, 0), second = group_of(a, b, 1);
  const V16 none = hn::Zero(kD16);
  const Pairs values{quarter_pair(first, second, 0), none, quarter_pair(first, second, 2), none};
  const Pairs by{hn::LoadDup128(kD16, quant.values), none,
                 hn::LoadDup128(kD16, quant.values + 2 * kLanes16), none};
  V32 lines[kBlockSize];
  const Pairs products{hn::Mul(values.p02, by.p02), none, hn::Mul(values.p13, by.p13), none};
  run_pass<idct::kShift1, Has::k0To3>(products, idct::kRound1, lines);
  const Turned upper = turn(lines), lower = turn(lines + 4);
  const Pairs rows[2] = {{left(upper.even, lower.even), none, left(upper.odd, lower.odd), none},
                         {right(upper.even, lower.even), none, right(upper.odd, lower.odd), none}};
  for (int n = 0; n < 2; ++n) {
    run_pass<idct::kShift2, Has::k0To3>(rows[n], idct::kRound2, lines);
    store_tiles(lines, tiles[n], stride, 1);
  }
}

// Pass 1 of a short block: rows 5..7 are zeros.
HWY_INLINE void begin_short(const int16_t* block, const Quantiser& quant, V32* lines) {
  const V8 first = group_of(block, block, 0), second = group_of(block, block, 1);
  const V8 last =
      hn::TableLookupBytesOr0(group_of(block, block, 2), hn::Load(kD8, kShortShuffles.bytes[2][2]));
  const Pairs values{short_pair(first, second, 0), short_pair(first, second, 1),
                     hn::Or(short_pair(first, second, 2), hn::BitCast(kD16, last)), hn::Zero(kD16)};
  run_pass<idct::kShift1, Has::k0To4>(values * prepared(quant, 0), idct::kRound1, lines);
}

// Up to 32 blocks, sorted by where they end: bit n is block n. Which end a block has, nobody can
// guess; so each kind has a loop of its own.
struct Kinds {
  uint32_t flat, quarter, within_short, whole;
};

constexpr int kSorted = 32;

HWY_INLINE Kinds sorted(const uint8_t* ends, int count) {
  const hn::FixedTag<int8_t, kSorted> d;
  uint8_t few[kSorted] = {};
  if (count < kSorted) {
    std::memcpy(few, ends, count);
    ends = few;
  }
  const auto at = hn::LoadU(d, reinterpret_cast<const int8_t*>(ends));
  const auto up_to = [&](int last) HWY_ATTR {
    uint8_t bytes[kSorted / 8];
    uint32_t bits;
    hn::StoreMaskBits(d, hn::Lt(at, hn::Set(d, static_cast<int8_t>(last + 1))), bytes);
    std::memcpy(&bits, bytes, sizeof bits);
    return bits;
  };
  const uint32_t all = count < kSorted ? (uint32_t{1} << count) - 1 : ~uint32_t{0};
  const uint32_t one = up_to(1), ten = up_to(kQuarterBlock), more = up_to(kShortBlock);
  return {one & all, ten & ~one & all, more & ~ten & all, ~more & all};
}

HWY_INLINE int next(uint32_t& bits) {
  const int n = std::countr_zero(bits);
  bits &= bits - 1;
  return n;
}

void IdctEnded(const Blocks& blocks, const uint8_t* ends, const Quantiser& quant,
               const Tiles& out) {
  Half half;
  const auto continue_with = [&](V32(*lines)[kBlockSize], uint8_t* tile) HWY_ATTR {
    if (half.tile != nullptr) end_blocks(half, out.stride);
    turn_block(lines, half.rows);
    half.tile = tile;
    half.tiles = 1;
  };
  for (int first = 0; first < blocks.count; first += kSorted) {
    Kinds kinds = sorted(ends + first, std::min(kSorted, blocks.count - first));
    const int16_t* const block = blocks.first + first * ptrdiff_t{kBlockValues};
    uint8_t* const tile = out.first + first * kBlockSize;
    while (kinds.flat != 0) {
      const int n = next(kinds.flat);
      fill_tile(block[n * kBlockValues], quant, tile + n * kBlockSize, out.stride);
    }
    while (kinds.quarter != 0) {
      const int a = next(kinds.quarter), b = kinds.quarter != 0 ? next(kinds.quarter) : a;
      uint8_t* const tiles[2] = {tile + a * kBlockSize, tile + b * kBlockSize};
      quarters(block + a * kBlockValues, block + b * kBlockValues, quant, tiles, out.stride);
    }
    V32 lines[kParts][kBlockSize];
    while (kinds.within_short != 0) {
      const int n = next(kinds.within_short);
      begin_short(block + n * kBlockValues, quant, lines[0]);
      continue_with(lines, tile + n * kBlockSize);
    }
    while (kinds.whole != 0) {
      const int n = next(kinds.whole);
      const int16_t* const whole = block + n * kBlockValues;
      begin_all(whole, whole, quant, lines);
      continue_with(lines, tile + n * kBlockSize);
    }
  }
  if (half.tile != nullptr) end_blocks(half, out.stride);
}

#endif  // HWY_MAX_BYTES
#endif  // FL_NO_VECTORS
}  // namespace fl::jpeg::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fl::jpeg::tuned {

HWY_EXPORT(IdctEnded);

void idct_ended(const Blocks& blocks, const uint8_t* ends, const Quantiser& quant,
                const Tiles& out) {
  HWY_DYNAMIC_DISPATCH(IdctEnded)(blocks, ends, quant, out);
}

}  // namespace fl::jpeg::tuned
#endif
