// Hue in vector code (Highway), bit-equal to body/augment_hue.h: float32 and double where they
// stand there.
#include <cstring>

#include "augment/tuned.h"
#include "body/augment_hue.h"
#include "simd/vectors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "augment/tuned_hue.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace fl::augment::HWY_NAMESPACE {
#if FL_NO_VECTORS

void Hue(const Pixels& image, int turn) { scalar_passes.hue(image, turn); }

#else
namespace hn = hwy::HWY_NAMESPACE;

// As many px at a time as there are doubles in a vector.
constexpr hn::ScalableTag<double> kD;
constexpr hn::Rebind<float, decltype(kD)> kF;
constexpr hn::Rebind<int32_t, decltype(kD)> kI;
constexpr hn::Rebind<uint8_t, decltype(kD)> kB;
using VD = hn::Vec<decltype(kD)>;
using VF = hn::Vec<decltype(kF)>;
using VI = hn::Vec<decltype(kI)>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(kD));

HWY_INLINE VD to_double(VF v) { return hn::PromoteTo(kD, v); }
HWY_INLINE VD to_double(VI v) { return hn::PromoteTo(kD, v); }
HWY_INLINE VF to_float(VI v) { return hn::ConvertTo(kF, v); }
HWY_INLINE VF to_float(VD v) { return hn::DemoteTo(kF, v); }
HWY_INLINE VI cut(VD v) { return hn::DemoteTo(kI, v); }
HWY_INLINE VD number(double v) { return hn::Set(kD, v); }

struct Colours {
  VI hue, saturation, value;
};

// All three ways to a hue are worked out, and masks choose. Grey pixels divide by 1 in place of 0;
// what comes of that is masked.
HWY_INLINE Colours to_colours(VI red, VI green, VI blue) {
  const VI most = hn::Max(red, hn::Max(green, blue)), least = hn::Min(red, hn::Min(green, blue));
  const VI zero = hn::Zero(kI), spread = hn::Sub(most, least);
  const auto grey = hn::Eq(spread, zero);
  const VI one = hn::Set(kI, 1);
  const VF range = to_float(hn::IfThenElse(grey, one, spread)), top = to_float(hn::Max(most, one));
  const VF share = hn::Div(range, top);
  const VF r = hn::Div(to_float(hn::Sub(most, red)), range),
           g = hn::Div(to_float(hn::Sub(most, green)), range),
           b = hn::Div(to_float(hn::Sub(most, blue)), range);
  const VF by_green = to_float(hn::Sub(hn::Add(number(2.0), to_double(r)), to_double(b)));
  const VF by_blue = to_float(hn::Sub(hn::Add(number(4.0), to_double(g)), to_double(r)));
  const auto is_red = hn::RebindMask(kF, hn::Eq(red, most)),
             is_green = hn::RebindMask(kF, hn::Eq(green, most));
  const VF hue = hn::IfThenElse(is_red, hn::Sub(b, g), hn::IfThenElse(is_green, by_green, by_blue));
  const VD turns = hn::Add(hn::Div(to_double(hue), number(6.0)), number(1.0));
  const VF part = to_float(hn::Sub(turns, hn::Trunc(turns)));
  const VI hue256 = cut(hn::Mul(to_double(part), number(255.0)));
  const VI saturation = cut(hn::Mul(to_double(share), number(255.0)));
  return {hn::IfThenElse(grey, zero, hue256), hn::IfThenElse(grey, zero, saturation), most};
}

HWY_INLINE VI of_value(VD value, VD share) {  // half away from zero; nothing is below it
  const VD product = hn::Mul(value, share), whole = hn::Trunc(product);
  const VD up = hn::IfThenElseZero(hn::Ge(hn::Sub(product, whole), number(0.5)), number(1.0));
  return cut(hn::Add(whole, up));
}

// The order of conversions between float32 and double is from_hsv's: each rounds.
HWY_INLINE void to_pixels(const Colours& in, VI& red, VI& green, VI& blue) {
  const VD angle = hn::Div(hn::Mul(to_double(in.hue), number(6.0)), number(255.0));
  const VI sextant = cut(angle);
  const VF part = to_float(hn::Sub(angle, hn::Trunc(angle)));
  const VF saturation = to_float(hn::Div(to_double(in.saturation), number(255.0)));
  const VD value = to_double(in.value), one = number(1.0);
  const VI v = in.value, p = of_value(value, hn::Sub(one, to_double(saturation))),
           q = of_value(value, hn::Sub(one, to_double(hn::Mul(saturation, part)))),
           t = of_value(
               value, hn::Sub(one, hn::Mul(to_double(saturation), hn::Sub(one, to_double(part)))));
  const auto is = [&](int n) HWY_ATTR { return hn::Eq(sextant, hn::Set(kI, n)); };  // 6 is 0 again
  const auto grey = hn::Eq(in.saturation, hn::Zero(kI));
  const auto is1 = is(1), is2 = is(2), is3 = is(3), is4 = is(4), is5 = is(5);
  red = hn::IfThenElse(is1, q, hn::IfThenElse(hn::Or(is2, is3), p, hn::IfThenElse(is4, t, v)));
  green = hn::IfThenElse(hn::Or(is1, is2), v,
                         hn::IfThenElse(is3, q, hn::IfThenElse(hn::Or(is4, is5), p, t)));
  blue = hn::IfThenElse(is2, t, hn::IfThenElse(hn::Or(is3, is4), v, hn::IfThenElse(is5, q, p)));
  red = hn::IfThenElse(grey, v, red);
  green = hn::IfThenElse(grey, v, green);
  blue = hn::IfThenElse(grey, v, blue);
}

void Hue(const Pixels& image, int turn) {
  const int64_t pixels = static_cast<int64_t>(image.height) * image.width;
  const VI by = hn::Set(kI, turn), byte = hn::Set(kI, 255);
  int64_t i = 0;
  for (; i + kLanes <= pixels; i += kLanes) {
    uint8_t* at = image.data + i * kChannels;
    alignas(64) uint8_t channels[kChannels][16];
    for (int k = 0; k < kLanes; ++k)
      for (int c = 0; c < kChannels; ++c) channels[c][k] = at[k * kChannels + c];
    const auto load = [&](int c) HWY_ATTR { return hn::PromoteTo(kI, hn::Load(kB, channels[c])); };
    Colours colours = to_colours(load(0), load(1), load(2));
    colours.hue = hn::And(hn::Add(colours.hue, by), byte);
    VI red, green, blue;
    to_pixels(colours, red, green, blue);
    const VI joined = hn::Or(red, hn::Or(hn::ShiftLeft<8>(green), hn::ShiftLeft<16>(blue)));
    alignas(64) int32_t lanes[kLanes];
    hn::Store(joined, kI, lanes);
    for (int k = 0; k < kLanes; ++k) std::memcpy(at + k * kChannels, &lanes[k], kChannels);
  }
  for (; i < pixels; ++i) turn_hue(image.data + i * kChannels, turn, image.data + i * kChannels);
}

#endif  // FL_NO_VECTORS
}  // namespace fl::augment::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fl::augment::tuned {

HWY_EXPORT(Hue);

void hue(const Pixels& image, int turn) { HWY_DYNAMIC_DISPATCH(Hue)(image, turn); }

}  // namespace fl::augment::tuned
#endif
