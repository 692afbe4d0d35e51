// Made anew whenever a window of a scan is searched, so by vectors.
#include "jpeg/entropy_hops.h"

#include "jpeg/huffman_pairs.h"
#include "simd/vectors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "jpeg/entropy_hops.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace fl::jpeg::HWY_NAMESPACE {

// An entry's fields by bit: length 0, most 16, advance 32.
constexpr int kMostAt = 16, kAdvanceBits = 16;

void TakeEntries(const Lookup& lookup, Hops& out) {
  for (int n = 0; n < kLookups; ++n) {
    const uint64_t entry = number(lookup.entries[n]);
    const auto advance = static_cast<int32_t>(entry >> 32) << kAdvanceBits >> kAdvanceBits;
    out.by[n] = place_of(static_cast<uint32_t>(advance), entry & kLengthMask);
    out.most[n] = static_cast<uint8_t>(entry >> kMostAt);
  }
}

}  // namespace fl::jpeg::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fl::jpeg {

HWY_EXPORT(TakeEntries);

void Hops::take(const Lookup& lookup) {
  mask = place_of(lookup.mask, 0);
  HWY_DYNAMIC_DISPATCH(TakeEntries)(lookup, *this);
}

}  // namespace fl::jpeg
#endif
