// Blocks that nobody wants: where they end and their DC. A coefficient costs its bits and no more,
// so that two symbols can be taken in one lookup; each lookup waits for the one before.
#include "jpeg/bits.h"
#include "jpeg/entropy.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "jpeg/entropy_skim.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace fl::jpeg::tuned::HWY_NAMESPACE {

// How far one goes on. By value throughout, so that compilers keep it in registers.
struct State {
  Window window;
  uint64_t offset;   // in its block; in the middle of a long code it is negative, so large
  bool good = true;  // else the stream is damaged
};

// What is not in the table: a code that is longer still, none at all, or two symbols of which the
// first ends the block.
HWY_NOINLINE State SlowStep(const Lookup& ac, State state) {
  state.window.fill();
  const Symbol symbol = ac.symbol(state.window.bits);
  if (ac.prefix != 0) state.offset += kAside;
  state.offset += kValueBytes * symbol.advance;
  state.window.take(symbol.length);
  state.window.fill();
  state.good = symbol.length != 0 && (symbol.value == 0 || state.offset <= kOver);
  if (!state.good) state.offset = kOver;
  return state;
}

HWY_INLINE State Step(const Lookup& ac, State state) {
  const Entry& entry = ac.entries[state.window.bits >> (64 - kLookupBits)];
  if (HWY_UNLIKELY(static_cast<uint8_t>(state.offset) > entry.most)) return SlowStep(ac, state);
  state.offset += static_cast<uint64_t>(entry.advance);
  state.window.take(entry.length);
  return state;
}

static_assert(3 * kMaxEntryBits <= 56);  // three steps from one fill

// The block's DC less the one before, in `value`, and an AC symbol if the table has both.
HWY_INLINE State BeginBlock(const Lookup& dc, Window window, int& value) {
  window.fill();
  const Entry& entry = dc.entries[window.bits >> (64 - kLookupBits)];
  if (HWY_UNLIKELY(entry.most == 0)) {
    const Symbol symbol = dc.symbol(window.bits);
    value = symbol.value;
    window.take(symbol.length);
    window.fill();
    return {window, kValueBytes, symbol.length != 0};
  }
  const auto last = static_cast<int16_t>((window.bits >> (-entry.length & 63)) + entry.bias);
  value = entry.first == entry.advance ? last : entry.value;
  window.take(entry.length);
  return {window, static_cast<uint64_t>(entry.advance) - kValueBytes};
}

// From state.offset on. Three steps take at most 54 bits, so one refill of 56 serves them. Codes
// longer than a lookup send the offset far below zero; the table for their second half brings it
// back.
HWY_INLINE State PassCoefficients(const Lookup& ac, const Lookup& long_ac, State state) {
  while (state.good) {
    while (state.offset < kOver) {
      state.window.fill();
      state = Step(ac, state);
      if (state.offset >= kOver) break;
      state = Step(ac, state);
      if (state.offset >= kOver) break;
      state = Step(ac, state);
    }
    if (HWY_LIKELY(static_cast<int64_t>(state.offset) >= 0)) break;
    state.window.fill();
    state = Step(long_ac, state);
  }
  return state;
}

struct Part {
  const Lookup *dc, *ac, *long_ac;
  int blocks;
};

HWY_INLINE bool PassMcu(const Part* parts, int components, Window& window, Predictors& dc) {
  for (int c = 0; c < components; ++c) {
    const Part& part = parts[c];
    for (int b = 0; b < part.blocks; ++b) {
      int value = 0;
      State state = BeginBlock(*part.dc, window, value);
      const int sum = dc[c] + value;
      if (!state.good || sum > kMostDc || sum < -kMostDc) return false;
      dc[c] = static_cast<int16_t>(sum);
      state = PassCoefficients(*part.ac, *part.long_ac, state);
      if (!state.good) return false;
      window = state.window;
    }
  }
  return true;
}

// Must say what decode_segments would say of the same bytes: same end, same DC, damaged or not.
Verdict Skim(const Frame& frame, const Tables& tables, const uint8_t* coded, Segment& segment) {
  Part parts[kMaxComponents];
  for (int c = 0; c < frame.components; ++c)
    parts[c] = {&tables.dc(c), &tables.ac(c), &tables.long_ac(c), frame.component[c].blocks()};
  Window window(coded, segment.begin);
  Predictors dc = segment.dc;
  for (int n = 0; n < segment.count; ++n)
    if (window.bit(coded) > segment.end || !PassMcu(parts, frame.components, window, dc))
      return Verdict::kDamaged;
  const uint64_t bit = window.bit(coded);
  return bit > segment.end ? Verdict::kDamaged : finish(segment, bit, dc);
}

}  // namespace fl::jpeg::tuned::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fl::jpeg::tuned {

HWY_EXPORT(Skim);

Verdict skim(const Frame& frame, const Tables& tables, const uint8_t* coded, Segment& segment) {
  return HWY_DYNAMIC_DISPATCH(Skim)(frame, tables, coded, segment);
}

}  // namespace fl::jpeg::tuned
#endif
