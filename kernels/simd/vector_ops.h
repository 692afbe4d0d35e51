// What the tuned files share, for each instruction set: include it after Highway's headers.
//
// Where Highway says AVX3, this project also asks for VNNI and VBMI (Intel since Ice Lake, AMD
// since Zen 4): multiply-adds in one step, and bytes moved anywhere in 64. Older machines with
// AVX-512 use AVX2 (targets.cpp sees to it).
#if defined(FL_CPU_VECTOR_OPS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef FL_CPU_VECTOR_OPS_H
#undef FL_CPU_VECTOR_OPS_H
#else
#define FL_CPU_VECTOR_OPS_H
#endif

#include "hwy/highway.h"

#undef FL_BYTE_VECTORS
#define FL_BYTE_VECTORS (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3)
#if HWY_TARGET == HWY_AVX3
#undef HWY_TARGET_STR
#define HWY_TARGET_STR HWY_TARGET_STR_AVX3 ",avx512vnni,avx512vbmi"
#endif

HWY_BEFORE_NAMESPACE();
namespace fl::HWY_NAMESPACE {
#if !FL_NO_VECTORS
namespace hn = hwy::HWY_NAMESPACE;

constexpr hn::ScalableTag<uint8_t> kD8;
constexpr hn::ScalableTag<int16_t> kD16;
constexpr hn::ScalableTag<int32_t> kD32;
using V8 = hn::Vec<decltype(kD8)>;
using V16 = hn::Vec<decltype(kD16)>;
using V32 = hn::Vec<decltype(kD32)>;

// sum + the two products of each lane of 32 bits. odd: what NEON's multiply-add leaves in a second
// vector. With VNNI the multiply-add and the sum are one instruction. Exact modulo 2^32.
HWY_INLINE V32 add_products(V16 a, V16 b, V32 sum, V32& odd) {
#if FL_BYTE_VECTORS
  return V32{_mm512_dpwssd_epi32(sum.raw, a.raw, b.raw)};
#else
  return hn::ReorderWidenMulAccumulate(kD32, a, b, sum, odd);
#endif
}

// What add_products() begins with, so that RearrangeToOddPlusEven() gives `start` more. On Arm each
// of its lanes is two that follow each other, in `sum` or in `odd`.
HWY_INLINE V32 begin_sum(int32_t start, V32& odd) {
#if HWY_ARCH_ARM
  odd = hn::BitCast(kD32, hn::Set(hn::ScalableTag<uint64_t>(), static_cast<uint32_t>(start)));
  return odd;
#else
  odd = hn::Zero(kD32);
  return hn::Set(kD32, start);
#endif
}

// Clips to 0..255: in every 16 bytes, 8 values of a, then 8 of b. Highway 1.0 has no such
// operation.
HWY_INLINE V8 pack_bytes(V16 a, V16 b) {
#if HWY_MAX_BYTES >= 64
  return V8{_mm512_packus_epi16(a.raw, b.raw)};
#elif HWY_MAX_BYTES >= 32
  return V8{_mm256_packus_epi16(a.raw, b.raw)};
#elif HWY_ARCH_X86
  return V8{_mm_packus_epi16(a.raw, b.raw)};
#else
  const hn::Half<decltype(kD8)> half;
  return hn::Combine(kD8, hn::DemoteTo(half, b), hn::DemoteTo(half, a));
#endif
}

#endif
}  // namespace fl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
