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

#include "simd/vector_ops.h"

// Bits of a number to the places of a mask, in one instruction.
#undef FL_DEPOSIT
#define FL_DEPOSIT (HWY_ARCH_X86_64 && HWY_TARGET <= HWY_AVX2)

HWY_BEFORE_NAMESPACE();
namespace fl::jpeg::tuned::HWY_NAMESPACE {
#if !FL_NO_VECTORS
using namespace fl::HWY_NAMESPACE;
#endif

constexpr int kAtOnce = 32;  // bits; a `fill` gives more
constexpr uint64_t kLowHalf = 0xFFFFFFFF;

HWY_INLINE void Skip(Window& window, int count) {
  window.fill();
  if (HWY_UNLIKELY(count > kAtOnce)) {
    window.take(kAtOnce);
    window.fill();
    count -= kAtOnce;
  }
  window.take(static_cast<uint64_t>(count));
}

// The stream's next bit lowest.
HWY_INLINE uint64_t Reversed(uint64_t bits) {
  bits = __builtin_bswap64(bits);
  bits = (bits >> 4 & 0x0F0F0F0F0F0F0F0F) | (bits & 0x0F0F0F0F0F0F0F0F) << 4;
  bits = (bits >> 2 & 0x3333333333333333) | (bits & 0x3333333333333333) << 2;
  return (bits >> 1 & 0x5555555555555555) | (bits & 0x5555555555555555) << 1;
}

// The next bits, one for each of these positions, at most kAtOnce.
template <bool kDeposit>
HWY_INLINE uint64_t Spread(uint64_t bits, uint64_t positions) {
#if FL_DEPOSIT
  if (kDeposit) return _pdep_u64(Reversed(bits), positions);
#endif
  uint64_t out = 0;
  for (; positions != 0; positions &= positions - 1, bits <<= 1)
    out |= positions & (~positions + 1) & (uint64_t{0} - (bits >> 63));
  return out;
}

// Corrections: which of these positions grow. In blocks that nobody wants only their number counts.
template <bool kWanted, bool kDeposit>
HWY_INLINE uint64_t Growing(Window& window, uint64_t positions) {
  const int count = std::popcount(positions);
  uint64_t out = 0;
  if (!kWanted) {
    Skip(window, count);
  } else if (HWY_LIKELY(count <= kAtOnce)) {
    window.fill();
    out = Spread<kDeposit>(window.bits, positions);
    window.take(static_cast<uint64_t>(count));
  } else {
    for (uint64_t left = positions; left != 0;) {  // half of the positions at a time
      const uint64_t low = left & kLowHalf, part = low != 0 ? low : left;
      window.fill();
      out |= Spread<false>(window.bits, part);
      window.take(static_cast<uint64_t>(std::popcount(part)));
      left &= ~part;
    }
  }
  return out;
}

// The lowest of `zeros` behind n others; 0: there are not as many.
template <bool kDeposit>
HWY_INLINE uint64_t Behind(uint64_t zeros, int n) {
#if FL_DEPOSIT
  if (kDeposit) return _pdep_u64(uint64_t{1} << n, zeros);
#endif
  for (; n > 0; --n) zeros &= zeros - 1;
  return zeros & (~zeros + 1);
}

// Coefficients that grow, new ones among them, of which `negative` are.
HWY_INLINE void Grow(uint64_t growing, uint64_t negative, int step, int16_t* block) {
#if FL_NO_VECTORS
  for (; growing != 0; growing &= growing - 1) {
    const int at = std::countr_zero(growing);
    const bool minus = block[at] < 0 || (negative >> at & 1) != 0;
    block[at] = static_cast<int16_t>(block[at] + (minus ? -step : step));
  }
#else
  const V16 by = hn::Set(kD16, static_cast<int16_t>(step));
  for (size_t n = 0; n < kBlockValues; n += hn::MaxLanes(kD16)) {
    const uint64_t these = growing >> n, minus = negative >> n;
    const auto grows = hn::LoadMaskBits(kD16, reinterpret_cast<const uint8_t*>(&these));
    const auto fresh = hn::LoadMaskBits(kD16, reinterpret_cast<const uint8_t*>(&minus));
    const V16 value = hn::LoadU(kD16, block + n);
    const V16 sign = hn::Or(hn::ShiftRight<15>(value), hn::VecFromMask(kD16, fresh));
    const V16 more = hn::Sub(hn::Xor(by, sign), sign);
    hn::StoreU(hn::Add(value, hn::IfThenElseZero(grows, more)), kD16, block + n);
  }
#endif
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
    if (!feed.more(window)) return false;
    int16_t* const block = run.blocks + (kWanted ? n * kBlockValues : 0);
    uint64_t known = 0;
    for (int at = begin; at < end;) {
      window.fill();
      const ScanEntry entry = table.entry(window.bits);
      const int value = ScanTable::value(entry, window.bits);
      window.take(entry.length);
      at += entry.advance;
      if (HWY_LIKELY(entry.kind == Kind::kValue)) {
        if (HWY_UNLIKELY(at > end)) return false;
        known |= uint64_t{1} << (at - 1);
        if (kWanted) block[at - 1] = static_cast<int16_t>(value * (1 << low));
        continue;
      }
      if (entry.kind == Kind::kEnd) {
        ended = static_cast<uint32_t>(value) - 1;
        break;
      }
      if (entry.kind == Kind::kNone || at > end) return false;
    }
    run.known[n] |= known;
  }
  ended_before = ended;
  const bool good = feed.more(window);
  feed.window = window;
  return good;
}

// What a scan does to a block.
struct Change {
  uint64_t growing = 0, fresh = 0, negative = 0;
  int at = 0;  // corrections up to there are done
};

// Of a block whose band has not ended yet.
template <bool kWanted, bool kDeposit>
HWY_INLINE bool Refine(const Band& band, uint64_t before, uint32_t& ended, Window& window,
                       Change& out) {
  const ScanTable& table = *band.table;
  const uint64_t all = band.bits(0);
  int at = band.first;
  while (at <= band.last) {
    window.fill();
    const ScanEntry entry = table.entry(window.bits);
    const int value = ScanTable::value(entry, window.bits);
    window.take(entry.length);
    if (entry.kind == Kind::kEnd) {
      ended = static_cast<uint32_t>(value);
      break;
    }
    if (HWY_UNLIKELY(entry.kind == Kind::kNone)) return false;
    const uint64_t here = all & ~uint64_t{0} << at,
                   target = Behind<kDeposit>(here & ~before, entry.advance - 1);
    if (HWY_UNLIKELY(target == 0)) return false;
    const uint64_t passed = here & before & (target - 1);
    if (passed != 0) out.growing |= Growing<kWanted, kDeposit>(window, passed);
    if (entry.kind == Kind::kValue) {
      out.fresh |= target;
      out.negative |= value < 0 ? target : 0;
    }
    at = std::countr_zero(target) + 1;
  }
  out.at = at;
  return true;
}

template <bool kWanted, bool kDeposit>
HWY_NOINLINE bool Refining(const Band& band, const Run& run, uint32_t& ended_before, Feed& feed) {
  const int step = 1 << band.low;
  const uint64_t all = band.bits(band.first);
  uint32_t ended = ended_before;
  Window window = feed.window;
  for (int n = 0; n < run.count; ++n) {
    if (!feed.more(window)) return false;
    const uint64_t before = run.known[n];
    Change change;
    uint64_t rest = all & before;
    if (ended == 0) {
      if (!Refine<kWanted, kDeposit>(band, before, ended, window, change)) return false;
      rest &= change.at > band.last ? 0 : ~uint64_t{0} << change.at;
      run.known[n] = before | change.fresh;
    }
    if (ended != 0) {
      if (rest != 0) change.growing |= Growing<kWanted, kDeposit>(window, rest);
      --ended;
    }
    const uint64_t growing = change.growing | change.fresh;
    if (kWanted && growing != 0)
      Grow(growing, change.negative, step, run.blocks + n * kBlockValues);
  }
  ended_before = ended;
  const bool good = feed.more(window);
  feed.window = window;
  return good;
}

bool DecodeFirst(const Band& band, const Run& run, uint32_t& ended, Feed& feed) {
  return run.blocks != nullptr ? First<true>(band, run, ended, feed)
                               : First<false>(band, run, ended, feed);
}

template <bool kDeposit>
bool DecodeRefining(const Band& band, const Run& run, uint32_t& ended, Feed& feed) {
  return run.blocks != nullptr ? Refining<true, kDeposit>(band, run, ended, feed)
                               : Refining<false, kDeposit>(band, run, ended, feed);
}

bool DecodeRefiningAny(const Band& band, const Run& run, uint32_t& ended, Feed& feed) {
#if FL_DEPOSIT
  // AMD's Zen 1 and 2 take a cycle or more for each bit.
  static const bool slow = __builtin_cpu_is("znver1") || __builtin_cpu_is("znver2");
  if (!slow) return DecodeRefining<true>(band, run, ended, feed);
#endif
  return DecodeRefining<false>(band, run, ended, feed);
}

}  // namespace fl::jpeg::tuned::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fl::jpeg::tuned {

HWY_EXPORT(DecodeFirst);
HWY_EXPORT(DecodeRefiningAny);

bool decode_first(const Band& band, const Run& run, uint32_t& ended, Feed& feed) {
  return HWY_DYNAMIC_DISPATCH(DecodeFirst)(band, run, ended, feed);
}

bool decode_refining(const Band& band, const Run& run, uint32_t& ended, Feed& feed) {
  return HWY_DYNAMIC_DISPATCH(DecodeRefiningAny)(band, run, ended, feed);
}

}  // namespace fl::jpeg::tuned
#endif
