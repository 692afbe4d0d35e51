// Numbers out of untrusted bytes: a read past the end gives 0 and clears `good`.
//
// Nothing outside the bytes is touched, whatever offset is asked for. `good` never becomes true
// again, so a parser may read several fields and look at it once.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

namespace fl {

class Reader {
 public:
  Reader(std::span<const uint8_t> bytes, bool big_endian)
      : bytes_(bytes), big_endian_(big_endian) {}

  bool good = true;

  uint32_t u8(size_t at) { return number(at, 1); }
  uint32_t u16(size_t at) { return number(at, 2); }
  uint32_t u24(size_t at) { return number(at, 3); }
  uint32_t u32(size_t at) { return number(at, 4); }
  size_t size() const { return bytes_.size(); }

  bool starts_with(const char* magic, size_t length, size_t at = 0) const {
    return at + length <= bytes_.size() && std::memcmp(bytes_.data() + at, magic, length) == 0;
  }

 private:
  uint32_t number(size_t at, size_t length) {
    if (at > bytes_.size() || length > bytes_.size() - at) {
      good = false;
      return 0;
    }
    uint32_t value = 0;
    for (size_t i = 0; i < length; ++i)
      value = value << 8 | bytes_[at + (big_endian_ ? i : length - 1 - i)];
    return value;
  }

  std::span<const uint8_t> bytes_;
  bool big_endian_;
};

}  // namespace fl
