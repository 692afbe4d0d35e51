// Memory for encoded samples, lent and given back: a batch of 28 MB would otherwise be mapped and
// faulted in each time.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/scratch.h"

namespace fl {

class BufferList;

class Buffer {
 public:
  Buffer() = default;
  Buffer(std::shared_ptr<BufferList> home, Memory memory, size_t capacity)
      : home_(std::move(home)), memory_(std::move(memory)), capacity_(capacity) {}
  Buffer(Buffer&&) = default;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  uint8_t* data() { return memory_.get(); }
  void set_size(size_t size) { size_ = size; }
  std::span<const uint8_t> bytes() const { return {memory_.get(), size_}; }

 private:
  void give_back() noexcept;

  std::shared_ptr<BufferList> home_;
  Memory memory_;
  size_t capacity_ = 0, size_ = 0;  // bytes
};

class BufferList : public std::enable_shared_from_this<BufferList> {
 public:
  // Room for `size` bytes and kPadding more, which are zero.
  Buffer lend(size_t size);

 private:
  friend class Buffer;
  void take_back(Memory memory, size_t capacity) noexcept;

  std::mutex mutex_;
  std::map<size_t, std::vector<Memory>> free_;  // by capacity
  size_t free_bytes_ = 0;
};

}  // namespace fl
