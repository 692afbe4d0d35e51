// XXH3 by the header-only build of xxHash (XXH_INLINE_ALL): its functions are compiled into this
// file, so no library is linked and no symbol can meet another copy of xxHash in the process. Files
// that hash a stream in parts include the header in the same way.
//
// xxHash chooses its instructions when it is compiled. So it is compiled twice more for wider
// vectors (hash_avx2.cpp, hash_avx512.cpp), where the build can: FASTLOAD_WIDE_HASH.
#include "simd/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "simd/hash_wide.h"
#include "simd/vectors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/hash.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace fl::HWY_NAMESPACE {

uint64_t Xxh3(const uint8_t* bytes, size_t size) {
#if defined(FASTLOAD_WIDE_HASH) && HWY_TARGET == HWY_AVX3
  return xxh3_avx512(bytes, size);
#elif defined(FASTLOAD_WIDE_HASH) && HWY_TARGET == HWY_AVX2
  return xxh3_avx2(bytes, size);
#else
  return xxh3_any(bytes, size);
#endif
}

}  // namespace fl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fl {

HWY_EXPORT(Xxh3);

uint64_t xxh3_any(const uint8_t* bytes, size_t size) { return XXH3_64bits(bytes, size); }

uint64_t xxh3(std::span<const uint8_t> bytes) {
  return HWY_DYNAMIC_DISPATCH(Xxh3)(bytes.data(), bytes.size());
}

std::string xxhash_version() {
  return std::to_string(XXH_VERSION_MAJOR) + "." + std::to_string(XXH_VERSION_MINOR) + "." +
         std::to_string(XXH_VERSION_RELEASE);
}

}  // namespace fl
#endif
