// The IDCT in vector code (Highway), bit-equal to body/idct.h.
//
// Pass 1 of one vector of blocks runs before pass 2 of the one before it: the two do not depend on
// each other, so one fills the other's waiting times. Blocks are set to zero as soon as they are
// loaded.
#include "jpeg/pixels_tuned.h"

#include <cstring>

#include "simd/vectors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "jpeg/pixels_idct.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "jpeg/pixels_passes.h"

HWY_BEFORE_NAMESPACE();
namespace fl::jpeg::HWY_NAMESPACE {
#if FL_NO_VECTORS

void Prepare(const uint16_t* quant, Quantiser& out) { kScalarPixels.prepare(quant, out); }

bool IdctBlocks(const Blocks& blocks, const Quantiser& quant, const Tiles& out) {
  return kScalarPixels.idct_blocks(blocks, quant, out);
}

#else
// One block in ten of a photograph has nothing but DC, of soft ones far more: the test costs less
// than it saves.
HWY_INLINE bool only_dc(const int16_t* block) {
  const V16 first = hn::Load(kD16, block);
  V16 rest = hn::Xor(first, hn::And(first, hn::Load(kD16, kDcOnly)));
  for (int i = kLanes16; i < kBlockValues; i += kLanes16)
    rest = hn::Or(rest, hn::Load(kD16, block + i));
  return hn::AllTrue(kD16, hn::Eq(rest, hn::Zero(kD16)));
}

void Prepare(const uint16_t* quant, Quantiser& out) {
  alignas(64) int16_t values[kBlockValues];
  std::memcpy(values, quant, sizeof values);
  std::memcpy(out.zigzag, quant, sizeof out.zigzag);
  for (int part = 0; part < kParts; ++part)
    store_pairs(load_pairs(values, values, part), out, part);
}

HWY_INLINE bool flat_tile(int16_t* block, const Quantiser& quant, uint8_t* out, ptrdiff_t stride) {
  const int16_t dc = block[0];
  fill_tile(dc, quant, out, stride);
  block[0] = 0;
  return (dc < 0 ? -dc : dc) * static_cast<uint16_t>(quant.values[0]) <= kMaxBlockSum;
}

// Pass 1.
HWY_INLINE bool begin_blocks(int16_t* a, int16_t* b, const Quantiser& quant,
                             V32 (*lines)[kBlockSize]) {
  bool sure = true;
  for (int part = 0; part < kParts; ++part) {
    const Pairs values = load_pairs(a, b, part), by = prepared(quant, part);
    sure &= surely_plausible(values, by);
    run_pass<idct::kShift1>(values * by, idct::kRound1, lines[part]);
  }
  return sure || (plausible_block(a, quant.zigzag) && plausible_block(b, quant.zigzag));
}

// Two blocks at a time where a vector holds them; a last single one is transformed twice and stored
// once.
bool IdctBlocks(const Blocks& blocks, const Quantiser& quant, const Tiles& out) {
  bool good = true;
  BlockWalk walk(blocks);
  Half half;
  for (int n = 0; n < blocks.count; n += kTogether) {
    int16_t *const a = walk.next(), *const b = n + kTogether > blocks.count || kTogether == 1
                                                   ? a
                                                   : walk.next();
    uint8_t* const tile = out.first + n * kBlockSize;
    if (only_dc(a) && (a == b || only_dc(b))) {
      good &= flat_tile(a, quant, tile, out.stride);
      if (a != b) good &= flat_tile(b, quant, tile + kBlockSize, out.stride);
    } else {
      V32 lines[kParts][kBlockSize];
      good &= begin_blocks(a, b, quant, lines);
      clear(a);
      clear(b);
      if (half.tile != nullptr) end_blocks(half, out.stride);
      turn_block(lines, half.rows);
      half.tile = tile;
      half.tiles = a == b ? 1 : 2;
    }
  }
  if (half.tile != nullptr) end_blocks(half, out.stride);
  return good;
}

#endif  // FL_NO_VECTORS
}  // namespace fl::jpeg::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fl::jpeg::tuned {

HWY_EXPORT(Prepare);
HWY_EXPORT(IdctBlocks);

void prepare(const uint16_t* quant, Quantiser& out) { HWY_DYNAMIC_DISPATCH(Prepare)(quant, out); }

bool idct_blocks(const Blocks& blocks, const Quantiser& quant, const Tiles& out) {
  return HWY_DYNAMIC_DISPATCH(IdctBlocks)(blocks, quant, out);
}

}  // namespace fl::jpeg::tuned
#endif
