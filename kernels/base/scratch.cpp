// Where the memory of images comes from. It asks base/room.h first, so that a process with limits
// fails with std::bad_alloc in a place that handles it, instead of in Python or in Pillow.
#include "base/scratch.h"

#include "base/room.h"
#include "base/system.h"

namespace fl {
namespace {

constexpr size_t kAlign = 64;                // one cache line
constexpr size_t kMapped = size_t{1} << 20;  // bytes

}  // namespace

void Free::operator()(void* memory) const noexcept {
  if (mapped > 0)
    os::unmap_pages(memory, mapped);
  else
    os::free_heap(memory);
}

// Below kMapped: uninitialised memory of the heap. From there on: pages of their own, which the
// system gets back at once when they are freed; in an arena of the allocator they could stay for
// the rest of the run. Neither may be relied on to be zero. Both are aligned to a cache line.
Memory allocate(size_t bytes) {
#ifndef FL_ADDRESS_SANITIZER  // which sees only the heap's ends
  if (bytes >= kMapped) {
    room::admit(bytes);
    void* memory = os::map_pages(bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return Memory(static_cast<uint8_t*>(memory), Free{bytes});
  }
#endif
  room::admit_small(bytes);
  void* memory = os::heap(kAlign, (bytes + kAlign - 1) / kAlign * kAlign);
  if (memory == nullptr) throw std::bad_alloc();
  return Memory(static_cast<uint8_t*>(memory));
}

}  // namespace fl
