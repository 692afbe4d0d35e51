// Where the memory of images comes from. It asks base/room.h first, so that a process with limits
// fails with std::bad_alloc in a place that handles it, instead of in Python or in Pillow.
#include "base/scratch.h"

#include <sys/mman.h>

#include <cstdlib>

#include "base/room.h"

namespace fl {
namespace {

constexpr size_t kAlign = 64;                // one cache line
constexpr size_t kMapped = size_t{1} << 20;  // bytes

}  // namespace

void Free::operator()(void* memory) const noexcept {
  if (mapped > 0)
    ::munmap(memory, mapped);
  else
    std::free(memory);
}

// Below kMapped: uninitialised memory of the heap. From there on: pages of their own, which the
// system gets back at once when they are freed; in an arena of the allocator they could stay for
// the rest of the run. Neither may be relied on to be zero. Both are aligned to a cache line.
Memory allocate(size_t bytes) {
#ifndef FL_ADDRESS_SANITIZER  // which sees only the heap's ends
  if (bytes >= kMapped) {
    room::admit(bytes);
    void* memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    return Memory(static_cast<uint8_t*>(memory), Free{bytes});
  }
#endif
  room::admit_small(bytes);
  void* memory = std::aligned_alloc(kAlign, (bytes + kAlign - 1) / kAlign * kAlign);
  if (memory == nullptr) throw std::bad_alloc();
  return Memory(static_cast<uint8_t*>(memory));
}

}  // namespace fl
