// The Gaussian blur in vector code (Highway), bit-equal to the scalar passes: the same sums in the
// same order.
//
// A float sum depends on its order. Here lanes are different values, each summed over k from 0 on,
// with a multiplication and an addition that round apart: the scalar loop's bits.
#include <algorithm>

#include "augment/tuned.h"
#include "body/augment_blur.h"
#include "simd/vectors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "augment/tuned_blur.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace fl::augment::HWY_NAMESPACE {
#if FL_NO_VECTORS

void BlurImage(const Image& in, const Blur& how, Scratch& rows, const Pixels& out) {
  scalar_passes.blur(in, how, rows, out);
}

#else
namespace hn = hwy::HWY_NAMESPACE;

constexpr hn::ScalableTag<float> kFloat;
constexpr int kFloats = static_cast<int>(hn::MaxLanes(kFloat));

// values[i] = sum over k of weights[k] * taps[k][i], k rising.
template <class Taps>
HWY_INLINE void weigh(const std::vector<float>& weights, int count, float* values,
                      const Taps& taps) {
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
  float* blurred =
      reinterpret_cast<float*>(rows.reserve(sizeof(float) * (line * (in.height + 1) + wide)));
  float *sums = blurred + line * in.height, *padded = sums + line;
  std::fill_n(padded, wide, 0.0f);
  for (int y = 0; y < in.height; ++y) {
    for (int x = -across; x < in.width + across; ++x)
      for (int c = 0; c < kChannels; ++c)
        padded[(x + across) * kChannels + c] = in.row(y)[mirrored(x, in.width) * kChannels + c];
    weigh(how.across, bytes, blurred + y * line, [&](int k) { return padded + k * kChannels; });
  }
  for (int y = 0; y < in.height; ++y) {
    weigh(how.down, bytes, sums,
          [&](int k) { return blurred + mirrored(y + k - down, in.height) * line; });
    for (int i = 0; i < bytes; ++i) out.row(y)[i] = round_to_byte(sums[i]);
  }
}

#endif  // FL_NO_VECTORS
}  // namespace fl::augment::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fl::augment::tuned {

HWY_EXPORT(BlurImage);

void blur(const Image& in, const Blur& how, Scratch& rows, const Pixels& out) {
  HWY_DYNAMIC_DISPATCH(BlurImage)(in, how, rows, out);
}

}  // namespace fl::augment::tuned
#endif
