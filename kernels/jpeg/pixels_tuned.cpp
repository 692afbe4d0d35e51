// Upsampling and colour in vector code (Highway), bit-equal to body/upsample.h and body/ycc.h.
//
// Rows are handled in whole vectors; where one ends, its last vector starts earlier and makes some
// values again.
#include "jpeg/pixels_tuned.h"

#include <algorithm>
#include <cstring>

#include "body/ycc.h"
#include "jpeg/pixels_tables.h"
#include "simd/vectors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "jpeg/pixels_tuned.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "jpeg/pixels_vectors.h"

HWY_BEFORE_NAMESPACE();
namespace fl::jpeg::HWY_NAMESPACE {
#if FL_NO_VECTORS

void UpsampleH2V1(const uint8_t* in, const Columns& columns, uint8_t* out) {
  kScalarPixels.upsample_h2v1(in, columns, out);
}
void UpsampleH2V2(const uint8_t* near, const uint8_t* far, const Columns& columns, uint8_t* out) {
  kScalarPixels.upsample_h2v2(near, far, columns, out);
}
void UpsampleH1V2(const uint8_t* near, const uint8_t* far, bool below, int width, uint8_t* out) {
  kScalarPixels.upsample_h1v2(near, far, below, width, out);
}
void RgbRow(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, uint8_t* out, int width) {
  kScalarPixels.rgb_row(y, cb, cr, out, width);
}
void InterleaveRow(const uint8_t* r, const uint8_t* g, const uint8_t* b, uint8_t* out, int width) {
  kScalarPixels.interleave_row(r, g, b, out, width);
}

#else

// Calls step(i) so that vectors of `lanes` values cover 0..count-1. False if there are fewer values
// than lanes.
template <class Step>
HWY_INLINE bool cover(int count, int lanes, const Step& step) {
  if (count < lanes) return false;
  int i = 0;
  for (; i + lanes <= count; i += lanes) step(i);
  if (i < count) step(count - lanes);
  return true;
}

// ---- upsampling: `kSamples` samples become kBytes pixels

constexpr hn::ScalableTag<uint16_t> kU16;
constexpr hn::Half<decltype(kD8)> kHalf8;
using U16 = hn::Vec<decltype(kU16)>;
constexpr int kSamples = kBytes / 2;

HWY_INLINE U16 load_wide(const uint8_t* in) { return hn::PromoteTo(kU16, hn::LoadU(kHalf8, in)); }
HWY_INLINE U16 triple(U16 v) { return hn::Add(hn::Add(v, v), v); }

HWY_INLINE void store_alternately(U16 even, U16 odd, uint8_t* out) {
  hn::StoreU(hn::BitCast(kD8, hn::Or(even, hn::ShiftLeft<8>(odd))), kD8, out);
}

// The samples whose two pixels are wanted and which have both neighbours; the few pixels before and
// after are scalar.
struct Inner {
  int first, end;  // samples

  explicit Inner(const Columns& c)
      : first(std::max((c.begin + 1) / 2, 1)), end(std::min(c.end / 2, c.samples - 1)) {}
  bool empty() const { return end - first < kSamples; }
};

HWY_ATTR void upsample_inner_h2v1(const uint8_t* in, int count, uint8_t* out) {
  cover(count, kSamples, [&](int i) HWY_ATTR {
    const U16 own = triple(load_wide(in + i));
    const U16 even =
        hn::ShiftRight<2>(hn::Add(hn::Add(own, load_wide(in + i - 1)), hn::Set(kU16, 1)));
    const U16 odd =
        hn::ShiftRight<2>(hn::Add(hn::Add(own, load_wide(in + i + 1)), hn::Set(kU16, 2)));
    store_alternately(even, odd, out + 2 * i);
  });
}

void UpsampleH2V1(const uint8_t* in, const Columns& c, uint8_t* out) {
  const auto& scalar = kScalarPixels.upsample_h2v1;
  const Inner inner(c);
  if (inner.empty()) return scalar(in, c, out);
  const int first = c.begin / 2;
  if (c.begin < 2 * inner.first) scalar(in, {c.begin, 2 * inner.first, c.samples}, out);
  upsample_inner_h2v1(in + inner.first - first, inner.end - inner.first,
                      out + 2 * inner.first - c.begin);
  if (2 * inner.end < c.end)
    scalar(in + inner.end - first, {2 * inner.end, c.end, c.samples},
           out + 2 * inner.end - c.begin);
}

HWY_INLINE U16 column_sum(const uint8_t* near, const uint8_t* far) {
  return hn::Add(triple(load_wide(near)), load_wide(far));
}

HWY_ATTR void upsample_inner_h2v2(const uint8_t* near, const uint8_t* far, int count,
                                  uint8_t* out) {
  cover(count, kSamples, [&](int i) HWY_ATTR {
    const U16 own = triple(column_sum(near + i, far + i));
    const U16 left = column_sum(near + i - 1, far + i - 1),
              right = column_sum(near + i + 1, far + i + 1);
    const U16 even = hn::ShiftRight<4>(hn::Add(hn::Add(own, left), hn::Set(kU16, 8)));
    const U16 odd = hn::ShiftRight<4>(hn::Add(hn::Add(own, right), hn::Set(kU16, 7)));
    store_alternately(even, odd, out + 2 * i);
  });
}

void UpsampleH2V2(const uint8_t* near, const uint8_t* far, const Columns& c, uint8_t* out) {
  const auto& scalar = kScalarPixels.upsample_h2v2;
  const Inner inner(c);
  if (inner.empty()) return scalar(near, far, c, out);
  const int first = c.begin / 2, from = inner.first - first, to = inner.end - first;
  if (c.begin < 2 * inner.first) scalar(near, far, {c.begin, 2 * inner.first, c.samples}, out);
  upsample_inner_h2v2(near + from, far + from, to - from, out + 2 * inner.first - c.begin);
  if (2 * inner.end < c.end)
    scalar(near + to, far + to, {2 * inner.end, c.end, c.samples}, out + 2 * inner.end - c.begin);
}

void UpsampleH1V2(const uint8_t* near, const uint8_t* far, bool below, int width, uint8_t* out) {
  const U16 round = hn::Set(kU16, below ? 2 : 1);
  const bool done = cover(width, kSamples, [&](int i) HWY_ATTR {
    const U16 sum = hn::ShiftRight<2>(hn::Add(column_sum(near + i, far + i), round));
    hn::StoreU(hn::DemoteTo(kHalf8, hn::BitCast(kD16, sum)), kHalf8, out + i);
  });
  if (!done) kScalarPixels.upsample_h1v2(near, far, below, width, out);
}

// ---- colour

struct Colours {
  V16 r, g, b;
};

// Two products, rounded; `by` are constants() for a and b.
HWY_INLINE V32 dot(V16 pairs, V16 by) {
  V32 rest;
  const V32 first = begin_sum(ycc::kHalf, rest), sum = add_products(pairs, by, first, rest);
  return hn::ShiftRight<ycc::kBits>(hn::RearrangeToOddPlusEven(sum, rest));
}

// y: 0..255; cb, cr: -128..127. Whole multiples of cb and cr are split off the constants, so that
// 16 bits suffice.
HWY_INLINE Colours convert(V16 y, V16 cb, V16 cr) {
  // (v * k + 2^14) >> 15 with these constants is ycc.h's (v * (kRedCr - 2^16) + 2^15) >> 16 for
  // every v of 8 bits, and blue's likewise (found by trying them all; the tests compare every
  // pair).
  const V16 red = hn::Add(hn::MulFixedPoint15(cr, hn::Set(kD16, 13175)), cr);
  const V16 blue = hn::Add(hn::MulFixedPoint15(cb, hn::Set(kD16, -7471)), hn::Add(cb, cb));
  const V16 by = constants(-ycc::kGreenCb, 65536 - ycc::kGreenCr);
  const V32 lower = dot(hn::InterleaveLower(kD16, cb, cr), by);
  const V32 upper = dot(hn::InterleaveUpper(kD16, cb, cr), by);
  const V16 green = hn::Sub(hn::ReorderDemote2To(kD16, lower, upper), cr);
  return {hn::Add(y, red), hn::Add(y, green), hn::Add(y, blue)};
}

HWY_INLINE V16 wide_lower(V8 v) {
  return hn::BitCast(kD16, hn::InterleaveLower(kD8, v, hn::Zero(kD8)));
}
HWY_INLINE V16 wide_upper(V8 v) {
  return hn::BitCast(kD16, hn::InterleaveUpper(kD8, v, hn::Zero(kD8)));
}

#if FL_BYTE_VECTORS

// Where each of 192 interleaved bytes comes from: 0..63 of r, 64..127 of g; those of b apart.
struct alignas(64) Interleaving {
  uint8_t from[kChannels][64];
  uint64_t blue[kChannels];
};

constexpr Interleaving make_interleaving() {
  Interleaving out{};
  for (int i = 0; i < kChannels * 64; ++i) {
    const int channel = i % kChannels, pixel = i / kChannels;
    out.from[i / 64][i % 64] = static_cast<uint8_t>(channel == 1 ? 64 + pixel : pixel);
    if (channel == 2) out.blue[i / 64] |= uint64_t{1} << (i % 64);
  }
  return out;
}

constexpr Interleaving kInterleaving = make_interleaving();

HWY_INLINE void store_pixels(V8 r, V8 g, V8 b, uint8_t* out) {
  for (int i = 0; i < kChannels; ++i, out += kBytes) {
    const V8 from = hn::Load(kD8, kInterleaving.from[i]);
    const __m512i two = _mm512_permutex2var_epi8(r.raw, from.raw, g.raw);
    hn::StoreU(V8{_mm512_mask_permutexvar_epi8(two, kInterleaving.blue[i], from.raw, b.raw)}, kD8,
               out);
  }
}

#else

HWY_INLINE void store_pixels(V8 r, V8 g, V8 b, uint8_t* out) {
  hn::StoreInterleaved3(r, g, b, kD8, out);
}

#endif

HWY_INLINE void rgb_vector(const uint8_t* luma, const uint8_t* blue, const uint8_t* red,
                           uint8_t* out) {
  const V16 centre = hn::Set(kD16, 128);
  const V8 y = hn::LoadU(kD8, luma), cb = hn::LoadU(kD8, blue), cr = hn::LoadU(kD8, red);
  const Colours a =
      convert(wide_lower(y), hn::Sub(wide_lower(cb), centre), hn::Sub(wide_lower(cr), centre));
  const Colours b =
      convert(wide_upper(y), hn::Sub(wide_upper(cb), centre), hn::Sub(wide_upper(cr), centre));
  store_pixels(pack_bytes(a.r, b.r), pack_bytes(a.g, b.g), pack_bytes(a.b, b.b), out);
}

HWY_INLINE void interleave_vector(const uint8_t* r, const uint8_t* g, const uint8_t* b,
                                  uint8_t* out) {
  store_pixels(hn::LoadU(kD8, r), hn::LoadU(kD8, g), hn::LoadU(kD8, b), out);
}

// step: three vectors of samples to 3 * kBytes bytes. Rows narrower than a vector go through copies
// that are not.
template <class Step>
HWY_INLINE void cover_pixels(const uint8_t* a, const uint8_t* b, const uint8_t* c, uint8_t* out,
                             int width, const Step& step) {
  if (cover(width, kBytes, [&](int x) HWY_ATTR { step(a + x, b + x, c + x, out + x * kChannels); }))
    return;
  uint8_t in[3][kBytes] = {}, pixels[kBytes * kChannels];
  std::memcpy(in[0], a, width);
  std::memcpy(in[1], b, width);
  std::memcpy(in[2], c, width);
  step(in[0], in[1], in[2], pixels);
  std::memcpy(out, pixels, width * kChannels);
}

void RgbRow(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, uint8_t* out, int width) {
  cover_pixels(y, cb, cr, out, width, [](auto... at) HWY_ATTR { rgb_vector(at...); });
}

void InterleaveRow(const uint8_t* r, const uint8_t* g, const uint8_t* b, uint8_t* out, int width) {
  cover_pixels(r, g, b, out, width, [](auto... at) HWY_ATTR { interleave_vector(at...); });
}

#endif  // FL_NO_VECTORS
}  // namespace fl::jpeg::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fl::jpeg {

constinit const LaneFactors<4> kFactors = in_lanes<4>(idct::factors());
constinit const LaneFactors<2> kFactorsTo4 = in_lanes<2>(idct::reduced4());
constinit const LaneFactors<1> kFactorsTo2 = in_lanes<1>(idct::reduced2());

namespace tuned {

HWY_EXPORT(UpsampleH2V1);
HWY_EXPORT(UpsampleH2V2);
HWY_EXPORT(UpsampleH1V2);
HWY_EXPORT(RgbRow);
HWY_EXPORT(InterleaveRow);

namespace {

void upsample_h2v1(const uint8_t* in, const Columns& columns, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(UpsampleH2V1)(in, columns, out);
}

void upsample_h2v2(const uint8_t* near, const uint8_t* far, const Columns& columns, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(UpsampleH2V2)(near, far, columns, out);
}

void upsample_h1v2(const uint8_t* near, const uint8_t* far, bool below, int width, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(UpsampleH1V2)(near, far, below, width, out);
}

void rgb_row(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, uint8_t* out, int width) {
  HWY_DYNAMIC_DISPATCH(RgbRow)(y, cb, cr, out, width);
}

void interleave_row(const uint8_t* r, const uint8_t* g, const uint8_t* b, uint8_t* out, int width) {
  HWY_DYNAMIC_DISPATCH(InterleaveRow)(r, g, b, out, width);
}

void grey_row(const uint8_t* y, uint8_t* out, int width) { interleave_row(y, y, y, out, width); }

}  // namespace
}  // namespace tuned

const PixelOps kTunedPixels = {tuned::prepare,        tuned::idct_blocks,   tuned::idct_4x4,
                               tuned::idct_2x2,       tuned::idct_1x1,      tuned::upsample_h2v1,
                               tuned::upsample_h2v2,  tuned::upsample_h1v2, tuned::rgb_row,
                               tuned::interleave_row, tuned::grey_row,      tuned::idct_ended};

}  // namespace fl::jpeg
#endif
