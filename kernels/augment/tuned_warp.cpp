// Bilinear maps and the Gaussian blur in vector code (Highway), bit-equal to body/augment_geometry.h and
// augment_blur.h.
#include <algorithm>
#include <cstring>

#include "augment/tuned.h"
#include "body/augment_blur.h"
#include "cpu/vectors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "augment/tuned_warp.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace fl::augment::HWY_NAMESPACE {
#if FL_NO_VECTORS

void Affine(const Image& in, const AffineMap& map, const Fill& fill, const Pixels& out) {
  scalar_passes.affine(in, map, Sampling::kBilinear, fill, out);
}

void Perspective(const Image& in, const PerspectiveMap& map, const Fill& fill, const Pixels& out) {
  scalar_passes.perspective(in, map, Sampling::kBilinear, fill, out);
}

void BlurImage(const Image& in, const Blur& how, Scratch& rows, const Pixels& out) {
  scalar_passes.blur(in, how, rows, out);
}

#else
namespace hn = hwy::HWY_NAMESPACE;

constexpr hn::ScalableTag<double> kD;
constexpr hn::ScalableTag<int64_t> kI;
constexpr hn::Rebind<int32_t, decltype(kD)> kNarrow;
using VD = hn::Vec<decltype(kD)>;
using VI = hn::Vec<decltype(kI)>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(kD));

// Positions of kLanes output px from x on; the parts that only depend on the row are made once per row.
struct AffineRow {
  VD right, x_down, y_down, x_right, y_right, x_off, y_off;

  HWY_INLINE AffineRow(const AffineMap& map, int y)
      : right(hn::Add(hn::Iota(kD, 0), hn::Set(kD, 0.5))),
        x_down(hn::Set(kD, map.a[1] * (y + 0.5))),
        y_down(hn::Set(kD, map.a[4] * (y + 0.5))),
        x_right(hn::Set(kD, map.a[0])),
        y_right(hn::Set(kD, map.a[3])),
        x_off(hn::Set(kD, map.a[2])),
        y_off(hn::Set(kD, map.a[5])) {}

  HWY_INLINE void at(int x, VD& from_x, VD& from_y) const {
    const VD column = hn::Add(hn::Set(kD, x), right);
    from_x = hn::Add(hn::Add(hn::Mul(x_right, column), x_down), x_off);
    from_y = hn::Add(hn::Add(hn::Mul(y_right, column), y_down), y_off);
  }
};

struct PerspectiveRow {
  AffineRow plane;
  VD down, right_weight;

  HWY_INLINE PerspectiveRow(const PerspectiveMap& map, int y)
      : plane(AffineMap{{map.a[0], map.a[1], map.a[2], map.a[3], map.a[4], map.a[5]}}, y),
        down(hn::Set(kD, map.a[7] * (y + 0.5))),
        right_weight(hn::Set(kD, map.a[6])) {}

  HWY_INLINE void at(int x, VD& from_x, VD& from_y) const {
    const VD column = hn::Add(hn::Set(kD, x), plane.right);
    const VD depth = hn::Add(hn::Add(hn::Mul(right_weight, column), down), hn::Set(kD, 1.0));
    plane.at(x, from_x, from_y);
    from_x = hn::Div(from_x, depth);
    from_y = hn::Div(from_y, depth);
  }
};

HWY_INLINE VI to_ints(VD whole) {  // within int32
  return hn::PromoteTo(kI, hn::DemoteTo(kNarrow, whole));
}

template <int kChannel>
HWY_INLINE VD channel_of(VI pixels) {
  // The bits of 2^52 + v; exact, and there is no conversion from 64 bits in AVX2.
  const VI bits = hn::And(hn::ShiftRight<8 * kChannel>(pixels), hn::Set(kI, 255));
  return hn::Sub(hn::BitCast(kD, hn::Or(bits, hn::Set(kI, 0x4330000000000000))), hn::Set(kD, 4503599627370496.0));
}

HWY_INLINE VD mixed(VD from, VD to, VD share) { return hn::Add(from, hn::Mul(hn::Sub(to, from), share)); }

struct Corners {
  VI upper, lower;                                // per lane eight bytes: the left px and the right px
  VD right, down;                                 // shares of the right and of the lower px
  hn::Mask<hn::ScalableTag<double> > one_column;  // at the left and right border both px are the same
};

template <int kChannel>
HWY_INLINE VI sampled(const Corners& c) {
  const VD a = channel_of<kChannel>(c.upper), d = channel_of<kChannel>(c.lower);
  const VD b = hn::IfThenElse(c.one_column, a, channel_of<kChannel + 3>(c.upper));
  const VD e = hn::IfThenElse(c.one_column, d, channel_of<kChannel + 3>(c.lower));
  return to_ints(mixed(mixed(a, b, c.right), mixed(d, e, c.right), c.down));  // cuts off
}

// kLanes px as four bytes each, in the low halves; for positions that are all finite or marked outside.
HWY_INLINE VI bilinear_pixels(const Image& in, VD from_x, VD from_y) {
  const VD half = hn::Set(kD, 0.5), zero = hn::Zero(kD), one = hn::Set(kD, 1.0);
  const VD last_x = hn::Set(kD, in.width - 1), last_y = hn::Set(kD, in.height - 1);
  const VD x = hn::Sub(from_x, half), y = hn::Sub(from_y, half);
  const VD left = hn::Floor(x), top = hn::Floor(y);
  const auto clamped = [&](VD at, VD last) HWY_ATTR { return hn::Min(hn::Max(at, zero), last); };
  const VI column = to_ints(hn::Mul(clamped(left, last_x), hn::Set(kD, kChannels)));
  const VD stride = hn::Set(kD, static_cast<double>(in.stride));
  const auto offset = [&](VD row) HWY_ATTR { return hn::Add(to_ints(hn::Mul(clamped(row, last_y), stride)), column); };
  const auto* base = reinterpret_cast<const int64_t*>(in.data);
  const auto borders = hn::Or(hn::Lt(left, zero), hn::Ge(left, last_x));
  const Corners corners{hn::GatherOffset(kI, base, offset(top)), hn::GatherOffset(kI, base, offset(hn::Add(top, one))),
                        hn::Sub(x, left), hn::Sub(y, top), borders};
  return hn::Or(sampled<0>(corners),
                hn::Or(hn::ShiftLeft<8>(sampled<1>(corners)), hn::ShiftLeft<16>(sampled<2>(corners))));
}

template <class Row, class Map>
void bilinear_image(const Image& in, const Map& map, const Fill& fill, const Pixels& out) {
  const VI outside = hn::Set(kI, fill[0] | fill[1] << 8 | fill[2] << 16);
  const VD zero = hn::Zero(kD), width = hn::Set(kD, in.width), height = hn::Set(kD, in.height);
  for (int y = 0; y < out.height; ++y) {
    const Row row(map, y);
    uint8_t* to = out.row(y);
    for (int x = 0; x < out.width; x += kLanes) {
      VD from_x, from_y;
      row.at(x, from_x, from_y);
      const auto inside = hn::And(hn::And(hn::Ge(from_x, zero), hn::Lt(from_x, width)),
                                  hn::And(hn::Ge(from_y, zero), hn::Lt(from_y, height)));
      VI pixels = outside;
      if (!hn::AllFalse(kD, inside)) {
        // Outside, positions may be anything: 0.5 is safe.
        const VD safe = hn::Set(kD, 0.5);
        const VI found =
            bilinear_pixels(in, hn::IfThenElse(inside, from_x, safe), hn::IfThenElse(inside, from_y, safe));
        pixels = hn::IfThenElse(hn::RebindMask(kI, inside), found, outside);
      }
      alignas(64) int64_t lanes[kLanes];
      hn::Store(pixels, kI, lanes);
      // Four bytes each: the fourth, and whole px past the row's end, are written again later or are padding.
      for (int i = 0; i < kLanes; ++i) std::memcpy(to + (x + i) * kChannels, &lanes[i], 4);
    }
  }
}

void Affine(const Image& in, const AffineMap& map, const Fill& fill, const Pixels& out) {
  bilinear_image<AffineRow>(in, map, fill, out);
}

void Perspective(const Image& in, const PerspectiveMap& map, const Fill& fill, const Pixels& out) {
  bilinear_image<PerspectiveRow>(in, map, fill, out);
}

constexpr hn::ScalableTag<float> kFloat;
constexpr int kFloats = static_cast<int>(hn::MaxLanes(kFloat));

// values[i] = sum over k of weights[k] * taps[k][i], k rising.
template <class Taps>
HWY_INLINE void weigh(const std::vector<float>& weights, int count, float* values, const Taps& taps) {
  const int all = static_cast<int>(weights.size());
  for (int i = 0; i < count; i += kFloats) {  // the last vector may reach into the rows' padding
    auto sum = hn::Zero(kFloat);
    for (int k = 0; k < all; ++k)
      sum = hn::Add(sum, hn::Mul(hn::Set(kFloat, weights[k]), hn::LoadU(kFloat, taps(k) + i)));
    hn::StoreU(sum, kFloat, values + i);
  }
}

void BlurImage(const Image& in, const Blur& how, Scratch& rows, const Pixels& out) {
  const int bytes = in.width * kChannels, across = static_cast<int>(how.across.size()) / 2,
            down = static_cast<int>(how.down.size()) / 2;
  const size_t line = bytes + kFloats, wide = bytes + 2 * across * kChannels + kFloats;
  float* blurred = reinterpret_cast<float*>(rows.reserve(sizeof(float) * (line * (in.height + 1) + wide)));
  float *sums = blurred + line * in.height, *padded = sums + line;
  std::fill_n(padded, wide, 0.0f);
  for (int y = 0; y < in.height; ++y) {
    for (int x = -across; x < in.width + across; ++x)
      for (int c = 0; c < kChannels; ++c)
        padded[(x + across) * kChannels + c] = in.row(y)[mirrored(x, in.width) * kChannels + c];
    weigh(how.across, bytes, blurred + y * line, [&](int k) { return padded + k * kChannels; });
  }
  for (int y = 0; y < in.height; ++y) {
    weigh(how.down, bytes, sums, [&](int k) { return blurred + mirrored(y + k - down, in.height) * line; });
    for (int i = 0; i < bytes; ++i) out.row(y)[i] = round_to_byte(sums[i]);
  }
}

#endif  // FL_NO_VECTORS
}  // namespace fl::augment::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fl::augment::tuned {

HWY_EXPORT(Affine);
HWY_EXPORT(Perspective);
HWY_EXPORT(BlurImage);

void affine(const Image& in, const AffineMap& map, Sampling how, const Fill& fill, const Pixels& out) {
  if (how != Sampling::kBilinear) return scalar_passes.affine(in, map, how, fill, out);
  HWY_DYNAMIC_DISPATCH(Affine)(in, map, fill, out);
}

void perspective(const Image& in, const PerspectiveMap& map, Sampling how, const Fill& fill, const Pixels& out) {
  if (how != Sampling::kBilinear) return scalar_passes.perspective(in, map, how, fill, out);
  HWY_DYNAMIC_DISPATCH(Perspective)(in, map, fill, out);
}

void blur(const Image& in, const Blur& how, Scratch& rows, const Pixels& out) {
  HWY_DYNAMIC_DISPATCH(BlurImage)(in, how, rows, out);
}

}  // namespace fl::augment::tuned
#endif
