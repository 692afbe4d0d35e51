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
