// The free list: capacities are rounded to four steps per power of two, so that buffers fit the
// next samples.
//
// A buffer may outlive its pool, since it keeps the list alive. Thread-safe: samples are read by
// one thread and their bytes given back by another.
#include "engine/buffers.h"

#include <bit>
#include <cstring>

#include "base/image.h"

namespace fl {
namespace {

constexpr size_t kSmallest = 16 << 10;       // bytes
constexpr size_t kKept = size_t{256} << 20;  // bytes that may wait for the next batch

size_t round_up(size_t bytes) {
  if (bytes <= kSmallest) return kSmallest;
  const size_t step = std::bit_floor(bytes) / 4;
  return (bytes + step - 1) / step * step;
}

}  // namespace

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this == &other) return *this;
  give_back();
  home_ = std::move(other.home_);
  memory_ = std::move(other.memory_);
  capacity_ = other.capacity_;
  size_ = other.size_;
  return *this;
}

Buffer::~Buffer() { give_back(); }

void Buffer::give_back() noexcept {
  if (home_ != nullptr && memory_ != nullptr) home_->take_back(std::move(memory_), capacity_);
}

// The padding is zeroed each time: decoders may read it, and must not see what was there.
Buffer BufferList::lend(size_t size) {
  const size_t capacity = round_up(size + kPadding);
  Memory memory;
  {
    const std::lock_guard lock(mutex_);
    const auto found = free_.find(capacity);
    if (found != free_.end() && !found->second.empty()) {
      memory = std::move(found->second.back());
      found->second.pop_back();
      free_bytes_ -= capacity;
    }
  }
  if (memory == nullptr) memory = allocate(capacity);
  only(memory.get(), size + kPadding, capacity);
  std::memset(memory.get() + size, 0, kPadding);
  Buffer buffer(shared_from_this(), std::move(memory), capacity);
  buffer.set_size(size);
  return buffer;
}

void BufferList::take_back(Memory memory, size_t capacity) noexcept {
  const std::lock_guard lock(mutex_);
  if (free_bytes_ + capacity > kKept) return;  // freed
  try {
    free_[capacity].push_back(std::move(memory));
    free_bytes_ += capacity;
  } catch (const std::bad_alloc&) {  // freed
  }
}

}  // namespace fl
