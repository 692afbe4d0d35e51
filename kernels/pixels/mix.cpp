// Mixing on the CPU: the weights go into one table per image, so that a mixed value is two lookups
// and a sum; sums are rounded to the type by vectors. What is erased is rare: there the
// specification itself writes over what is done.
//
// Bit-equal to body/mix.h: the tables hold the rounded products, the sum of two is rounded to
// float32, and rounding to the type is either the specification's own function or one instruction
// that also rounds half to even.
#include "pixels/mix.h"

#include "simd/vectors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixels/mix.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace fl::cpu::HWY_NAMESPACE {

template <class Type>
void round_rest(const float* sums, int64_t from, int64_t count, typename Type::Bits* out) {
  for (int64_t i = from; i < count; ++i) out[i] = Type::round(sums[i]);
}

#if FL_NO_VECTORS
void ToUint8(const float* sums, int64_t count, uint8_t* out) {
  round_rest<Uint8>(sums, 0, count, out);
}
void ToFloat16(const float* sums, int64_t count, uint16_t* out) {
  round_rest<Float16>(sums, 0, count, out);
}
void ToBfloat16(const float* sums, int64_t count, uint16_t* out) {
  round_rest<Bfloat16>(sums, 0, count, out);
}
int64_t BlendBytes(const uint8_t*, const uint8_t*, float, float, int64_t, uint8_t*) { return 0; }
#else
namespace hn = hwy::HWY_NAMESPACE;

// Sums lie in 0..255, so there is nothing to clip; the vector rounds half to even, as rintf.
void ToUint8(const float* sums, int64_t count, uint8_t* out) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<uint8_t, decltype(d)> bytes;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::DemoteTo(bytes, hn::NearestInt(hn::LoadU(d, sums + i))), bytes, out + i);
  round_rest<Uint8>(sums, i, count, out);
}

void ToFloat16(const float* sums, int64_t count, uint16_t* out) {
  int64_t i = 0;
#if (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2) || HWY_ARCH_ARM_A64  // one instruction there
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> half;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::DemoteTo(half, hn::LoadU(d, sums + i)), half,
               reinterpret_cast<hwy::float16_t*>(out + i));
#endif
  round_rest<Float16>(sums, i, count, out);
}

void ToBfloat16(const float* sums, int64_t count, uint16_t* out) {
  round_rest<Bfloat16>(sums, 0, count, out);
}

// Values that no table changes; returns how many whole vectors covered.
int64_t BlendBytes(const uint8_t* own, const uint8_t* other, float of_own, float of_other,
                   int64_t count, uint8_t* out) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<int32_t, decltype(d)> whole;
  const hn::Rebind<uint8_t, decltype(d)> bytes;
  const auto a = hn::Set(d, of_own), b = hn::Set(d, of_other);
  const auto load = [&](const uint8_t* from) HWY_ATTR {
    return hn::ConvertTo(d, hn::PromoteTo(whole, hn::LoadU(bytes, from)));
  };
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto sum = hn::Add(hn::Mul(load(own + i), a), hn::Mul(load(other + i), b));
    hn::StoreU(hn::DemoteTo(bytes, hn::NearestInt(sum)), bytes, out + i);
  }
  return i;
}
#endif

}  // namespace fl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fl::cpu {
namespace {

HWY_EXPORT(ToUint8);
HWY_EXPORT(ToFloat16);
HWY_EXPORT(ToBfloat16);
HWY_EXPORT(BlendBytes);

constexpr int kTable = 3 * 256;

void round_row(const float* sums, int64_t count, uint8_t* out, Uint8) {
  HWY_DYNAMIC_DISPATCH(ToUint8)(sums, count, out);
}
void round_row(const float* sums, int64_t count, uint16_t* out, Float16) {
  HWY_DYNAMIC_DISPATCH(ToFloat16)(sums, count, out);
}
void round_row(const float* sums, int64_t count, uint16_t* out, Bfloat16) {
  HWY_DYNAMIC_DISPATCH(ToBfloat16)(sums, count, out);
}

// What each value of the image and of its partner adds to a sum.
struct Weighed {
  float own[kTable], other[kTable];

  template <class Type>
  explicit Weighed(const Mix<Type>& how) {
    for (int i = 0; i < kTable; ++i) {
      const float value = how.table ? Type::load(how.table[i])
                                    : static_cast<float>(i % 256);  // no table: bytes as they are
      own[i] = value * how.how.own;
      other[i] = value * how.how.other;
    }
  }
};

// Sums of a run of pixels. kStep 3: out [count, 3]; 1: three planes, `plane` values apart.
template <int kStep>
void sum_row(const Weighed& by, const uint8_t* __restrict a, const uint8_t* __restrict b,
             int64_t count, int64_t plane, float* __restrict out) {
  float *red = out, *green = out + (kStep == 3 ? 1 : plane),
        *blue = out + (kStep == 3 ? 2 : 2 * plane);
  for (int64_t i = 0; i < count; ++i) {
    red[kStep * i] = by.own[a[3 * i]] + by.other[b[3 * i]];
    green[kStep * i] = by.own[256 + a[3 * i + 1]] + by.other[256 + b[3 * i + 1]];
    blue[kStep * i] = by.own[512 + a[3 * i + 2]] + by.other[512 + b[3 * i + 2]];
  }
}

// Row by row through a line of sums in float32; where float32 is what is stored, straight into the
// output.
template <class Type>
void blend(const Mix<Type>& how, Scratch& scratch) {
  const Weighed by(how);
  const int64_t width = how.width;
  const auto sum = [&](int64_t at, int64_t plane, float* to) {
    const uint8_t *a = how.own.pixels + at * 3, *b = how.other.pixels + at * 3;
    how.channels_last ? sum_row<3>(by, a, b, width, plane, to)
                      : sum_row<1>(by, a, b, width, plane, to);
  };
  if constexpr (sizeof(typename Type::Bits) == sizeof(float)) {
    auto* out = reinterpret_cast<float*>(how.out);
    for (int64_t at = 0; at < how.pixels; at += width)
      sum(at, how.pixels, out + (how.channels_last ? at * 3 : at));
  } else {
    auto* row = reinterpret_cast<float*>(scratch.reserve(3 * width * sizeof(float)));
    for (int64_t at = 0; at < how.pixels; at += width) {
      sum(at, width, row);
      if (how.channels_last) {
        round_row(row, 3 * width, how.out + 3 * at, Type{});
        continue;
      }
      for (int c = 0; c < 3; ++c)
        round_row(row + c * width, width, how.out + c * how.pixels + at, Type{});
    }
  }
}

// Of uint8 that stay in their order no table is needed at all.
bool blend_bytes(const Mix<Uint8>& how) {
  if (how.table != nullptr || !how.channels_last) return false;
  const int64_t count = how.pixels * 3;
  const uint8_t *a = how.own.pixels, *b = how.other.pixels;
  const int64_t done =
      HWY_DYNAMIC_DISPATCH(BlendBytes)(a, b, how.how.own, how.how.other, count, how.out);
  for (int64_t i = done; i < count; ++i)
    how.out[i] = Uint8::round(static_cast<float>(a[i]) * how.how.own +
                              static_cast<float>(b[i]) * how.how.other);
  return true;
}

template <class Type>
bool blend_bytes(const Mix<Type>&) {
  return false;
}

// The partner's box, as it is.
template <class Type>
void paste(const Mix<Type>& how) {
  using Bits = typename Type::Bits;
  const Partner& box = how.how;
  for (int64_t y = box.top; y < box.top + box.height; ++y) {
    const int64_t at = y * how.width + box.left;
    const uint8_t* from = how.other.pixels + at * 3;
    for (int channel = 0; channel < 3; ++channel) {
      const Bits* table = how.table ? how.table + channel * 256 : nullptr;
      const int64_t step = how.channels_last ? 3 : 1;
      Bits* to = how.out + (how.channels_last ? at * 3 + channel : channel * how.pixels + at);
      for (int64_t x = 0; x < box.width; ++x) {
        const uint8_t value = from[3 * x + channel];
        to[step * x] = table ? table[value] : static_cast<Bits>(value);
      }
    }
  }
}

// Every px under an erased box is made again by the specification, of the image's and the partner's
// boxes alike: what is right once is right twice.
template <class Type>
void patch(const Mix<Type>& how, const typename Mix<Type>::Image& image) {
  for (int k = 0; k < image.erased.count; ++k) {
    const int32_t* box = image.erased.boxes + 4 * k;
    for (int64_t y = box[0]; y < box[0] + box[2]; ++y)
      for (int64_t x = box[1]; x < box[1] + box[3]; ++x) how(y * how.width + x);
  }
}

// A weight of 0 for the partner is common (MixUp leaves some samples alone, CutMix all but the
// box): that is a plain STORE.
template <class Type>
void mix_tuned(const Mix<Type>& how, const Format& format, Scratch& scratch) {
  if (how.how.other == 0)
    store({how.own.pixels, how.pixels}, format, how.out, Target::kBest);
  else if (!blend_bytes(how))
    blend(how, scratch);
  paste(how);
  patch(how, how.own);
  patch(how, how.other);
}

}  // namespace

void mix(const Mixture& batch, int64_t n, const Format& format, void* out, Scratch& scratch,
         Target target) {
  const int64_t pixels = batch.height * batch.width;
  const Partner& partner = batch.partners[n];
  with_number(batch.number, [&](auto type) {
    using Type = decltype(type);
    using Bits = typename Type::Bits;
    const auto image = [&](int64_t position) {
      const Erased<Bits> erased{batch.boxes + position * batch.erased * 4,
                                static_cast<const Bits*>(batch.fills), batch.erased};
      return typename Mix<Type>::Image{batch.images + position * pixels * 3, {}, erased};
    };
    const Mix<Type> how{image(n),
                        image(partner.position),
                        static_cast<const Bits*>(format.table),
                        static_cast<Bits*>(out),
                        pixels,
                        batch.width,
                        format.channels_last,
                        partner};
    if (target == Target::kBest) return mix_tuned(how, format, scratch);
    for (int64_t pixel = 0; pixel < pixels; ++pixel) how(pixel);
  });
}

}  // namespace fl::cpu
#endif
