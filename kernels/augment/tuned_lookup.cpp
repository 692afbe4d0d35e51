// Table lookups in vector code (Highway): 16 shuffles of 16 entries for each channel.
//
// Bit-equal to a plain lookup. A gather would load one entry at a time; a shuffle looks up a whole
// vector.
#include <cstring>

#include "augment/tuned.h"
#include "simd/vectors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "augment/tuned_lookup.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "simd/vector_ops.h"

HWY_BEFORE_NAMESPACE();
namespace fl::augment::HWY_NAMESPACE {
#if FL_NO_VECTORS

void LookUp(const Pixels& image, const Lut& lut) { scalar_passes.lookup(image, lut); }

#else
using namespace fl::HWY_NAMESPACE;

constexpr hn::ScalableTag<int8_t> kSigned;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(kD8));
constexpr int kPart = 16;   // entries that one shuffle looks through
constexpr int kHalf = 128;  // values that signed bytes count from 0 on
constexpr int kParts = kHalf / kPart;

// One channel's table in parts; each part of a half is stored as what differs from the one before
// it.
struct Parts {
  alignas(16) uint8_t of[2][kHalf];

  explicit Parts(const uint8_t* table) {
    for (int half = 0; half < 2; ++half)
      for (int v = 0; v < kHalf; ++v)
        of[half][v] = table[half * kHalf + v] ^ (v < kPart ? 0 : table[half * kHalf + v - kPart]);
  }

  // The sign and the low four bits, which is all that x86 looks at.
  static HWY_INLINE V8 index(V8 at) { return HWY_ARCH_X86 ? at : hn::And(at, hn::Set(kD8, 0x8F)); }

  // A shuffle gives 0 where its index is negative, so a value v meets the parts 0 to v / 16 of its
  // half, each at v % 16; their differences add up to its own entry. Saturation keeps negative
  // indices negative.
  HWY_INLINE V8 look_up(V8 values) const {
    V8 out = hn::Zero(kD8);
    const auto step = hn::Set(kSigned, kPart);
    for (int half = 0; half < 2; ++half) {
      auto at = hn::BitCast(kSigned, half == 0 ? values : hn::Xor(values, hn::Set(kD8, kHalf)));
      for (int k = 0; k < kParts; ++k) {
        const V8 entries = hn::LoadDup128(kD8, of[half] + k * kPart);
        out = hn::Xor(out, hn::TableLookupBytesOr0(entries, index(hn::BitCast(kD8, at))));
        at = hn::SaturatedSub(at, step);
      }
    }
    return out;
  }
};

void LookUp(const Pixels& image, const Lut& lut) {
  const int64_t pixels = static_cast<int64_t>(image.height) * image.width;
  const Parts red(lut.of[0]), green(lut.of[1]), blue(lut.of[2]);
  int64_t i = 0;
  for (; i + kLanes <= pixels; i += kLanes) {
    uint8_t* at = image.data + i * kChannels;
    V8 r, g, b;
    hn::LoadInterleaved3(kD8, at, r, g, b);
    hn::StoreInterleaved3(red.look_up(r), green.look_up(g), blue.look_up(b), kD8, at);
  }
  for (uint8_t* px = image.data + i * kChannels; i < pixels; ++i, px += kChannels)
    for (int c = 0; c < kChannels; ++c) px[c] = lut.of[c][px[c]];
}

#endif  // FL_NO_VECTORS
}  // namespace fl::augment::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fl::augment::tuned {

HWY_EXPORT(LookUp);

void lookup(const Pixels& image, const Lut& lut) { HWY_DYNAMIC_DISPATCH(LookUp)(image, lut); }

}  // namespace fl::augment::tuned
#endif
