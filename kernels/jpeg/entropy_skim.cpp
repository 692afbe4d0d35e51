// Blocks that nobody wants: where they end and their DC. A coefficient costs its bits and no more, so that two symbols
// can be taken in one lookup; each lookup waits for the one before.
#include "jpeg/bits.h"
#include "jpeg/entropy.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "jpeg/entropy_skim.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace fl::jpeg::tuned::HWY_NAMESPACE {

static_assert(3 * kMaxStride <= 56);  // three strides from one fill

// What is not in the table: a long code, none at all, or two symbols of which the first ends the block.
// False: the stream is damaged.
HWY_NOINLINE bool SlowStride(const Canonical& codes, Window& window, int& done) {
  window.fill();
  const Symbol symbol = decode_ac(codes, window.bits);
  done += symbol.advance;
  window.take(symbol.length);
  window.fill();
  return symbol.length != 0 && (symbol.value == 0 || done <= kBlockValues);
}

HWY_INLINE bool TakeStride(const Strides& strides, const Lookup& ac, Window& window, int& done) {
  const Stride stride = strides[window.bits >> (64 - kStrideBits)];
  if (HWY_UNLIKELY(done > stride.most)) return SlowStride(ac.slow, window, done);
  done += stride.advance;
  window.take(stride.length);
  return true;
}

// The block's DC less the one before; length 0: damaged.
HWY_INLINE Symbol TakeDc(const Lookup& dc, Window& window) {
  window.fill();
  const Entry& entry = dc.entries[window.bits >> (64 - kLookupBits)];
  Symbol out{entry.length, 1, 0};
  if (HWY_UNLIKELY(entry.advance == kSlow))
    out = decode_dc(dc.slow, window.bits);
  else
    out.value = static_cast<int16_t>((window.bits >> (-entry.length & 63)) + entry.bias);
  window.take(out.length);
  return out;
}

HWY_INLINE bool PassCoefficients(const Strides& strides, const Lookup& ac, Window& window) {
  for (int done = 1; done < kBlockValues;) {
    window.fill();
    if (!TakeStride(strides, ac, window, done)) return false;
    if (done >= kBlockValues) break;
    if (!TakeStride(strides, ac, window, done)) return false;
    if (done >= kBlockValues) break;
    if (!TakeStride(strides, ac, window, done)) return false;
  }
  return true;
}

struct Part {
  const Lookup *dc, *ac;
  const Strides* strides;
  int blocks;
};

HWY_INLINE bool PassMcu(const Part* parts, int components, Window& window, Predictors& dc) {
  for (int c = 0; c < components; ++c) {
    const Part& part = parts[c];
    for (int b = 0; b < part.blocks; ++b) {
      const Symbol first = TakeDc(*part.dc, window);
      const int sum = dc[c] + first.value;
      if (first.length == 0 || sum > kMostDc || sum < -kMostDc) return false;
      dc[c] = static_cast<int16_t>(sum);
      if (!PassCoefficients(*part.strides, *part.ac, window)) return false;
    }
  }
  return true;
}

Verdict Skim(const Frame& frame, Tables& tables, const uint8_t* coded, Segment& segment) {
  Part parts[kMaxComponents];
  for (int c = 0; c < frame.components; ++c)
    parts[c] = {&tables.dc(c), &tables.ac(c), &tables.strides(c), frame.component[c].blocks()};
  Window window(coded, segment.begin);
  Predictors dc = segment.dc;
  for (int n = 0; n < segment.count; ++n)
    if (window.bit(coded) > segment.end || !PassMcu(parts, frame.components, window, dc)) return Verdict::kDamaged;
  const uint64_t bit = window.bit(coded);
  return bit > segment.end ? Verdict::kDamaged : finish(segment, bit, dc);
}

}  // namespace fl::jpeg::tuned::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fl::jpeg::tuned {

HWY_EXPORT(Skim);

Verdict skim(const Frame& frame, Tables& tables, const uint8_t* coded, Segment& segment) {
  return HWY_DYNAMIC_DISPATCH(Skim)(frame, tables, coded, segment);
}

}  // namespace fl::jpeg::tuned
#endif
