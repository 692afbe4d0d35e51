// AUGMENT's passes over colours in vector code (Highway), bit-equal to body/augment_point.h.
//
// Vectors may read and write up to kPadding bytes behind the last row, which Passes allows. What is
// left of a row or of an image after whole vectors is made by the scalar body, or by a last vector
// that overlaps the one before.
#include <algorithm>
#include <cstring>

#include "augment/tuned.h"
#include "body/augment_point.h"
#include "simd/vectors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "augment/tuned.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "simd/vector_ops.h"

HWY_BEFORE_NAMESPACE();
namespace fl::augment::HWY_NAMESPACE {
#if FL_NO_VECTORS

int64_t LumaSum(const Image& image) { return scalar_passes.luma_sum(image); }
void Saturate(const Pixels& image, float factor) { scalar_passes.saturate(image, factor); }
void Sharpen(const Image& in, float factor, const Pixels& out) {
  scalar_passes.sharpen(in, factor, out);
}

void BoxPass(const Image& in, const Box& box, bool down, Scratch& row, const Pixels& out) {
  scalar_passes.box(in, box, down, row, out);
}

#else
using namespace fl::HWY_NAMESPACE;

constexpr hn::ScalableTag<uint16_t> kU16;
constexpr hn::ScalableTag<float> kFloat;
using VU16 = hn::Vec<decltype(kU16)>;
using VFloat = hn::Vec<decltype(kFloat)>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(kD8));

// Bytes to wider lanes and back: halves and quarters are those of each block of 16 bytes, so that
// pack() undoes them.
HWY_INLINE VU16 half(V8 bytes, bool upper) {
  const V8 zero = hn::Zero(kD8);
  return hn::BitCast(
      kU16, upper ? hn::InterleaveUpper(kD8, bytes, zero) : hn::InterleaveLower(kD8, bytes, zero));
}

HWY_INLINE V32 quarter(VU16 values, bool upper) {
  const VU16 zero = hn::Zero(kU16);
  return hn::BitCast(kD32, upper ? hn::InterleaveUpper(kU16, values, zero)
                                 : hn::InterleaveLower(kU16, values, zero));
}

// Through a byte shuffle and not a saturating pack: the order within each block of 16 bytes must be
// that of half() and quarter().
HWY_INLINE V8 pack(V32 a, V32 b, V32 c, V32 d) {  // values 0..255
  const V16 ab = hn::ReorderDemote2To(kD16, a, b), cd = hn::ReorderDemote2To(kD16, c, d);
  alignas(16) constexpr uint8_t kEven[16] = {0,   2,   4,   6,   8,   10,  12,  14,
                                             128, 128, 128, 128, 128, 128, 128, 128};
  alignas(16) constexpr uint8_t kEvenUp[16] = {128, 128, 128, 128, 128, 128, 128, 128,
                                               0,   2,   4,   6,   8,   10,  12,  14};
  return hn::Or(hn::TableLookupBytesOr0(hn::BitCast(kD8, ab), hn::LoadDup128(kD8, kEven)),
                hn::TableLookupBytesOr0(hn::BitCast(kD8, cd), hn::LoadDup128(kD8, kEvenUp)));
}

// blend() of body/augment_point.h.
HWY_INLINE V32 blended(V32 from, V32 to, VFloat factor) {
  const VFloat start = hn::ConvertTo(kFloat, from);
  const VFloat scaled = hn::Mul(factor, hn::ConvertTo(kFloat, hn::Sub(to, from)));
  const VFloat value = hn::Add(start, scaled);
  return hn::ConvertTo(kD32, hn::Min(hn::Max(value, hn::Zero(kFloat)), hn::Set(kFloat, 255.0f)));
}

HWY_INLINE V8 blended(VU16 from_lower, VU16 from_upper, V8 to, VFloat factor) {
  const VU16 lower = half(to, false), upper = half(to, true);
  return pack(blended(quarter(from_lower, false), quarter(lower, false), factor),
              blended(quarter(from_lower, true), quarter(lower, true), factor),
              blended(quarter(from_upper, false), quarter(upper, false), factor),
              blended(quarter(from_upper, true), quarter(upper, true), factor));
}

// The weight of green does not fit into 16 signed bits: taken 65536 too low, and green itself is
// added after the shift.
HWY_INLINE V32 luma_quarter(V16 red_green, V16 blue, V32 green) {
  const V16 pair = hn::BitCast(kD16, hn::Set(kD32, (kLumaGreen - 65536) * 65536 + kLumaRed));
  const V16 single = hn::BitCast(kD16, hn::Set(kD32, kLumaBlue));
  V32 odd = hn::Zero(kD32);
  V32 sum = hn::ReorderWidenMulAccumulate(kD32, red_green, pair, hn::Zero(kD32), odd);
  sum = hn::ReorderWidenMulAccumulate(kD32, blue, single, sum, odd);
  sum = hn::Add(hn::RearrangeToOddPlusEven(sum, odd), hn::Set(kD32, 0x8000));
  return hn::Add(hn::ShiftRight<16>(sum), green);
}

// luma() of a vector of pixels, as 32-bit lanes in quarters.
struct Luma {
  V32 quarters[4];

  HWY_INLINE Luma(V8 red, V8 green, V8 blue) {
    const V8 zero = hn::Zero(kD8);
    const V8 lower = hn::InterleaveLower(kD8, red, green),
             upper = hn::InterleaveUpper(kD8, red, green);
    const VU16 g0 = half(green, false), g1 = half(green, true), b0 = half(blue, false),
               b1 = half(blue, true);
    const V8 pairs[4] = {
        hn::InterleaveLower(kD8, lower, zero), hn::InterleaveUpper(kD8, lower, zero),
        hn::InterleaveLower(kD8, upper, zero), hn::InterleaveUpper(kD8, upper, zero)};
    for (int i = 0; i < 4; ++i) {
      const V16 blues = hn::BitCast(kD16, quarter(i < 2 ? b0 : b1, i % 2 == 1));
      quarters[i] =
          luma_quarter(hn::BitCast(kD16, pairs[i]), blues, quarter(i < 2 ? g0 : g1, i % 2 == 1));
    }
  }
};

int64_t LumaSum(const Image& image) {
  const int64_t pixels = static_cast<int64_t>(image.height) * image.width;
  constexpr int64_t kChunk = 1 << 16;  // vectors that a lane of 32 bits can sum
  int64_t sum = 0, i = 0;
  while (i + kLanes <= pixels) {
    V32 sums = hn::Zero(kD32);
    const int64_t end = std::min(pixels, i + kChunk * kLanes);
    for (; i + kLanes <= end; i += kLanes) {
      V8 r, g, b;
      hn::LoadInterleaved3(kD8, image.data + i * kChannels, r, g, b);
      const Luma luma(r, g, b);
      sums = hn::Add(sums, hn::Add(hn::Add(luma.quarters[0], luma.quarters[1]),
                                   hn::Add(luma.quarters[2], luma.quarters[3])));
    }
    sum += hn::GetLane(hn::SumOfLanes(kD32, sums));
  }
  for (; i < pixels; ++i) {
    const uint8_t* px = image.data + i * kChannels;
    sum += luma(px[0], px[1], px[2]);
  }
  return sum;
}

HWY_INLINE V8 saturated(const Luma& grey, V8 values, VFloat factor) {
  const VU16 lower = half(values, false), upper = half(values, true);
  return pack(blended(grey.quarters[0], quarter(lower, false), factor),
              blended(grey.quarters[1], quarter(lower, true), factor),
              blended(grey.quarters[2], quarter(upper, false), factor),
              blended(grey.quarters[3], quarter(upper, true), factor));
}

void Saturate(const Pixels& image, float factor) {
  const int64_t pixels = static_cast<int64_t>(image.height) * image.width;
  const VFloat by = hn::Set(kFloat, factor);
  int64_t i = 0;
  for (; i + kLanes <= pixels; i += kLanes) {
    uint8_t* at = image.data + i * kChannels;
    V8 r, g, b;
    hn::LoadInterleaved3(kD8, at, r, g, b);
    const Luma grey(r, g, b);
    hn::StoreInterleaved3(saturated(grey, r, by), saturated(grey, g, by), saturated(grey, b, by),
                          kD8, at);
  }
  for (; i < pixels; ++i) {
    uint8_t* px = image.data + i * kChannels;
    const int grey = luma(px[0], px[1], px[2]);
    for (int c = 0; c < kChannels; ++c) px[c] = blend(grey, px[c], factor);
  }
}

struct Neighbours {  // three rows around the bytes that are made
  const uint8_t *up, *mid, *down;

  HWY_INLINE V8 load(const uint8_t* row, int i) const { return hn::LoadU(kD8, row + i); }

  HWY_INLINE VU16 column(int i, bool upper) const {
    return hn::Add(hn::Add(half(load(up, i), upper), half(load(mid, i), upper)),
                   half(load(down, i), upper));
  }

  HWY_INLINE VU16 smoothed(int i, bool upper) const {
    const VU16 sum = hn::Add(hn::Add(column(i - kChannels, upper), column(i, upper)),
                             column(i + kChannels, upper));
    const VU16 all = hn::Add(sum, hn::ShiftLeft<2>(half(load(mid, i), upper)));
    // n * 20165 / 2^18 is n / 13 for every n up to 3321.
    return hn::ShiftRight<2>(hn::MulHigh(hn::Add(all, hn::Set(kU16, 6)), hn::Set(kU16, 20165)));
  }
};

void SharpenRow(const Neighbours& rows, int bytes, float factor, uint8_t* out) {
  const VFloat by = hn::Set(kFloat, factor);
  const int end = bytes - kChannels;
  for (int i = kChannels; i < end; i += kLanes) {
    // The last vector overlaps the one before: the same values again
    i = std::min(i, end - kLanes);
    hn::StoreU(blended(rows.smoothed(i, false), rows.smoothed(i, true), rows.load(rows.mid, i), by),
               kD8, out + i);
  }
}

void Sharpen(const Image& in, float factor, const Pixels& out) {
  const int bytes = in.width * kChannels;
  if (bytes < kLanes + 2 * kChannels) return scalar_passes.sharpen(in, factor, out);
  for (int y = 0; y < in.height; ++y) {
    if (y == 0 || y == in.height - 1) {
      std::memcpy(out.row(y), in.row(y), bytes);
      continue;
    }
    std::memcpy(out.row(y), in.row(y), kChannels);
    std::memcpy(out.row(y) + bytes - kChannels, in.row(y) + bytes - kChannels, kChannels);
    SharpenRow({in.row(y - 1), in.row(y), in.row(y + 1)}, bytes, factor, out.row(y));
  }
}

// Unsigned, since the weighted sum needs all 32 bits. `Mul` keeps the low 32 bits, which is what
// the specification's uint32_t do.
HWY_INLINE V32 boxed(V32 sum, V32 ends, const Box& box) {
  const V32 inner = hn::Set(kD32, static_cast<int32_t>(box.inner)),
            outer = hn::Set(kD32, static_cast<int32_t>(box.outer));
  const V32 all =
      hn::Add(hn::Add(hn::Mul(sum, inner), hn::Mul(ends, outer)), hn::Set(kD32, 1 << 23));
  const hn::ScalableTag<uint32_t> u32;  // the sums use all 32 bits
  return hn::BitCast(kD32, hn::ShiftRight<24>(hn::BitCast(u32, all)));
}

// `taps(k)` is where the row of neighbours k lies. Vectors may reach past `bytes`, into padding or
// what is made later.
template <class Taps>
HWY_INLINE void box_row(const Box& box, int bytes, uint8_t* out, const Taps& taps) {
  const uint8_t *first = taps(-box.reach - 1), *last = taps(box.reach + 1);
  for (int i = 0; i < bytes; i += kLanes) {
    VU16 sums[2] = {hn::Zero(kU16), hn::Zero(kU16)};
    for (int k = -box.reach; k <= box.reach; ++k) {
      const V8 values = hn::LoadU(kD8, taps(k) + i);
      sums[0] = hn::Add(sums[0], half(values, false));
      sums[1] = hn::Add(sums[1], half(values, true));
    }
    const V8 a = hn::LoadU(kD8, first + i), b = hn::LoadU(kD8, last + i);
    const VU16 ends[2] = {hn::Add(half(a, false), half(b, false)),
                          hn::Add(half(a, true), half(b, true))};
    V32 values[4];
    for (int n = 0; n < 4; ++n)
      values[n] = boxed(quarter(sums[n / 2], n % 2 == 1), quarter(ends[n / 2], n % 2 == 1), box);
    hn::StoreU(pack(values[0], values[1], values[2], values[3]), kD8, out + i);
  }
}

// Along a row, neighbours lie kChannels bytes apart in a copy of it that is continued at both ends.
// Down a column they lie in other rows, and clamping the row number is enough.
void BoxPass(const Image& in, const Box& box, bool down, Scratch& row, const Pixels& out) {
  const int bytes = in.width * kChannels, wide = box.reach + 1;
  uint8_t* padded = row.reserve(bytes + 2 * wide * kChannels + kPadding);
  for (int y = 0; y < in.height; ++y) {
    if (down) {
      box_row(box, bytes, out.row(y),
              [&](int k) { return in.row(std::clamp(y + k, 0, in.height - 1)); });
      continue;
    }
    for (int x = 0; x < wide; ++x) {
      std::memcpy(padded + x * kChannels, in.row(y), kChannels);
      std::memcpy(padded + bytes + (wide + x) * kChannels, in.row(y) + bytes - kChannels,
                  kChannels);
    }
    std::memcpy(padded + wide * kChannels, in.row(y), bytes);
    box_row(box, bytes, out.row(y), [&](int k) { return padded + (wide + k) * kChannels; });
  }
}

#endif  // FL_NO_VECTORS
}  // namespace fl::augment::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fl::augment::tuned {

HWY_EXPORT(LumaSum);
HWY_EXPORT(Saturate);
HWY_EXPORT(Sharpen);
HWY_EXPORT(BoxPass);

int64_t luma_sum(const Image& image) { return HWY_DYNAMIC_DISPATCH(LumaSum)(image); }
void saturate(const Pixels& image, float factor) { HWY_DYNAMIC_DISPATCH(Saturate)(image, factor); }
void sharpen(const Image& in, float factor, const Pixels& out) {
  HWY_DYNAMIC_DISPATCH(Sharpen)(in, factor, out);
}

void box(const Image& in, const Box& box, bool down, Scratch& row, const Pixels& out) {
  HWY_DYNAMIC_DISPATCH(BoxPass)(in, box, down, row, out);
}

}  // namespace fl::augment::tuned
#endif
