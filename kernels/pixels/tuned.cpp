// The passes of a resize in vector code (Highway), bit-equal to body/resize.h. Weights have 22
// bits, multipliers 16, so each weight is split in two (weights_tuned.h, split_pair) and two taps at a
// time go through 16-bit multiply-adds.
//
// Reads: up to one vector (64 bytes at most) past the last pixel of a row, which `padded` allows.
// Writes: whole vectors, within row_bytes() of an output row. Lanes and vectors may be made twice
// where a row ends; they get the same values.
#include <algorithm>
#include <cstring>
#include <new>

#include "body/resize.h"
#include "pixels/passes.h"
#include "simd/vectors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixels/tuned.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "pixels/horizontal_bytes.h"
#include "simd/vector_sums.h"

HWY_BEFORE_NAMESPACE();
namespace fl::cpu::HWY_NAMESPACE {
#if FL_NO_VECTORS

void VerticalRow(const uint8_t* in, ptrdiff_t stride, const Axis& axis, int row, uint8_t* out,
                 int bytes) {
  scalar::vertical_row(in, stride, axis, row, out, bytes);
}

void Horizontal(const Image& in, const Axis& axis, const Pixels& out) {
  scalar::horizontal(in, axis, out);
}

#else
constexpr int kAnyTaps =
    0;  // else a count that is known when compiling: enlarging has 2 (bilinear), halving 4 or 6
constexpr int kLanes = static_cast<int>(hn::MaxLanes(kD8));
constexpr int kBlocks = kLanes / 16;

// Four vectors of int32 to one of uint8, clipped to 0..255; keeps the order within each block.
HWY_INLINE V8 clip(V32 a, V32 b, V32 c, V32 d) {
  return pack_bytes(hn::ReorderDemote2To(kD16, a, b), hn::ReorderDemote2To(kD16, c, d));
}

// ---- vertical: neighbours in memory are independent, rows are taps

// One vector of bytes from each of the rows that weigh. Two rows are interleaved, so that a
// multiply-add takes both at once. `last`: bytes from the first to the last row there is; a tap
// beyond it weighs 0 and may read any row.
template <int kTaps>
HWY_INLINE V8 weigh_columns(const uint8_t* in, ptrdiff_t stride, const int32_t* pairs, int any_taps,
                            ptrdiff_t last) {
  const int taps = kTaps == kAnyTaps ? any_taps : kTaps;
  Sums sums[4];
  const V8 zero = hn::Zero(kD8);
  for (int k = 0; k < taps; k += 2, pairs += 2) {
    const V8 a = hn::LoadU(kD8, in + k * stride);
    const V8 b = hn::LoadU(kD8, in + std::min<ptrdiff_t>((k + 1) * stride, last));
    const V16 high = broadcast(pairs), low = broadcast(pairs + 1);
    const V8 lower = hn::InterleaveLower(kD8, a, b), upper = hn::InterleaveUpper(kD8, a, b);
    sums[0].add(hn::BitCast(kD16, hn::InterleaveLower(kD8, lower, zero)), high, low);
    sums[1].add(hn::BitCast(kD16, hn::InterleaveUpper(kD8, lower, zero)), high, low);
    sums[2].add(hn::BitCast(kD16, hn::InterleaveLower(kD8, upper, zero)), high, low);
    sums[3].add(hn::BitCast(kD16, hn::InterleaveUpper(kD8, upper, zero)), high, low);
  }
  return clip(sums[0].rounded(), sums[1].rounded(), sums[2].rounded(), sums[3].rounded());
}

template <int kTaps>
void vertical_with(const uint8_t* in, ptrdiff_t stride, const Axis& axis, int row, uint8_t* out,
                   int bytes) {
  const int32_t* pairs = &axis.pairs[static_cast<size_t>(row) * axis.taps];
  const uint8_t* values = in + axis.first[row] * stride;
  // An odd number of rows has no pair
  const ptrdiff_t last = (axis.end - axis.begin - 1 - axis.first[row]) * stride;
  int i = 0;
  for (; i + kLanes <= bytes; i += kLanes)
    hn::StoreU(weigh_columns<kTaps>(values + i, stride, pairs, axis.taps, last), kD8, out + i);
  if (i == bytes) return;
  i = bytes - kLanes;  // the last vector overlaps the one before: the same values again
  hn::StoreU(weigh_columns<kTaps>(values + i, stride, pairs, axis.taps, last), kD8, out + i);
}

void VerticalRow(const uint8_t* in, ptrdiff_t stride, const Axis& axis, int row, uint8_t* out,
                 int bytes) {
  if (bytes < kLanes) return scalar::vertical_row(in, stride, axis, row, out, bytes);
  switch (axis.taps) {
    case 2:
      return vertical_with<2>(in, stride, axis, row, out, bytes);
    case 4:
      return vertical_with<4>(in, stride, axis, row, out, bytes);
    case 6:
      return vertical_with<6>(in, stride, axis, row, out, bytes);
    default:
      return vertical_with<kAnyTaps>(in, stride, axis, row, out, bytes);
  }
}

// ---- horizontal: one block of 16 bytes works on one row; four lanes hold R, G, B of one output
// and a spare

using Rows = const uint8_t* const*;

// Sixteen bytes of as many rows as a vector has blocks, from byte `at` of each.
HWY_INLINE V8 load_rows(Rows rows, ptrdiff_t at) {
  const hn::FixedTag<uint8_t, 16> block;
#if HWY_MAX_BYTES >= 64
  const hn::FixedTag<uint8_t, 32> two;
  return hn::Combine(
      kD8, hn::Combine(two, hn::LoadU(block, rows[3] + at), hn::LoadU(block, rows[2] + at)),
      hn::Combine(two, hn::LoadU(block, rows[1] + at), hn::LoadU(block, rows[0] + at)));
#elif HWY_MAX_BYTES >= 32
  return hn::Combine(kD8, hn::LoadU(block, rows[1] + at), hn::LoadU(block, rows[0] + at));
#else
  return hn::LoadU(block, rows[0] + at);
#endif
}

// Pixels 0, 1 (or 2, 3) as 16-bit pairs: R0 R1 G0 G1 B0 B1 and two zeros.
HWY_INLINE V16 pair_up(V8 pixels, const uint8_t* shuffle) {
  return hn::BitCast(kD16, hn::TableLookupBytesOr0(pixels, hn::LoadDup128(kD8, shuffle)));
}

alignas(16) constexpr uint8_t kPixels01[16] = {0, 128, 3, 128, 1,   128, 4,   128,
                                               2, 128, 5, 128, 128, 128, 128, 128};
alignas(16) constexpr uint8_t kPixels23[16] = {6, 128, 9,  128, 7,   128, 10,  128,
                                               8, 128, 11, 128, 128, 128, 128, 128};
alignas(16) constexpr uint8_t kDropSpare[16] = {0,  1,  2,  4,  5,   6,   8,   9,
                                                10, 12, 13, 14, 128, 128, 128, 128};

constexpr int kSets = 2;  // vectors of rows at a time: they share the weights, and hide latencies
constexpr int kRows = kSets * kBlocks;

// Output pixel x of two vectors of rows. Four taps are one load of 16 bytes (12 count); two sets of
// sums keep the multiply-add units busy while the other set waits.
template <int kTaps>
HWY_INLINE void weigh_pixels(Rows rows, const Axis& axis, int x, V32* out) {
  const int taps = kTaps == kAnyTaps ? axis.taps : kTaps;
  const int32_t* pairs = &axis.pairs[static_cast<size_t>(x) * taps];
  const ptrdiff_t at = axis.first[x] * ptrdiff_t{kChannels};
  Sums a, b;
  int k = 0;
  for (; k + 4 <= taps; k += 4, pairs += 4) {
    const V8 of_a = load_rows(rows, at + k * kChannels),
             of_b = load_rows(rows + kBlocks, at + k * kChannels);
    const V16 high01 = broadcast(pairs), low01 = broadcast(pairs + 1);
    const V16 high23 = broadcast(pairs + 2), low23 = broadcast(pairs + 3);
    a.add(pair_up(of_a, kPixels01), high01, low01);
    b.add(pair_up(of_b, kPixels01), high01, low01);
    a.add(pair_up(of_a, kPixels23), high23, low23);
    b.add(pair_up(of_b, kPixels23), high23, low23);
  }
  if (k < taps) {
    const V16 high = broadcast(pairs), low = broadcast(pairs + 1);
    a.add(pair_up(load_rows(rows, at + k * kChannels), kPixels01), high, low);
    b.add(pair_up(load_rows(rows + kBlocks, at + k * kChannels), kPixels01), high, low);
  }
  out[0] = a.rounded();
  out[1] = b.rounded();
}

// Four pixels to each row: 12 bytes, and 4 more that the next group or the padding takes.
HWY_INLINE void store_rows(V8 pixels, uint8_t* const* rows, int x) {
  alignas(64) uint8_t bytes[kLanes];
  hn::Store(hn::TableLookupBytesOr0(pixels, hn::LoadDup128(kD8, kDropSpare)), kD8, bytes);
  for (int b = 0; b < kBlocks; ++b) std::memcpy(rows[b] + x * kChannels, bytes + 16 * b, 16);
}

// kRows rows at a time share the weights of a group of four output pixels.
template <int kTaps>
void horizontal_with(const Image& in, const Axis& axis, const Pixels& out) {
  for (int y = 0; y < in.height; y += kRows) {
    const uint8_t* from[kRows];
    uint8_t* to[kRows];
    for (int b = 0; b < kRows; ++b) {  // too few rows left: make the last one again
      from[b] = in.row(std::min(y + b, in.height - 1));
      to[b] = out.row(std::min(y + b, in.height - 1));
    }
    const int last = axis.count - 1;
    // The last group repeats the last pixel in the rows' padding
    for (int x = 0; x < axis.count; x += kGroup) {
      V32 sums[kGroup][kSets];
      for (int i = 0; i < kGroup; ++i)
        weigh_pixels<kTaps>(from, axis, std::min(x + i, last), sums[i]);
      for (int s = 0; s < kSets; ++s)
        store_rows(clip(sums[0][s], sums[1][s], sums[2][s], sums[3][s]), to + s * kBlocks, x);
    }
  }
}

void Horizontal(const Image& in, const Axis& axis, const Pixels& out) {
#if FL_BYTE_VECTORS
  if (bytes::fits(axis)) return bytes::horizontal(in, axis, out);
#endif
  switch (axis.taps) {
    case 2:
      return horizontal_with<2>(in, axis, out);
    case 4:
      return horizontal_with<4>(in, axis, out);
    case 6:
      return horizontal_with<6>(in, axis, out);
    default:
      return horizontal_with<kAnyTaps>(in, axis, out);
  }
}

#endif  // FL_NO_VECTORS
}  // namespace fl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fl::cpu::tuned {

HWY_EXPORT(VerticalRow);
HWY_EXPORT(Horizontal);

void horizontal(const Image& in, const Axis& axis, const Pixels& out) {
  HWY_DYNAMIC_DISPATCH(Horizontal)(in, axis, out);
}

void vertical_row(const uint8_t* in, ptrdiff_t stride, const Axis& axis, int row, uint8_t* out,
                  int bytes) {
  HWY_DYNAMIC_DISPATCH(VerticalRow)(in, stride, axis, row, out, bytes);
}

}  // namespace fl::cpu::tuned
#endif
