// Bits that are missing before a marker count as zeros in libjpeg, which warns; here they are
// damage. So zeros follow the last byte, and the position tells whether some of them were taken.
#include "jpeg/progressive_feed.h"

#include <algorithm>

#include "jpeg/unstuff.h"

namespace fl::jpeg {
namespace {

constexpr size_t kRoom = 64 << 10;  // bytes
// What one block may need, and what a window reads ahead of the next bit
constexpr size_t kSpare = kBlockBits / 8 + 64;

}  // namespace

Feed::Feed(Scratch& memory, cpu::Target target)
    : target_(target), memory_(memory.reserve(kRoom + 2 * kSpare)) {}

void Feed::start(Bytes bytes, size_t begin, size_t end) {
  file_ = bytes.data();
  in_ = file_ + begin;
  end_ = file_ + end;
  filled_ = 0;
  ended_ = false;
  std::fill_n(memory_, sizeof(uint64_t), uint8_t{0});
  window = Window(memory_, 0);
  refill();
}

bool Feed::refill() {
  const uint64_t bit = window.bit(memory_);
  if (ended_) return bit <= 8 * filled_;
  const auto used = static_cast<size_t>(bit >> 3);
  std::copy(memory_ + used, memory_ + filled_, memory_);
  filled_ -= used;
  const Unstuffed got = unstuff(in_, end_, end_, memory_ + filled_, kRoom - filled_, target_);
  in_ = got.in;
  filled_ = static_cast<size_t>(got.out - memory_);
  ended_ = got.ended;
  std::fill_n(memory_ + filled_, 2 * kSpare, uint8_t{0});
  guard_ = memory_ + (ended_ ? filled_ : filled_ - kSpare);
  window = Window(memory_, bit & 7);
  return true;
}

bool Feed::ends() {
  refill();
  return ended_ && window.bit(memory_) <= 8 * filled_ && 8 * filled_ - window.bit(memory_) < 8;
}

}  // namespace fl::jpeg
