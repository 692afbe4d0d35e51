// Stuffed bytes are frequent (one in 300) and markers are not: four vectors are compared before
// anything branches.
//
// Reads up to four vectors and one byte from `at` on, never past `end`. What is left, and where a
// marker was seen, the scalar loop decides.
#include "jpeg/markers.h"

#include <cstring>

#include "simd/vectors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "jpeg/markers.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "simd/vector_ops.h"

HWY_BEFORE_NAMESPACE();
namespace fl::jpeg::HWY_NAMESPACE {
#if FL_NO_VECTORS

const uint8_t* NextMarker(const uint8_t* at, const uint8_t* end) {
  return scalar::next_marker(at, end);
}

#else

using namespace fl::HWY_NAMESPACE;

// Not 0 where a marker begins: the bytes from `at` on that are 0xFF, each but for a 0 behind it.
HWY_INLINE V8 markers(const uint8_t* at) {
  const auto stuffed = hn::Eq(hn::LoadU(kD8, at + 1), hn::Zero(kD8));
  return hn::AndNot(hn::VecFromMask(kD8, stuffed),
                    hn::VecFromMask(kD8, hn::Eq(hn::LoadU(kD8, at), hn::Set(kD8, 0xFF))));
}

const uint8_t* NextMarker(const uint8_t* at, const uint8_t* end) {
  constexpr ptrdiff_t kBytes = hn::MaxLanes(kD8), kStep = 4 * kBytes;
  while (end - at > kStep) {
    const V8 low = hn::Or(markers(at), markers(at + kBytes));
    const V8 high = hn::Or(markers(at + 2 * kBytes), markers(at + 3 * kBytes));
    if (!hn::AllTrue(kD8, hn::Eq(hn::Or(low, high), hn::Zero(kD8)))) break;
    at += kStep;
  }
  return scalar::next_marker(at, end);
}

#endif  // FL_NO_VECTORS
}  // namespace fl::jpeg::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fl::jpeg {

const uint8_t* scalar::next_marker(const uint8_t* at, const uint8_t* end) {
  while (end - at >= 2) {
    const void* found = std::memchr(at, 0xFF, static_cast<size_t>(end - at - 1));
    if (found == nullptr) break;
    at = static_cast<const uint8_t*>(found);
    if (at[1] != 0) return at;
    at += 2;
  }
  return end;
}

namespace tuned {

HWY_EXPORT(NextMarker);

const uint8_t* next_marker(const uint8_t* at, const uint8_t* end) {
  return HWY_DYNAMIC_DISPATCH(NextMarker)(at, end);
}

}  // namespace tuned
}  // namespace fl::jpeg
#endif
