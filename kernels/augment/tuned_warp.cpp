// Affine and perspective maps in vector code (Highway), for all three filters; bit-equal to
// body/augment_geometry.h. Positions and weights are doubles, as in Pillow, so a vector has 2 to 8
// px. Each px is gathered as 8 bytes: itself, the next one and two bytes more, which the padding
// allows.
#include <algorithm>
#include <cstring>

#include "augment/tuned.h"
#include "simd/vectors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "augment/tuned_warp.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace fl::augment::HWY_NAMESPACE {
#if FL_NO_VECTORS

void Affine(const Image& in, const AffineMap& map, Sampling how, const Fill& fill,
            const Pixels& out) {
  scalar_passes.affine(in, map, how, fill, out);
}

void Perspective(const Image& in, const PerspectiveMap& map, Sampling how, const Fill& fill,
                 const Pixels& out) {
  scalar_passes.perspective(in, map, how, fill, out);
}

#else
namespace hn = hwy::HWY_NAMESPACE;

constexpr hn::ScalableTag<double> kD;
constexpr hn::ScalableTag<int64_t> kI;
constexpr hn::Rebind<int32_t, decltype(kD)> kNarrow;
using VD = hn::Vec<decltype(kD)>;
using VI = hn::Vec<decltype(kI)>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(kD));

// Positions of kLanes output px from x on; the parts that only depend on the row are made once per
// row.
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
  return hn::Sub(hn::BitCast(kD, hn::Or(bits, hn::Set(kI, 0x4330000000000000))),
                 hn::Set(kD, 4503599627370496.0));
}

HWY_INLINE VD lerp(VD from, VD to, VD share) {
  return hn::Add(from, hn::Mul(hn::Sub(to, from), share));
}

HWY_INLINE VI joined(VI red, VI green, VI blue) {
  return hn::Or(red, hn::Or(hn::ShiftLeft<8>(green), hn::ShiftLeft<16>(blue)));
}

// Where px lie, from the image on: whole numbers within the image, as doubles, to bytes.
struct Offsets {
  const Image& in;

  HWY_INLINE VI column(VD x) const { return to_ints(hn::Mul(x, hn::Set(kD, kChannels))); }
  HWY_INLINE VI row(VD y) const {
    return to_ints(hn::Mul(y, hn::Set(kD, static_cast<double>(in.stride))));
  }
  HWY_INLINE VI load(VI offset) const {  // eight bytes: a px, the next, and two more
    return hn::GatherOffset(kI, reinterpret_cast<const int64_t*>(in.data), offset);
  }
};

HWY_INLINE VD clamped(VD at, int count) {
  return hn::Min(hn::Max(at, hn::Zero(kD)), hn::Set(kD, count - 1));
}

// The samplers give four bytes per lane, in its low half; the positions are in the image.

struct Nearest {
  static HWY_INLINE VI sample(const Image& in, VD x, VD y) {
    const Offsets offsets{in};
    return offsets.load(hn::Add(offsets.column(hn::Trunc(x)), offsets.row(hn::Trunc(y))));
  }
};

struct Bilinear {
  VI upper, lower;  // two px each
  VD right, down;   // shares of the right and of the lower px
  // At the left and right border both px are the same
  hn::Mask<hn::ScalableTag<double> > one_column;

  template <int kChannel>
  HWY_INLINE VD across(VI pixels) const {
    const VD a = channel_of<kChannel>(pixels);
    return lerp(a, hn::IfThenElse(one_column, a, channel_of<kChannel + 3>(pixels)), right);
  }

  template <int kChannel>
  HWY_INLINE VI channel(bool level) const {  // level: nothing of the lower px is seen
    const VD above = across<kChannel>(upper);
    return to_ints(level ? above : lerp(above, across<kChannel>(lower), down));  // cuts off
  }

  static HWY_INLINE VI sample(const Image& in, VD from_x, VD from_y) {
    const VD half = hn::Set(kD, 0.5), one = hn::Set(kD, 1.0), zero = hn::Zero(kD);
    const VD x = hn::Sub(from_x, half), y = hn::Sub(from_y, half), left = hn::Floor(x),
             top = hn::Floor(y);
    const VD down = hn::Sub(y, top);
    const bool level = hn::AllTrue(kD, hn::Eq(down, zero));
    const Offsets offsets{in};
    const VI column = offsets.column(clamped(left, in.width));
    const VI upper = offsets.load(hn::Add(offsets.row(clamped(top, in.height)), column));
    const VI lower =
        level ? upper
              : offsets.load(hn::Add(offsets.row(clamped(hn::Add(top, one), in.height)), column));
    const auto borders = hn::Or(hn::Lt(left, zero), hn::Ge(left, hn::Set(kD, in.width - 1)));
    const Bilinear it{upper, lower, hn::Sub(x, left), down, borders};
    return joined(it.channel<0>(level), it.channel<1>(level), it.channel<2>(level));
  }
};

// Only where all 4x4 px are inside; at the border the specification itself samples, px by px.
struct Bicubic {
  VI first[4], second[4];  // of four rows: two px and the next two
  VD right, down;

  HWY_INLINE Bicubic() {}  // spelled out: GCC does not give a generated one the target's attributes

  static HWY_INLINE VD cubic(VD a, VD b, VD c, VD d, VD share) {
    const VD minus_a = hn::Neg(a), difference = hn::Sub(a, b);
    const VD p2 = hn::Add(minus_a, c), p3 = hn::Sub(hn::Add(hn::Add(difference, difference), c), d),
             p4 = hn::Add(hn::Sub(hn::Add(minus_a, b), c), d);
    return hn::Add(b, hn::Mul(share, hn::Add(p2, hn::Mul(share, hn::Add(p3, hn::Mul(share, p4))))));
  }

  template <int kChannel>
  HWY_INLINE VI channel() const {
    VD across[4];
    for (int k = 0; k < 4; ++k)
      across[k] =
          cubic(channel_of<kChannel>(first[k]), channel_of<kChannel + 3>(first[k]),
                channel_of<kChannel>(second[k]), channel_of<kChannel + 3>(second[k]), right);
    const VD value = cubic(across[0], across[1], across[2], across[3], down);
    return to_ints(hn::Min(hn::Max(value, hn::Zero(kD)), hn::Set(kD, 255.0)));
  }

  static HWY_INLINE VI sample(const Image& in, VD from_x, VD from_y) {
    const VD half = hn::Set(kD, 0.5), x = hn::Sub(from_x, half), y = hn::Sub(from_y, half);
    const VD left = hn::Floor(x), top = hn::Floor(y), one = hn::Set(kD, 1.0);
    const auto inner = hn::And(hn::And(hn::Ge(left, one), hn::Lt(left, hn::Set(kD, in.width - 2))),
                               hn::And(hn::Ge(top, one), hn::Lt(top, hn::Set(kD, in.height - 2))));
    if (!hn::AllTrue(kD, inner)) return at_border(in, from_x, from_y);
    const Offsets offsets{in};
    Bicubic it;
    it.right = hn::Sub(x, left);
    it.down = hn::Sub(y, top);
    VI offset = hn::Add(offsets.row(hn::Sub(top, one)), offsets.column(hn::Sub(left, one)));
    for (int k = 0; k < 4; ++k, offset = hn::Add(offset, hn::Set(kI, in.stride))) {
      it.first[k] = offsets.load(offset);
      it.second[k] = offsets.load(hn::Add(offset, hn::Set(kI, 2 * kChannels)));
    }
    return joined(it.channel<0>(), it.channel<1>(), it.channel<2>());
  }

  static HWY_NOINLINE VI at_border(const Image& in, VD from_x, VD from_y) {
    alignas(64) double x[kLanes], y[kLanes];
    alignas(64) int64_t pixels[kLanes] = {};
    hn::Store(from_x, kD, x);
    hn::Store(from_y, kD, y);
    for (int i = 0; i < kLanes; ++i) {
      uint8_t px[kChannels];
      bicubic(texture(in), {x[i], y[i]}, px);
      pixels[i] = px[0] | px[1] << 8 | px[2] << 16;
    }
    return hn::Load(kI, pixels);
  }
};

// Positions outside are replaced by a safe one before anything is gathered, so nothing outside the
// image is read; the fill takes their place afterwards.
template <class Sampler, class Row, class Map>
void warp_image(const Image& in, const Map& map, const Fill& fill, const Pixels& out) {
  const VI outside = hn::Set(kI, fill[0] | fill[1] << 8 | fill[2] << 16);
  const VD zero = hn::Zero(kD), width = hn::Set(kD, in.width), height = hn::Set(kD, in.height);
  const VD safe = hn::Set(kD, 0.5);  // in the place of positions that may be anything
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
        const VI found = Sampler::sample(in, hn::IfThenElse(inside, from_x, safe),
                                         hn::IfThenElse(inside, from_y, safe));
        pixels = hn::IfThenElse(hn::RebindMask(kI, inside), found, outside);
      }
      alignas(64) int64_t lanes[kLanes];
      hn::Store(pixels, kI, lanes);
      // Four bytes each: the fourth, and whole px past the row's end, are written again later or
      // are padding.
      for (int i = 0; i < kLanes; ++i) std::memcpy(to + (x + i) * kChannels, &lanes[i], 4);
    }
  }
}

template <class Row, class Map>
HWY_INLINE void warp(const Image& in, const Map& map, Sampling how, const Fill& fill,
                     const Pixels& out) {
  switch (how) {
    case Sampling::kNearest:
      return warp_image<Nearest, Row>(in, map, fill, out);
    case Sampling::kBilinear:
      return warp_image<Bilinear, Row>(in, map, fill, out);
    default:
      return warp_image<Bicubic, Row>(in, map, fill, out);
  }
}

void Affine(const Image& in, const AffineMap& map, Sampling how, const Fill& fill,
            const Pixels& out) {
  warp<AffineRow>(in, map, how, fill, out);
}

void Perspective(const Image& in, const PerspectiveMap& map, Sampling how, const Fill& fill,
                 const Pixels& out) {
  warp<PerspectiveRow>(in, map, how, fill, out);
}

#endif  // FL_NO_VECTORS
}  // namespace fl::augment::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fl::augment::tuned {

HWY_EXPORT(Affine);
HWY_EXPORT(Perspective);

void affine(const Image& in, const AffineMap& map, Sampling how, const Fill& fill,
            const Pixels& out) {
  HWY_DYNAMIC_DISPATCH(Affine)(in, map, how, fill, out);
}

void perspective(const Image& in, const PerspectiveMap& map, Sampling how, const Fill& fill,
                 const Pixels& out) {
  HWY_DYNAMIC_DISPATCH(Perspective)(in, map, how, fill, out);
}

}  // namespace fl::augment::tuned
#endif
