// A block of threads and its memory without a GPU; for test modules only.
//
// Threads take their turns in a given order, each to the phase's end. A phase in which one thread
// reads what another writes gives other results in another order, and that is how tests find it.
// Memory is full of junk at first, so what is read before it is written shows too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>

#include "base/sanitizer.h"

namespace fl::block {

// One thread after the other.
struct EmulatedThreads {
  const int32_t* order;  // which thread's turn it is
  int count;

  template <class Phase>
  void operator()(const Phase& phase) const {
    for (int i = 0; i < count; ++i) phase(order[i], count);
  }
};

constexpr uint8_t kJunk = 0xA5;
#ifdef FL_ADDRESS_SANITIZER
constexpr size_t kGuard = 0;  // the sanitizer sees reads too
#else
constexpr size_t kGuard = 64;  // bytes behind each memory that nobody may touch
#endif

// Memory full of junk, aligned as CUDA's allocations are, with a guard behind it.
class Guarded {
 public:
  explicit Guarded(int64_t bytes) : size_(bytes), memory_(new(kAlign) uint8_t[bytes + kGuard]) {
    std::fill_n(memory_.get(), bytes + kGuard, kJunk);
  }

  uint8_t* data() const { return memory_.get(); }

  void check(const std::string& name) const {
    if (!std::all_of(data() + size_, data() + size_ + kGuard, [](uint8_t v) { return v == kJunk; }))
      throw std::runtime_error("emulate: written behind the end of " + name);
  }

 private:
  static constexpr std::align_val_t kAlign{256};
  struct Free {
    void operator()(uint8_t* memory) const { operator delete[](memory, kAlign); }
  };

  int64_t size_;
  std::unique_ptr<uint8_t[], Free> memory_;
};

}  // namespace fl::block
