// Decoding as ITU-T T.81, annex F, tells it: symbol by symbol.
//
// The specification of the tuned decoder and of the GPU's: the same blocks, and the same verdict
// for damaged bytes too. Stricter than libjpeg, which warns and goes on.
#include <algorithm>

#include "jpeg/bits.h"
#include "jpeg/entropy.h"

namespace fl::jpeg {
namespace {

// One by one: they were just written that way, and a wider load would wait for them.
bool same(const Predictors& a, const Predictors& b) {
  int differences = 0;
  for (int c = 0; c < kMaxComponents; ++c) differences |= a[c] ^ b[c];
  return differences == 0;
}

}  // namespace

// T.81 A.3.5: DC values are differences from the block before of the same component.
// Component by component, whose sums are then in registers.
bool add_predictors(const Frame& frame, int count, int16_t* blocks, Predictors& dc) {
  const ptrdiff_t mcu = ptrdiff_t{frame.mcu_blocks} * kBlockStep;
  int least = 0, most = 0;
  for (int c = 0; c < frame.components; ++c) {
    const ptrdiff_t own = ptrdiff_t{frame.component[c].blocks()} * kBlockStep;
    int sum = dc[c];
    for (int16_t *first = blocks, *end = blocks + count * mcu; first != end; first += mcu) {
      for (int16_t* block = first; block != first + own; block += kBlockStep) {
        sum += block[0];
        block[0] = static_cast<int16_t>(sum);
        least = std::min(least, sum);
        most = std::max(most, sum);
      }
    }
    dc[c] = static_cast<int16_t>(sum);
    blocks += own;
  }
  return least >= -kMostDc && most <= kMostDc;
}

Verdict finish(Segment& segment, uint64_t bit, const Predictors& dc) {
  if (!segment.open)
    return bit == segment.end && same(dc, segment.dc_end) ? Verdict::kGood : Verdict::kOtherEnd;
  segment.end = bit;
  segment.dc_end = dc;
  return Verdict::kGood;
}

namespace scalar {
namespace {

uint64_t bits_at(const uint8_t* coded, uint64_t bit) {
  return load_big_endian(coded + (bit >> 3)) << (bit & 7);
}

// False: no such code, or more coefficients than a block has.
bool decode_block(const Lookup& dc, const Lookup& ac, const uint8_t* coded, uint64_t& bit,
                  int16_t* block) {
  const Symbol first = decode_dc(dc.slow, bits_at(coded, bit));
  if (first.length == 0) return false;
  block[0] = static_cast<int16_t>(first.value);
  bit += first.length;
  int done = 1;
  while (done < kBlockValues) {
    const Symbol symbol = decode_ac(ac.slow, bits_at(coded, bit));
    if (symbol.length == 0) return false;
    done += symbol.advance;  // a run of zeros that is too long ends the block, as in libjpeg
    bit += symbol.length;
    if (symbol.value == 0) continue;
    if (done > kBlockValues) return false;
    block[done - 1] = static_cast<int16_t>(symbol.value);
  }
  return true;
}

bool decode_mcu(const Frame& frame, const Tables& tables, const uint8_t* coded, uint64_t& bit,
                int16_t* blocks) {
  for (int c = 0; c < frame.components; ++c)
    for (int b = 0; b < frame.component[c].blocks(); ++b, blocks += kBlockStep)
      if (!decode_block(tables.dc(c), tables.ac(c), coded, bit, blocks)) return false;
  return true;
}

// The position is checked after every MCU: one MCU may read past the end, but no further than
// kOverrun bytes.
Verdict decode_segment(const Frame& frame, const Tables& tables, const uint8_t* coded,
                       Segment& segment, int16_t* blocks, BlockSink& sink) {
  uint64_t bit = segment.begin;
  Predictors dc = segment.dc;
  for (int n = 0; n < segment.count; ++n) {
    if (bit > segment.end || !decode_mcu(frame, tables, coded, bit, blocks))
      return Verdict::kDamaged;
    if (!add_predictors(frame, 1, blocks, dc)) return Verdict::kDamaged;
    if (!sink.take(segment.row, segment.column + n, 1, blocks)) return Verdict::kStopped;
  }
  return bit > segment.end ? Verdict::kDamaged : finish(segment, bit, dc);
}

}  // namespace

Verdict decode_segments(const Frame& frame, const Tables& tables, const uint8_t* coded,
                        std::span<Segment> segments, Lanes& lanes, BlockSink& sink) {
  for (Segment& segment : segments) {
    const Verdict verdict = decode_segment(frame, tables, coded, segment, lanes.lane(0), sink);
    if (verdict == Verdict::kGood) continue;
    lanes.clear();
    return verdict;
  }
  return Verdict::kGood;
}

}  // namespace scalar
}  // namespace fl::jpeg
