// Two symbols to one entry. A lookup of 10 bits often holds a whole second code and its sign bit
// behind the first: then one entry tells of both. All pairs behind one first symbol are made at
// once, a vector of entries at a time; fields are added and cleared as parts of 64-bit numbers, and
// none overflows into the next.
#include "jpeg/huffman_pairs.h"

#include <algorithm>

#include "simd/vectors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "jpeg/huffman_pairs.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace fl::jpeg::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A symbol with a value, behind which comes another one of its block if it does not fill it; or a
// DC symbol.
HWY_INLINE bool BeginsPair(const Entry& entry) {
  return entry.most == kAnyOffset || (entry.most != 0 && entry.most + entry.advance == kOver);
}

// What the `count` lookups that begin with `first` tell, whose bits these are. No field overflows.
// Where the bits that are left do not hold enough of the second (`needs` is more than `room`), the
// first stands alone.
template <class D>
HWY_INLINE void MakeRun(D d, const Entry& first, int bits, const uint64_t* seconds, int count,
                        Entry* out) {
  const hn::RebindToSigned<D> signs;
  const bool dc = first.most == kAnyOffset;
  const auto keep = hn::Set(d, number({0xFF, 0, 0xFF, 0, 0, -1})),
             plus = hn::Set(d, number({first.length, 0, 0, 0, 0, first.advance})),
             less = hn::Set(d, number({0, 0, dc ? uint8_t{0} : first.first, 0, 0, 0})),
             same = hn::Set(d, number({0, first.first, dc ? kAnyOffset : uint8_t{0},
                                       static_cast<int8_t>(bits + first.bias), 0, 0}));
  const auto room = hn::Set(signs, kLookupBits - first.length);
  for (int n = 0; n < count; n += static_cast<int>(hn::MaxLanes(d))) {
    const auto second = hn::LoadU(d, seconds + n);
    const auto length = hn::And(second, hn::Set(d, uint64_t{kLengthMask}));
    const auto bias = hn::And(hn::Sub(hn::ShiftRight<kBiasAt>(second),
                                      hn::Shl(hn::Set(d, static_cast<uint64_t>(bits)), length)),
                              hn::Set(d, uint64_t{0xFFFF}));
    const auto fields = hn::Or(hn::Sub(hn::Add(hn::And(second, keep), plus), less), same);
    const auto pair = hn::Add(fields, hn::ShiftLeft<kBiasAt>(bias));
    const auto needs =
        hn::BitCast(signs, hn::And(hn::ShiftRight<kValueAt>(second), hn::Set(d, uint64_t{0xFF})));
    const auto entries =
        hn::IfThenElse(hn::RebindMask(d, hn::Gt(needs, room)), hn::Set(d, number(first)), pair);
    hn::StoreU(entries, d, reinterpret_cast<uint64_t*>(out + n));
  }
}

void MakePairs(const Numbers& firsts, const Seconds& seconds, std::array<Entry, kLookups>& out) {
  const hn::ScalableTag<uint64_t> whole;
  const hn::CappedTag<uint64_t, 4> four;
  for (int at = 0; at < kLookups;) {
    const Entry first = std::bit_cast<Entry>(firsts[at]);
    const int room = first.most == 0 ? 0 : std::max(kLookupBits - first.length, 0),
              count = 1 << room;
    if (room < 2 || !BeginsPair(first))
      std::fill_n(&out[at], count, first);
    else if (count == 4)
      MakeRun(four, first, at >> room, seconds.behind(first.length), count, &out[at]);
    else
      MakeRun(whole, first, at >> room, seconds.behind(first.length), count, &out[at]);
    at += count;
  }
}

}  // namespace fl::jpeg::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fl::jpeg {

HWY_EXPORT(MakePairs);

void make_pairs(const Numbers& firsts, const Seconds& seconds, std::array<Entry, kLookups>& out) {
  HWY_DYNAMIC_DISPATCH(MakePairs)(firsts, seconds, out);
}

}  // namespace fl::jpeg
#endif
