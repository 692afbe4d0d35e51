// The weighted sums that both passes of a resize are made of. Built once per instruction set, as
// Highway asks.
//
// A weight has about 22 bits and a sign, a multiplier of the vector units 16. So each weight is
// split: weight = high * 2^11 + low with 0 <= low < 2^11 (pixels/weights_tuned.h, split_pair). The two
// sums are made apart and put together at the end: (high << 11) + low. All of it is exact modulo
// 2^32, so the bits are those of body/resize.h, in whatever order the taps come.
#if defined(FL_CPU_VECTOR_SUMS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef FL_CPU_VECTOR_SUMS_H
#undef FL_CPU_VECTOR_SUMS_H
#else
#define FL_CPU_VECTOR_SUMS_H
#endif

#include "simd/vector_ops.h"

HWY_BEFORE_NAMESPACE();
namespace fl::cpu::HWY_NAMESPACE {
#if !FL_NO_VECTORS
using namespace fl::HWY_NAMESPACE;

constexpr int kLowBits = 11;

// Weighted sums of four values per block, the weights' high and low parts apart.
struct Sums {
  V32 high, low;
  V32 high_odd, low_odd;  // what NEON's multiply-add leaves in a second vector

  HWY_INLINE Sums()  // spelled out: GCC does not give a generated one the target's attributes
      : high(hn::Zero(kD32)), high_odd(hn::Zero(kD32)) {
    low = begin_sum(1 << (kWeightBits - 1), low_odd);
  }

  // values: 0..255, two taps side by side in each lane of 32 bits, and so are the weights.
  HWY_INLINE void add(V16 values, V16 high_weights, V16 low_weights) {
    high = add_products(values, high_weights, high, high_odd);
    low = add_products(values, low_weights, low, low_odd);
  }

  // The low sums have begun with a half, so the shift rounds half up, as Pillow does. Not clipped
  // yet.
  HWY_INLINE V32 rounded() const {
    const V32 upper = hn::ShiftLeft<kLowBits>(hn::RearrangeToOddPlusEven(high, high_odd));
    const V32 lower = hn::RearrangeToOddPlusEven(low, low_odd);
    return hn::ShiftRight<kWeightBits>(hn::Add(upper, lower));
  }
};

HWY_INLINE V16 broadcast(const int32_t* pair) { return hn::BitCast(kD16, hn::Set(kD32, *pair)); }

#endif
}  // namespace fl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
