// Aligned memory that a thread reuses from sample to sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "core/sanitizer.h"

namespace fl {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

using Memory = std::unique_ptr<uint8_t[], Free>;

inline Memory allocate(size_t bytes) {
  constexpr size_t kAlign = 64;  // one cache line
  void* memory = std::aligned_alloc(kAlign, (bytes + kAlign - 1) / kAlign * kAlign);
  if (memory == nullptr) throw std::bad_alloc();
  return Memory(static_cast<uint8_t*>(memory));
}

class Scratch {
 public:
  // At least `bytes`, not initialised; what was there before is lost.
  uint8_t* reserve(size_t bytes) {
    if (bytes > capacity_) {
      memory_.reset();  // first, so that both never exist at the same time
      capacity_ = 0;
      const size_t wanted = bytes + bytes / 4;
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
