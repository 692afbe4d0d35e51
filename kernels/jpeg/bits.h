// The coded bytes without their stuffing: after each 0xFF of the data stands a 0x00 in the file (ITU-T T.81, F.1.2.3);
// and their bits, for who takes them one symbol after the other.
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
inline uint64_t load_big_endian(const uint8_t* from) { return __builtin_bswap64(load_little_endian(from)); }

// More bits are added without waiting for the place of the next symbol.
struct Window {
  const uint8_t* next;  // byte that is not in it, or only in part
  uint64_t bits = 0;    // the next one on top
  uint64_t count = 0;   // how many are valid

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
  uint64_t bit(const uint8_t* coded) const { return 8 * static_cast<uint64_t>(next - coded) - count; }
};

struct Unstuffed {
  const uint8_t* in;   // first byte not taken; after a stuffed 0xFF it is the one behind the 0x00
  uint8_t* out;        // end of what was written
  bool ended = false;  // `in` is at a marker, or at the end of the file
};

// Takes from [in, stop), at most `room` bytes out; `end` is the end of the file, so that the last 0xFF can be judged.
inline Unstuffed unstuff(const uint8_t* in, const uint8_t* stop, const uint8_t* end, uint8_t* out, size_t room) {
  while (in < stop && room > 0) {
    const size_t most = static_cast<size_t>(stop - in) < room ? static_cast<size_t>(stop - in) : room;
    const auto* stuffed = static_cast<const uint8_t*>(std::memchr(in, 0xFF, most));
    const size_t plain = stuffed == nullptr ? most : static_cast<size_t>(stuffed - in);
    std::memcpy(out, in, plain);
    in += plain;
    out += plain;
    room -= plain;
    if (stuffed == nullptr) continue;
    if (end - in < 2 || in[1] != 0) return {in, out, true};
    *out++ = 0xFF;
    in += 2;
    --room;
  }
  return {in, out, in >= end};
}

}  // namespace fl::jpeg
