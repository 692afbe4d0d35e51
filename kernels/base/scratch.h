// Aligned memory that a thread reuses from sample to sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "base/sanitizer.h"

namespace fl {

struct Free {
  size_t mapped = 0;  // bytes; 0: of the heap
  void operator()(void* memory) const noexcept;
};

using Memory = std::unique_ptr<uint8_t[], Free>;

// Large memory is the system's own again once it is freed. Throws std::bad_alloc, and leaves
// `room::kMargin`.
Memory allocate(size_t bytes);

// Grows, and never shrinks by itself: after the first images of a run no allocation is left. Not
// thread-safe; each thread has its own.
class Scratch {
 public:
  // At least `bytes`, not initialised; what was there before is lost.
  uint8_t* reserve(size_t bytes) {
    if (bytes > capacity_) {
      memory_.reset();  // first, so that both never exist at the same time
      capacity_ = 0;
      constexpr size_t kLarge = size_t{4} << 20;  // bytes: nothing is taken for later
      const size_t wanted = bytes < kLarge ? bytes + bytes / 4 : bytes;
      memory_ = allocate(wanted);
      capacity_ = wanted;
    }
    only(memory_.get(), bytes, capacity_);
    return memory_.get();
  }

  // One giant image must not hold its memory for the rest of the run.
  void trim(size_t keep) {
    if (capacity_ <= keep) return;
    memory_.reset();
    capacity_ = 0;
  }

  size_t capacity() const { return capacity_; }

 private:
  Memory memory_;
  size_t capacity_ = 0;
};

}  // namespace fl
