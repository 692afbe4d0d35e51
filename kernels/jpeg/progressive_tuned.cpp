// The same with lookups of code and value, and with masks of 64 bits in place of loops over
// coefficients: which positions take a correction, and where the n-th zero stands, are a few
// instructions. Built for each set of instructions, since shifts and counts of bits are cheaper on
// newer ones.
//
// Blocks that nobody wants are decoded to their masks only; their corrections are counted and
// passed over. What the loops change stays in local variables whose address nobody takes.
#include <algorithm>
#include <bit>

#include "jpeg/progressive_blocks.h"
#include "simd/vectors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "jpeg/progressive_tuned.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace fl::jpeg::tuned::HWY_NAMESPACE {

constexpr int kAtOnce = 32;  // bits that are surely there after a `fill`

// Both ways of leaving a loop over blocks give the window back.
HWY_INLINE bool More(Feed& feed, Window& window) {
  return HWY_LIKELY(!feed.low(window)) || feed.refill(window);
}

HWY_INLINE void Skip(Window& window, int count) {
  window.fill();
  if (HWY_UNLIKELY(count > kAtOnce)) {
    window.take(kAtOnce);
    window.fill();
    count -= kAtOnce;
  }
  window.take(static_cast<uint64_t>(count));
}

// -step or step by the sign; 0 where `grows` is 0.
HWY_INLINE int16_t Grown(int16_t value, int step, int grows) {
  const int sign = value >> 15;
  return static_cast<int16_t>(value + (((step ^ sign) - sign) & -grows));
}

// One bit for each of these coefficients.
HWY_INLINE void Correct(Window& window, uint64_t positions, int step, int16_t* block) {
  while (positions != 0) {
    window.fill();
    for (int n = 0; n < kAtOnce && positions != 0; ++n, positions &= positions - 1) {
      int16_t& value = block[std::countr_zero(positions)];
      value = Grown(value, step, static_cast<int>(window.bits >> 63));
      window.take(1);
    }
  }
}

template <bool kWanted>
HWY_INLINE void Pass(Window& window, uint64_t positions, int step, int16_t* block) {
  if (positions == 0) return;
  if (kWanted)
    Correct(window, positions, step, block);
  else
    Skip(window, std::popcount(positions));
}

template <bool kWanted>
HWY_NOINLINE bool First(const Band& band, const Run& run, uint32_t& ended_before, Feed& feed) {
  const ScanTable& table = *band.table;
  const int begin = band.first, end = band.last + 1, low = band.low;
  uint32_t ended = ended_before;
  Window window = feed.window;
  for (int n = 0; n < run.count; ++n) {
    if (ended > 0) {
      const int passed = static_cast<int>(std::min<uint32_t>(ended, run.count - n));
      ended -= passed;
      n += passed - 1;
      continue;
    }
    if (!More(feed, window)) return false;
    int16_t* const block = run.blocks + (kWanted ? n * kBlockValues : 0);
    uint64_t known = 0;
    for (int at = begin; at < end;) {
      window.fill();
      ScanSymbol symbol = table.symbol(window.bits);
      window.take(static_cast<uint64_t>(symbol.length));
      at += symbol.advance;
      if (HWY_LIKELY(symbol.kind == Kind::kValue)) {
        if (HWY_UNLIKELY(at > end)) return false;
        known |= uint64_t{1} << (at - 1);
        if (kWanted) block[at - 1] = static_cast<int16_t>(symbol.value << low);
        continue;
      }
      if (symbol.kind == Kind::kEnd) {
        ended = static_cast<uint32_t>(symbol.value) - 1;
        break;
      }
      if (symbol.kind == Kind::kNone || at > end) return false;
    }
    run.known[n] |= known;
  }
  ended_before = ended;
  const bool good = More(feed, window);
  feed.window = window;
  return good;
}

// The lowest bits of `zeros` but for n of them; 0: it has not more.
HWY_INLINE uint64_t Without(uint64_t zeros, int n) {
  for (; n > 0; --n) zeros &= zeros - 1;
  return zeros;
}

// Of a block whose band has not ended yet. at: where its end must be corrected from.
template <bool kWanted>
HWY_INLINE bool Refine(const Band& band, int16_t* block, uint64_t& known, uint32_t& ended,
                       Window& window, int& at) {
  const uint64_t before = known, all = band.bits(0);
  const int step = 1 << band.low;
  while (at <= band.last) {
    window.fill();
    const ScanSymbol symbol = band.table->symbol(window.bits);
    window.take(static_cast<uint64_t>(symbol.length));
    if (symbol.kind == Kind::kEnd) {
      ended = static_cast<uint32_t>(symbol.value);
      return true;
    }
    if (HWY_UNLIKELY(symbol.kind == Kind::kNone)) return false;
    const uint64_t here = all & ~uint64_t{0} << at,
                   zeros = Without(here & ~before, symbol.advance - 1);
    if (HWY_UNLIKELY(zeros == 0)) return false;
    const int target = std::countr_zero(zeros);
    Pass<kWanted>(window, here & before & ((uint64_t{1} << target) - 1), step, block);
    if (symbol.kind == Kind::kValue) {
      known |= uint64_t{1} << target;
      if (kWanted) block[target] = static_cast<int16_t>(symbol.value * step);
    }
    at = target + 1;
  }
  return true;
}

template <bool kWanted>
HWY_NOINLINE bool Refining(const Band& band, const Run& run, uint32_t& ended_before, Feed& feed) {
  const int step = 1 << band.low;
  const uint64_t all = band.bits(band.first);
  uint32_t ended = ended_before;
  Window window = feed.window;
  for (int n = 0; n < run.count; ++n) {
    if (!More(feed, window)) return false;
    int16_t* const block = run.blocks + (kWanted ? n * kBlockValues : 0);
    const uint64_t before = run.known[n];
    int at = band.first;
    if (ended == 0 && !Refine<kWanted>(band, block, run.known[n], ended, window, at)) return false;
    if (ended == 0) continue;
    Pass<kWanted>(window, at > band.last ? 0 : all & before & ~uint64_t{0} << at, step, block);
    --ended;
  }
  ended_before = ended;
  const bool good = More(feed, window);
  feed.window = window;
  return good;
}

bool DecodeFirst(const Band& band, const Run& run, uint32_t& ended, Feed& feed) {
  return run.blocks != nullptr ? First<true>(band, run, ended, feed)
                               : First<false>(band, run, ended, feed);
}

bool DecodeRefining(const Band& band, const Run& run, uint32_t& ended, Feed& feed) {
  return run.blocks != nullptr ? Refining<true>(band, run, ended, feed)
                               : Refining<false>(band, run, ended, feed);
}

}  // namespace fl::jpeg::tuned::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fl::jpeg::tuned {

HWY_EXPORT(DecodeFirst);
HWY_EXPORT(DecodeRefining);

bool decode_first(const Band& band, const Run& run, uint32_t& ended, Feed& feed) {
  return HWY_DYNAMIC_DISPATCH(DecodeFirst)(band, run, ended, feed);
}

bool decode_refining(const Band& band, const Run& run, uint32_t& ended, Feed& feed) {
  return HWY_DYNAMIC_DISPATCH(DecodeRefining)(band, run, ended, feed);
}

}  // namespace fl::jpeg::tuned
#endif
