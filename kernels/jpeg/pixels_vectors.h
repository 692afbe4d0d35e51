// Vector types and short steps that the tuned pixel files share. Built once per instruction set, as
// Highway asks.
#if defined(FL_JPEG_PIXELS_VECTORS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef FL_JPEG_PIXELS_VECTORS_H
#undef FL_JPEG_PIXELS_VECTORS_H
#else
#define FL_JPEG_PIXELS_VECTORS_H
#endif

#include "simd/vector_ops.h"

HWY_BEFORE_NAMESPACE();
namespace fl::jpeg::HWY_NAMESPACE {
#if !FL_NO_VECTORS

using namespace fl::HWY_NAMESPACE;

constexpr hn::ScalableTag<uint64_t> kD64;
constexpr int kBytes = static_cast<int>(hn::MaxLanes(kD8));

// Two 16-bit constants in every lane of 32 bits.
HWY_INLINE V16 constants(int first, int second) {
  const uint32_t both =
      (static_cast<uint32_t>(second) << 16) | (static_cast<uint32_t>(first) & 0xFFFF);
  return hn::BitCast(kD16, hn::Set(kD32, static_cast<int32_t>(both)));
}

#endif
}  // namespace fl::jpeg::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
