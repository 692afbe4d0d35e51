// Runs in sweeps: where each block's mask and values are, for 16 blocks at once; its numbers;
// their places. With 64-byte vectors numbers stay in a register between the last two. With others
// all go to memory first, so that none is loaded before its store has left the core's buffers. No
// branch depends on the data but for blocks of many values (docs/internals/layer.md).
#include <algorithm>
#include <bit>

#include "jpeg/bits.h"
#include "jpeg/layer/run.h"
#include "jpeg/layer/run_tables.h"
#include "simd/vectors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "jpeg/layer/run_tuned.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "simd/vector_ops.h"

// VBMI2: every machine that runs this target has it (targets.cpp).
#if HWY_TARGET == HWY_AVX3
#undef HWY_TARGET_STR
#define HWY_TARGET_STR HWY_TARGET_STR_AVX3 ",avx512vnni,avx512vbmi,avx512vbmi2"
#endif

HWY_BEFORE_NAMESPACE();
namespace fl::jpeg::layer::tuned::HWY_NAMESPACE {
#if FL_NO_VECTORS

bool DecodeRuns(Runs runs, int16_t* out, uint8_t* ends) {
  return scalar::decode_runs(runs, out, ends);
}

#else
using namespace fl::HWY_NAMESPACE;

constexpr hn::FixedTag<uint8_t, 16> kBytes16;
constexpr hn::FixedTag<uint8_t, 8> kBytes8;
constexpr hn::FixedTag<uint16_t, 8> kWords8;
constexpr hn::FixedTag<int16_t, 8> kSigned8;
using Bytes16 = hn::Vec<decltype(kBytes16)>;
using Words8 = hn::Vec<decltype(kWords8)>;

// Of a run's blocks. Those behind the last that is wanted have nothing.
struct Laid {
  uint64_t masks[kRun];           // without the DC
  alignas(16) uint16_t at[kRun];  // bytes of the run, where a block's values begin
  alignas(16) uint8_t widths[kRun];
  alignas(16) int16_t dc[kRun];
};

// ---- packed numbers

// `fields` have each number's sign on top, its rest below.
template <class D, class V>
HWY_INLINE V Values(D d, V fields, V down) {
  const hn::RebindToSigned<D> s;
  const V rest = hn::MulHigh(hn::Add(fields, fields), down);
  const auto sign = hn::BroadcastSignBit(hn::BitCast(s, fields));
  const auto value = hn::Xor(hn::BitCast(s, rest), sign);
  return hn::BitCast(d, hn::Add(value, hn::Add(sign, hn::Set(s, 1))));
}

HWY_INLINE Words8 Fields(const uint8_t* from, const Unpacking& how) {
  const auto bytes = hn::TableLookupBytes(hn::LoadU(kBytes16, from), hn::Load(kBytes16, how.bytes));
  return hn::Mul(hn::BitCast(kWords8, bytes), hn::Load(kWords8, how.up));
}

HWY_INLINE Words8 Steps(const uint8_t* from, const Unpacking& how) {
  const Words8 fields = Fields(from, how);
  const Words8 rest = hn::MulHigh(hn::Add(fields, fields), hn::Load(kWords8, how.down));
  const auto sign = hn::BroadcastSignBit(hn::BitCast(kSigned8, fields));
  return hn::Xor(rest, hn::BitCast(kWords8, sign));
}

// ---- where everything is

// Each lane with all before it.
HWY_INLINE Words8 Summed(Words8 v) {
  v = hn::Add(v, hn::ShiftLeftLanes<1>(kWords8, v));
  v = hn::Add(v, hn::ShiftLeftLanes<2>(kWords8, v));
  return hn::Add(v, hn::ShiftLeftLanes<4>(kWords8, v));
}

HWY_INLINE Bytes16 First(int count, Bytes16 v) {
  return hn::IfThenElseZero(hn::FirstN(kBytes16, static_cast<size_t>(count)), v);
}

HWY_INLINE Bytes16 LowHalves(Bytes16 v) { return hn::And(v, hn::Set(kBytes16, uint8_t{15})); }
HWY_INLINE Bytes16 HighHalves(Bytes16 v) {
  return LowHalves(hn::BitCast(kBytes16, hn::ShiftRight<4>(hn::BitCast(kWords8, v))));
}

HWY_INLINE void LayDc(Bytes run, int16_t* dc) {
  const uint8_t* const from = run.data() + kDcHead;
  const Words8 low = Steps(from, kUnpacking[run[2]]),
               high = Steps(from + run[2], kUnpacking[run[2]]);
  const Words8 begin = hn::Set(kWords8, static_cast<uint16_t>(run[0] | run[1] << 8));
  const Words8 first = hn::Add(Summed(hn::ShiftLeftLanes<1>(kWords8, low)), begin);
  const Words8 second =
      hn::Add(Summed(hn::CombineShiftRightLanes<7>(kWords8, high, low)), hn::Broadcast<7>(first));
  hn::Store(hn::BitCast(kSigned8, first), kSigned8, dc);
  hn::Store(hn::BitCast(kSigned8, second), kSigned8, dc + kGroup);
}

// Of eight blocks. counts: of their values, a byte each.
HWY_INLINE Words8 ValueBytes(uint64_t counts, const uint8_t* widths) {
  const hn::FixedTag<uint64_t, 1> whole;
  const Words8 count = hn::PromoteTo(kWords8, hn::BitCast(kBytes8, hn::Set(whole, counts))),
               both = hn::PromoteTo(kWords8, hn::LoadU(kBytes8, widths)),
               first = hn::Min(count, hn::Set(kWords8, kFirst)), up = hn::Set(kWords8, 7);
  const Words8 bits = hn::Mul(first, hn::And(both, hn::Set(kWords8, 15))),
               more = hn::Mul(hn::Sub(count, first), hn::ShiftRight<4>(both));
  return hn::Add(hn::ShiftRight<3>(hn::Add(bits, up)), hn::ShiftRight<3>(hn::Add(more, up)));
}

// Of eight blocks; how many values each has, a byte each.
HWY_INLINE uint64_t LayMasks(const uint8_t*& from, const uint8_t* sizes, uint64_t* out) {
  uint64_t counts = 0;
  for (int n = 0; n < kGroup; ++n) {
    out[n] = (load_little_endian(from) & kKept[sizes[n]]) << 1;
    from += sizes[n];
    counts |= static_cast<uint64_t>(std::popcount(out[n])) << 8 * n;
  }
  return counts;
}

HWY_INLINE bool AllKnown(Bytes16 widths) {
  const auto known = hn::Load(kBytes16, kIsWidth.bytes);
  return hn::AllTrue(kBytes16, hn::Eq(hn::And(hn::TableLookupBytes(known, LowHalves(widths)),
                                              hn::TableLookupBytes(known, HighHalves(widths))),
                                      hn::Set(kBytes16, uint8_t{1})));
}

// find_parts(), where values begin by vectors.
HWY_INLINE bool FindParts(Bytes run, int blocks, Parts& out) {
  if (!find_masks(run, blocks, out)) return false;
  const Bytes16 two = First((blocks + 1) / 2, hn::LoadU(kBytes16, run.data() + out.sizes));
  const auto sums = hn::SumsOf8(hn::Add(LowHalves(two), HighHalves(two)));
  out.values = out.masks + hn::GetLane(sums);  // of eight bytes at most
  return out.values <= run.size();
}

// False: damaged.
HWY_INLINE bool Lay(Bytes run, Wanted wanted, Laid& out, uint8_t* ends) {
  const uint8_t* const from = run.data();
  Parts parts;
  if (!FindParts(run, wanted.blocks, parts)) return false;
  const Bytes16 pairs = hn::LoadU(kBytes16, from + parts.sizes),
                widths = First(wanted.last, hn::LoadU(kBytes16, from + parts.widths)),
                sizes = First(wanted.last,
                              hn::InterleaveLower(kBytes16, LowHalves(pairs), HighHalves(pairs)));
  const auto most = hn::Set(kBytes16, uint8_t{kMostMask});
  if (!AllKnown(widths) || !hn::AllTrue(kBytes16, hn::Eq(hn::Min(sizes, most), sizes)))
    return false;
  alignas(16) uint8_t mask_bytes[kRun], all_ends[2 * kRun] = {};
  hn::Store(sizes, kBytes16, mask_bytes);
  hn::Store(widths, kBytes16, out.widths);
  const auto twice = hn::Add(sizes, sizes), by_4 = hn::Add(twice, twice);
  hn::Store(hn::Add(hn::Add(by_4, by_4), hn::Set(kBytes16, uint8_t{1})), kBytes16, all_ends);
  hn::StoreU(hn::LoadU(kBytes16, all_ends + wanted.first), kBytes16, ends);
  LayDc(run, out.dc);
  const uint8_t* masks = from + parts.masks;
  const Words8 low = ValueBytes(LayMasks(masks, mask_bytes, out.masks), out.widths),
               high = ValueBytes(LayMasks(masks, mask_bytes + kGroup, out.masks + kGroup),
                                 out.widths + kGroup);
  const Words8 first = hn::Add(Summed(low), hn::Set(kWords8, static_cast<uint16_t>(parts.values))),
               second = hn::Add(Summed(high), hn::Broadcast<7>(first));
  hn::Store(hn::Sub(first, low), kWords8, out.at);
  hn::Store(hn::Sub(second, high), kWords8, out.at + kGroup);
  const size_t end = hn::ExtractLane(second, kGroup - 1);
  return wanted.last < wanted.blocks ? end <= run.size() : end == run.size();
}

// ---- values to their places

#if FL_BYTE_VECTORS

constexpr int kAtOnce = 32;

template <class How>
HWY_INLINE __m512i Unpack(const uint8_t* from, const How& how) {
  const hn::Full512<uint16_t> words;
  const __m512i bytes =
      _mm512_permutexvar_epi8(_mm512_load_si512(how.bytes), _mm512_loadu_si512(from));
  const auto fields = hn::Mul(hn::Vec512<uint16_t>{bytes}, hn::Load(words, how.up));
  return Values(words, fields, hn::Load(words, how.down)).raw;
}

HWY_INLINE void Put(const uint8_t* from, unsigned widths, uint64_t mask, int16_t* out) {
  const auto low = static_cast<uint32_t>(mask), high = static_cast<uint32_t>(mask >> 32);
  const int skipped = std::popcount(low);
  const __m512i values = Unpack(from, kBoth[widths]),
                behind = _mm512_loadu_si512(kCounting.from + skipped);
  __m512i rest = _mm512_permutexvar_epi16(behind, values);
  if (HWY_UNLIKELY(skipped + std::popcount(high) > kAtOnce)) {
    const unsigned width = widths >> 4;
    const uint8_t* const more = from + (widths & 15) + (kAtOnce - kFirst) / 8 * width;
    rest = _mm512_permutex2var_epi16(values, behind, Unpack(more, kBoth[width << 4 | width]));
  }
  _mm512_storeu_si512(out, _mm512_maskz_expand_epi16(low, values));
  _mm512_storeu_si512(out + 32, _mm512_maskz_expand_epi16(high, rest));
}

HWY_INLINE void PutAll(const uint8_t* run, Wanted wanted, const Laid& laid, int16_t* out) {
  for (int b = wanted.first; b < wanted.last; ++b, out += kBlockValues)
    Put(run + laid.at[b], laid.widths[b], laid.masks[b], out);
}

#else

// Of one block between the sweeps: 63 values, and what vectors store behind them.
constexpr int kStep = 96, kAtOnce = 16;

HWY_INLINE void Unpack8(const uint8_t* from, const Unpacking& how, int16_t* to) {
  const Words8 values = Values(kWords8, Fields(from, how), hn::Load(kWords8, how.down));
  hn::StoreU(hn::BitCast(kSigned8, values), kSigned8, to);
}

#if HWY_MAX_BYTES >= 32

HWY_INLINE void UnpackMore(const uint8_t* from, unsigned width, int16_t* to) {
  const hn::Full256<uint8_t> bytes;
  const hn::Full256<uint16_t> words;
  const Unpacking& how = kUnpacking[width];
  const auto pair =
      hn::Combine(bytes, hn::LoadU(kBytes16, from + width), hn::LoadU(kBytes16, from));
  const auto placed = hn::TableLookupBytes(pair, hn::LoadDup128(bytes, how.bytes));
  const auto fields = hn::Mul(hn::BitCast(words, placed), hn::LoadDup128(words, how.up));
  const auto values = Values(words, fields, hn::LoadDup128(words, how.down));
  hn::StoreU(values, words, reinterpret_cast<uint16_t*>(to));
}

#else

HWY_INLINE void UnpackMore(const uint8_t* from, unsigned width, int16_t* to) {
  Unpack8(from, kUnpacking[width], to);
  Unpack8(from + width, kUnpacking[width], to + kGroup);
}

#endif

HWY_INLINE void Unpack(const uint8_t* from, unsigned widths, int count, int16_t* to) {
  const unsigned first = widths & 15, other = widths >> 4;
  Unpack8(from, kUnpacking[first], to);
  from += first;
  UnpackMore(from, other, to + kFirst);
  for (int done = kFirst + kAtOnce; HWY_UNLIKELY(done < count); done += kAtOnce) {
    from += kAtOnce / kGroup * other;
    UnpackMore(from, other, to + done);
  }
}

HWY_INLINE void Spread(const int16_t* values, uint64_t mask, int16_t* out) {
  for (int group = 0; group < 8; ++group, mask >>= 8, out += kGroup) {
    const auto bits = static_cast<uint8_t>(mask);
    const auto next = hn::BitCast(kBytes16, hn::LoadU(kSigned8, values));
    const auto how = hn::Load(kBytes16, kSpreading[bits].bytes);
    hn::StoreU(hn::BitCast(kSigned8, hn::TableLookupBytesOr0(next, how)), kSigned8, out);
    values += std::popcount(bits);
  }
}

HWY_INLINE void PutAll(const uint8_t* run, Wanted wanted, const Laid& laid, int16_t* out) {
  alignas(64) int16_t values[kRun * kStep];
  for (int b = wanted.first; b < wanted.last; ++b)
    Unpack(run + laid.at[b], laid.widths[b], std::popcount(laid.masks[b]), values + b * kStep);
  for (int b = wanted.first; b < wanted.last; ++b, out += kBlockValues)
    Spread(values + b * kStep, laid.masks[b], out);
}

#endif

bool DecodeRuns(Runs runs, int16_t* out, uint8_t* ends) {
  Laid laid[kTogether];
  for (size_t n = 0; n < runs.size(); ends += runs[n++].wanted.count())
    if (!Lay(runs[n].bytes, runs[n].wanted, laid[n], ends)) return false;
  for (size_t n = 0; n < runs.size(); ++n) {
    const Wanted wanted = runs[n].wanted;  // a copy, which nothing that is written can change
    PutAll(runs[n].bytes.data(), wanted, laid[n], out);
    for (int b = wanted.first; b < wanted.last; ++b, out += kBlockValues) *out = laid[n].dc[b];
  }
  return true;
}

#endif  // FL_NO_VECTORS
}  // namespace fl::jpeg::layer::tuned::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fl::jpeg::layer::tuned {

HWY_EXPORT(DecodeRuns);

bool decode_runs(Runs runs, int16_t* out, uint8_t* ends) {
  return HWY_DYNAMIC_DISPATCH(DecodeRuns)(runs, out, ends);
}

}  // namespace fl::jpeg::layer::tuned
#endif
