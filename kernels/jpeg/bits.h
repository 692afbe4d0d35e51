// The bits of the coded bytes without their stuffing, for code that takes symbol after symbol.
// Reads 8 bytes at a time from wherever the next bit is, so up to 7 bytes past the last one that
// counts: callers keep kOverrun bytes behind their data (entropy.h).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace fl::jpeg {

// 8 bytes, the first one lowest.
inline uint64_t load_little_endian(const uint8_t* from) {
  uint64_t value;
  std::memcpy(&value, from, sizeof value);
  return std::endian::native == std::endian::little ? value : __builtin_bswap64(value);
}

// 8 bytes, the first one on top.
inline uint64_t load_big_endian(const uint8_t* from) {
  return __builtin_bswap64(load_little_endian(from));
}

// More bits are added without waiting for the position of the next symbol. A refill does not depend
// on how many bits have been taken but through one shift (Fabian Giesen, "Reading bits in far too
// many ways", part 2, 2018, variant 4).
struct Window {
  const uint8_t* next = nullptr;  // byte that is not in it, or only in part
  uint64_t bits = 0;              // the next one on top
  uint64_t count = 0;             // how many are valid

  Window() = default;
  Window(const uint8_t* coded, uint64_t bit) : next(coded + (bit >> 3)) {
    fill();
    take(bit & 7);
  }
  void fill() {  // to 56 bits or more
    bits |= load_big_endian(next) >> count;
    next += (63 - count) >> 3;
    count |= 56;
  }
  void take(uint64_t length) {
    bits <<= length & 63;
    count -= length;
  }
  uint64_t bit(const uint8_t* coded) const {
    return 8 * static_cast<uint64_t>(next - coded) - count;
  }
};

}  // namespace fl::jpeg
