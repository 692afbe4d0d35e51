// A run in two sweeps: first all values of all blocks are unpacked, one block's behind the other's;
// then each block's go to their places. So no value is loaded before its store has left the core's
// buffers, and no branch depends on the data but for blocks of more than 24 values.
//
// Eight packed numbers are a shuffle of bytes and two multiplications. Values go to their places by
// eight bits of the mask at a time, a shuffle each; with AVX-512 by one expansion of 32.
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

// Words to the places of a mask (VBMI2): every machine that runs this target has it (targets.cpp).
#if HWY_TARGET == HWY_AVX3
#undef HWY_TARGET_STR
#define HWY_TARGET_STR HWY_TARGET_STR_AVX3 ",avx512vnni,avx512vbmi,avx512vbmi2"
#endif

HWY_BEFORE_NAMESPACE();
namespace fl::jpeg::layer::tuned::HWY_NAMESPACE {
#if FL_NO_VECTORS

bool DecodeRun(Bytes run, const Wanted& wanted, int16_t* out, uint8_t* ends) {
  return scalar::decode_run(run, wanted, out, ends);
}

#else
using namespace fl::HWY_NAMESPACE;

constexpr hn::FixedTag<uint8_t, 16> kBytes16;
constexpr hn::FixedTag<uint16_t, 8> kWords8;
using Words8 = hn::Vec<decltype(kWords8)>;

// Of one block between the sweeps: the DC, 63 values, and what vectors store behind them.
constexpr int kStep = 96;

struct Unpacked {
  alignas(64) int16_t values[kRun * kStep];
  uint64_t masks[kRun];
};

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

HWY_INLINE void Unpack8(const uint8_t* from, const Unpacking& how, int16_t* to) {
  const Words8 values = Values(kWords8, Fields(from, how), hn::Load(kWords8, how.down));
  hn::StoreU(hn::BitCast(hn::FixedTag<int16_t, 8>(), values), hn::FixedTag<int16_t, 8>(), to);
}

#if FL_BYTE_VECTORS

constexpr int kAtOnce = 32;

HWY_INLINE void UnpackMore(const uint8_t* from, unsigned width, int16_t* to) {
  const hn::Full512<uint16_t> words;
  const Unpacking& how = kUnpacking[width];
  const __m512i bytes =
      _mm512_permutexvar_epi8(_mm512_load_si512(kPlaces[width].bytes), _mm512_loadu_si512(from));
  const auto fields = hn::Mul(hn::Vec512<uint16_t>{bytes}, hn::LoadDup128(words, how.up));
  const auto values = Values(words, fields, hn::LoadDup128(words, how.down));
  _mm512_storeu_si512(to, values.raw);
}

HWY_INLINE void Spread(const int16_t* values, uint64_t mask, int16_t* out) {
  const auto low = static_cast<uint32_t>(mask), high = static_cast<uint32_t>(mask >> 32);
  const __m512i first = _mm512_loadu_si512(values),
                second = _mm512_loadu_si512(values + std::popcount(low));
  _mm512_storeu_si512(out, _mm512_maskz_expand_epi16(low, first));
  _mm512_storeu_si512(out + 32, _mm512_maskz_expand_epi16(high, second));
}

#else
#if HWY_MAX_BYTES >= 32

constexpr int kAtOnce = 16;

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

constexpr int kAtOnce = 16;

HWY_INLINE void UnpackMore(const uint8_t* from, unsigned width, int16_t* to) {
  Unpack8(from, kUnpacking[width], to);
  Unpack8(from + width, kUnpacking[width], to + kGroup);
}

#endif

HWY_INLINE void Spread(const int16_t* values, uint64_t mask, int16_t* out) {
  const hn::FixedTag<int16_t, 8> d;
  for (int group = 0; group < 8; ++group, mask >>= 8, out += kGroup) {
    const auto bits = static_cast<uint8_t>(mask);
    const auto next = hn::BitCast(kBytes16, hn::LoadU(d, values));
    const auto how = hn::Load(kBytes16, kSpreading[bits].bytes);
    hn::StoreU(hn::BitCast(d, hn::TableLookupBytesOr0(next, how)), d, out);
    values += std::popcount(bits);
  }
}

#endif

// The DC of each block to where its values begin.
HWY_INLINE void UnpackDc(Bytes run, int blocks, int16_t* values) {
  alignas(16) int16_t steps[2 * kGroup];
  const Unpacking& how = kUnpacking[run[2]];
  for (int half = 0; half < 2; ++half) {
    const Words8 fields = Fields(run.data() + kDcHead + half * run[2], how);
    const Words8 rest = hn::MulHigh(hn::Add(fields, fields), hn::Load(kWords8, how.down));
    const hn::FixedTag<int16_t, 8> d;
    const auto sign = hn::BroadcastSignBit(hn::BitCast(d, fields));
    hn::Store(hn::Xor(hn::BitCast(d, rest), sign), d, steps + half * kGroup);
  }
  auto dc = static_cast<uint16_t>(run[0] | run[1] << 8);
  for (int b = 0; b < blocks; ++b) {
    values[b * kStep] = static_cast<int16_t>(dc);
    dc = static_cast<uint16_t>(dc + steps[b]);
  }
}

// Where the next block's parts are.
struct Cursor {
  const uint8_t *widths, *sizes, *masks, *values, *end;
  unsigned number = 0;  // of the block
};

struct Block {
  uint64_t mask;  // without the DC
  const uint8_t* values;
  unsigned first_width, other_width, more;  // values behind the first kFirst
};

// The next block, whose values are not looked at. False: the run is damaged.
HWY_INLINE bool Next(Cursor& at, Block& out) {
  const unsigned widths = at.widths[at.number], shift = at.number % 2 * 4;
  const unsigned mask_bytes = at.sizes[at.number / 2] >> shift & 15;
  if (HWY_UNLIKELY(!kKnown[widths] || mask_bytes > unsigned{kMostMask})) return false;
  out.mask = (load_little_endian(at.masks) & kKept[mask_bytes]) << 1;
  out.first_width = widths & 15;
  out.other_width = widths >> 4;
  const auto count = static_cast<unsigned>(std::popcount(out.mask)),
             first = std::min(count, unsigned{kFirst});
  out.more = count - first;
  out.values = at.values;
  const size_t size = (first * out.first_width + 7) / 8 + (out.more * out.other_width + 7) / 8;
  if (HWY_UNLIKELY(size > static_cast<size_t>(at.end - at.values))) return false;
  at.values += size;
  at.masks += mask_bytes;
  ++at.number;
  return true;
}

HWY_INLINE void Unpack(const Block& block, int16_t* to) {
  Unpack8(block.values, kUnpacking[block.first_width], to);
  const uint8_t* from = block.values + block.first_width;
  UnpackMore(from, block.other_width, to + kFirst);
  for (unsigned done = kAtOnce; HWY_UNLIKELY(done < block.more); done += kAtOnce) {
    from += kAtOnce / kGroup * block.other_width;
    UnpackMore(from, block.other_width, to + kFirst + done);
  }
}

// Blocks before those that are wanted are passed over. False: the run is damaged.
HWY_INLINE bool UnpackRun(Bytes run, const Wanted& wanted, Unpacked& to) {
  Parts parts;
  if (!find_parts(run, wanted.blocks, parts)) return false;
  UnpackDc(run, wanted.last, to.values);
  const uint8_t* from = run.data();
  Cursor at{from + parts.widths, from + parts.sizes, from + parts.masks, from + parts.values,
            from + run.size()};
  Block block;
  for (int b = 0; b < wanted.first; ++b)
    if (!Next(at, block)) return false;
  for (int b = wanted.first; b < wanted.last; ++b) {
    if (!Next(at, block)) return false;
    to.masks[b] = block.mask | 1;
    Unpack(block, to.values + b * kStep + 1);
  }
  return wanted.last < wanted.blocks || at.values == at.end;
}

// Of all blocks, from the four bits that each one's bytes of mask are.
HWY_INLINE void Ends(Bytes run, const Wanted& wanted, uint8_t* ends) {
  const uint8_t* sizes = run.data() + kDcHead + bytes_of(wanted.blocks - 1, run[2]) + wanted.blocks;
  const auto pairs = hn::LoadU(kBytes16, sizes), low = hn::Set(kBytes16, uint8_t{15});
  const auto second =
      hn::BitCast(kBytes16, hn::ShiftRight<4>(hn::BitCast(hn::FixedTag<uint16_t, 8>(), pairs)));
  const auto bytes = hn::InterleaveLower(kBytes16, hn::And(pairs, low), hn::And(second, low));
  const auto by_2 = hn::Add(bytes, bytes), by_4 = hn::Add(by_2, by_2);
  alignas(16) uint8_t all[2 * kRun] = {};
  hn::Store(hn::Add(hn::Add(by_4, by_4), hn::Set(kBytes16, uint8_t{1})), kBytes16, all);
  hn::StoreU(hn::LoadU(kBytes16, all + wanted.first), kBytes16, ends);
}

bool DecodeRun(Bytes run, const Wanted& wanted, int16_t* out, uint8_t* ends) {
  Unpacked unpacked;
  if (!UnpackRun(run, wanted, unpacked)) return false;
  Ends(run, wanted, ends);
  for (int b = wanted.first; b < wanted.last; ++b, out += kBlockValues)
    Spread(unpacked.values + b * kStep, unpacked.masks[b], out);
  return true;
}

#endif  // FL_NO_VECTORS
}  // namespace fl::jpeg::layer::tuned::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fl::jpeg::layer::tuned {

HWY_EXPORT(DecodeRun);

bool decode_run(Bytes run, const Wanted& wanted, int16_t* out, uint8_t* ends) {
  return HWY_DYNAMIC_DISPATCH(DecodeRun)(run, wanted, out, ends);
}

}  // namespace fl::jpeg::layer::tuned
#endif
