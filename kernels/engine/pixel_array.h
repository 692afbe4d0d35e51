// Images that a program holds in memory as pixels, read as if they lay in a file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace fl {

// uint8 [N, H, W, 3] of any strides: planes, an array turned round, one channel three times. As a
// file it has the images one after the other, each row by row, R G B. Thread-safe where nobody
// writes; whoever does changes what later reads see, as in the array itself.
class PixelArray {
 public:
  struct Shape {
    int64_t count, height, width;
  };
  // strides: bytes. owner: keeps the memory.
  PixelArray(const uint8_t* data, const Shape& shape, const std::array<int64_t, 4>& strides,
             std::shared_ptr<const void> owner);

  int64_t size() const { return shape_.count * shape_.height * shape_.width * 3; }  // bytes
  // Needs a range inside.
  void read(int64_t offset, int64_t size, uint8_t* out) const;
  // The bytes of such a range, where they lie as they are read; else null
  const uint8_t* bytes(int64_t offset) const { return as_read_ ? data_ + offset : nullptr; }

 private:
  void copy(const uint8_t* from, int64_t pixels, uint8_t* out) const;

  const uint8_t* data_;
  Shape shape_;
  std::array<int64_t, 4> strides_;
  bool as_read_;      // in memory as in the file
  bool rows_follow_;  // the px after a row's last one is the first one of the next row
  std::shared_ptr<const void> owner_;
};

}  // namespace fl
