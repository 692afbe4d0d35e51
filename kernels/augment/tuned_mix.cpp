// Sums of images in vector code (Highway), bit-equal to body/augment_mix.h. Vectors run into the
// padding.
#include "augment/tuned.h"
#include "simd/vectors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "augment/tuned_mix.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace fl::augment::HWY_NAMESPACE {
#if FL_NO_VECTORS

void Add(const Image& image, float weight, bool first, float* sum) {
  scalar_passes.add(image, weight, first, sum);
}
void Cut(const float* sum, const Pixels& out) { scalar_passes.cut(sum, out); }
void Mix(const Image& start, const float* sum, float weight, const Pixels& out) {
  scalar_passes.mix(start, sum, weight, out);
}
void Blend(const Image& start, float factor, const Pixels& image) {
  scalar_passes.blend(start, factor, image);
}

#else
namespace hn = hwy::HWY_NAMESPACE;

constexpr hn::ScalableTag<float> kFloat;
constexpr hn::RebindToSigned<decltype(kFloat)> kInt;
constexpr hn::Rebind<uint8_t, decltype(kFloat)> kByte;
using VFloat = hn::Vec<decltype(kFloat)>;
using VInt = hn::Vec<decltype(kInt)>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(kFloat));

int64_t values(int height, int width) { return static_cast<int64_t>(height) * width * kChannels; }

HWY_INLINE VInt load(const uint8_t* from) { return hn::PromoteTo(kInt, hn::LoadU(kByte, from)); }

// Clips before it converts, so that what is out of range or no number never reaches the conversion.
HWY_INLINE void store(VFloat value, uint8_t* to) {
  const VFloat clipped = hn::Min(hn::Max(value, hn::Zero(kFloat)), hn::Set(kFloat, 255.0f));
  hn::StoreU(hn::DemoteTo(kByte, hn::ConvertTo(kInt, clipped)), kByte, to);  // cuts off
}

void Add(const Image& image, float weight, bool first, float* sum) {
  const VFloat by = hn::Set(kFloat, weight);
  for (int64_t i = 0, count = values(image.height, image.width); i < count; i += kLanes) {
    const VFloat part = hn::Mul(by, hn::ConvertTo(kFloat, load(image.data + i)));
    hn::Store(first ? part : hn::Add(hn::Load(kFloat, sum + i), part), kFloat, sum + i);
  }
}

void Cut(const float* sum, const Pixels& out) {
  for (int64_t i = 0, count = values(out.height, out.width); i < count; i += kLanes)
    store(hn::Load(kFloat, sum + i), out.data + i);
}

void Mix(const Image& start, const float* sum, float weight, const Pixels& out) {
  const VFloat by = hn::Set(kFloat, weight), kept = hn::Set(kFloat, 1.0f - weight);
  for (int64_t i = 0, count = values(out.height, out.width); i < count; i += kLanes) {
    const VFloat old = hn::Mul(kept, hn::ConvertTo(kFloat, load(start.data + i)));
    store(hn::Add(old, hn::Mul(by, hn::Load(kFloat, sum + i))), out.data + i);
  }
}

void Blend(const Image& start, float factor, const Pixels& image) {
  const VFloat by = hn::Set(kFloat, factor);
  for (int64_t i = 0, count = values(image.height, image.width); i < count; i += kLanes) {
    const VInt from = load(start.data + i), to = load(image.data + i);
    const VFloat scaled = hn::Mul(by, hn::ConvertTo(kFloat, hn::Sub(to, from)));
    store(hn::Add(hn::ConvertTo(kFloat, from), scaled), image.data + i);
  }
}

#endif  // FL_NO_VECTORS
}  // namespace fl::augment::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fl::augment::tuned {

HWY_EXPORT(Add);
HWY_EXPORT(Cut);
HWY_EXPORT(Mix);
HWY_EXPORT(Blend);

void add(const Image& image, float weight, bool first, float* sum) {
  HWY_DYNAMIC_DISPATCH(Add)(image, weight, first, sum);
}
void cut(const float* sum, const Pixels& out) { HWY_DYNAMIC_DISPATCH(Cut)(sum, out); }
void mix(const Image& start, const float* sum, float weight, const Pixels& out) {
  HWY_DYNAMIC_DISPATCH(Mix)(start, sum, weight, out);
}
void blend(const Image& start, float factor, const Pixels& image) {
  HWY_DYNAMIC_DISPATCH(Blend)(start, factor, image);
}

}  // namespace fl::augment::tuned
#endif
