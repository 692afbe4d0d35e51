// XXH3 for each width of vectors. Only hash.cpp may call these, where they can run.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace fl {

uint64_t xxh3_any(const uint8_t* bytes, size_t size);
uint64_t xxh3_avx2(const uint8_t* bytes, size_t size);
uint64_t xxh3_avx512(const uint8_t* bytes, size_t size);

}  // namespace fl
