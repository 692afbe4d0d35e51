// The coded bytes of one restart interval, unstuffed window by window, so that a scan of any size
// takes the same memory.
#pragma once

#include "base/scratch.h"
#include "jpeg/bits.h"
#include "jpeg/frame.h"
#include "pixels/resize.h"

namespace fl::jpeg {

class Feed {
 public:
  Feed(Scratch& memory, cpu::Target target);

  // From this byte on, at most up to `end`, where a marker stands.
  void start(Bytes bytes, size_t begin, size_t end);

  // Whoever takes bits works on a copy, whose address nobody takes: so it stays in registers.
  Window window;

  // Before every block, which takes kBlockBits at most. False: more bits were taken than there are.
  bool more(Window& copy) {
    if (__builtin_expect(copy.next <= guard_, 1)) return true;
    window = copy;
    const bool good = refill();
    copy = window;
    return good;
  }

  // Nothing is left but the bits that fill up the last byte, and a marker follows.
  bool ends();
  // Behind `ends`: the byte where the marker stands, or a fill byte before it.
  size_t marker() const { return static_cast<size_t>(in_ - file_); }

 private:
  bool refill();

  const cpu::Target target_;
  uint8_t* const memory_;
  const uint8_t* guard_ = nullptr;  // what stands behind may not be enough for a block
  const uint8_t* file_ = nullptr;
  const uint8_t *in_ = nullptr, *end_ = nullptr;
  size_t filled_ = 0;
  bool ended_ = false;  // at a marker
};

// Of one block, at most: 63 codes of 16 bits with values of 10, or 63 with signs and corrections;
// of an MCU of DC 10 codes with 11 bits.
constexpr int kBlockBits = 63 * 26;

}  // namespace fl::jpeg
