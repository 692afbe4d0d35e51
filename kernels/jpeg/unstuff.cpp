// A vector of bytes is copied before anybody knows whether there is a 0xFF in it: what stands
// behind that one is written again.
//
// Reads: whole vectors within [in, stop), and the byte behind a 0xFF if it lies before `end`.
// Writes: whole vectors within [out, out + room). Both ends are exact, so no padding is needed.
#include "jpeg/unstuff.h"

#include <algorithm>
#include <cstring>

#include "simd/vectors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "jpeg/unstuff.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "simd/vector_ops.h"

HWY_BEFORE_NAMESPACE();
namespace fl::jpeg::HWY_NAMESPACE {
#if FL_NO_VECTORS

Unstuffed Unstuff(const uint8_t* in, const uint8_t* stop, const uint8_t* end, uint8_t* out,
                  size_t room) {
  return scalar::unstuff(in, stop, end, out, room);
}

size_t CountStuffed(const uint8_t* bytes, size_t size) {
  return static_cast<size_t>(std::count(bytes, bytes + size, 0xFF));
}

#else

using namespace fl::HWY_NAMESPACE;

Unstuffed Unstuff(const uint8_t* in, const uint8_t* stop, const uint8_t* end, uint8_t* out,
                  size_t room) {
  constexpr ptrdiff_t kBytes = hn::MaxLanes(kD8);
  uint8_t* const full = out + room;
  while (stop - in >= kBytes && full - out >= kBytes) {
    const V8 bytes = hn::LoadU(kD8, in);
    hn::StoreU(bytes, kD8, out);
    const intptr_t stuffed = hn::FindFirstTrue(kD8, hn::Eq(bytes, hn::Set(kD8, 0xFF)));
    if (stuffed < 0) {
      in += kBytes;
      out += kBytes;
      continue;
    }
    in += stuffed;
    out += stuffed;
    if (end - in < 2 || in[1] != 0) return {in, out, true};
    in += 2;
    ++out;
  }
  return scalar::unstuff(in, stop, end, out, static_cast<size_t>(full - out));
}

size_t CountStuffed(const uint8_t* bytes, size_t size) {
  constexpr size_t kBytes = hn::MaxLanes(kD8);
  size_t count = 0;
  for (; size >= kBytes; bytes += kBytes, size -= kBytes)
    count += hn::CountTrue(kD8, hn::Eq(hn::LoadU(kD8, bytes), hn::Set(kD8, 0xFF)));
  return count + static_cast<size_t>(std::count(bytes, bytes + size, 0xFF));
}

#endif  // FL_NO_VECTORS
}  // namespace fl::jpeg::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fl::jpeg {

Unstuffed scalar::unstuff(const uint8_t* in, const uint8_t* stop, const uint8_t* end, uint8_t* out,
                          size_t room) {
  while (in < stop && room > 0) {
    const size_t most =
        static_cast<size_t>(stop - in) < room ? static_cast<size_t>(stop - in) : room;
    const auto* stuffed = static_cast<const uint8_t*>(std::memchr(in, 0xFF, most));
    const size_t plain = stuffed == nullptr ? most : static_cast<size_t>(stuffed - in);
    std::memcpy(out, in, plain);
    in += plain;
    out += plain;
    room -= plain;
    if (stuffed == nullptr) continue;
    if (end - in < 2 || in[1] != 0) return {in, out, true};
    *out++ = 0xFF;
    in += 2;
    --room;
  }
  return {in, out, in >= end};
}

HWY_EXPORT(CountStuffed);
HWY_EXPORT(Unstuff);

size_t count_stuffed(const uint8_t* bytes, size_t size) {
  return HWY_DYNAMIC_DISPATCH(CountStuffed)(bytes, size);
}

namespace tuned {

Unstuffed unstuff(const uint8_t* in, const uint8_t* stop, const uint8_t* end, uint8_t* out,
                  size_t room) {
  return HWY_DYNAMIC_DISPATCH(Unstuff)(in, stop, end, out, room);
}

}  // namespace tuned
}  // namespace fl::jpeg
#endif
