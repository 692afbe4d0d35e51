// For builds with AddressSanitizer: marks memory that nobody may touch.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SANITIZE_ADDRESS__)
#define FL_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FL_ADDRESS_SANITIZER 1
#endif
#endif

#ifdef FL_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace fl {

// Of memory that is used again and again, only the first `bytes` count now. Reused memory has no
// end of its own that the sanitizer would guard: without this, reading an older image behind a
// smaller one would pass unseen.
inline void only([[maybe_unused]] const uint8_t* memory, [[maybe_unused]] size_t bytes,
                 [[maybe_unused]] size_t capacity) {
#ifdef FL_ADDRESS_SANITIZER
  ASAN_UNPOISON_MEMORY_REGION(memory, bytes);
  ASAN_POISON_MEMORY_REGION(memory + bytes, capacity - bytes);
#endif
}

}  // namespace fl
