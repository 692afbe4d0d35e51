// Compiled for AVX-512 (kernels.cmake). Nothing is included whose functions other files may share:
// the linker could choose these, which not every machine can run.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "simd/hash_wide.h"

namespace fl {

uint64_t xxh3_avx512(const uint8_t* bytes, size_t size) { return XXH3_64bits(bytes, size); }

}  // namespace fl
