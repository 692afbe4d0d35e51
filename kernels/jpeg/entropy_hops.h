// Lookup tables for who only wants to know where symbols end (entropy_ahead.h): a lane's place is
// one number, and what a lookup adds to it is another.
#pragma once

#include <array>
#include <cstdint>

#include "jpeg/huffman.h"

namespace fl::jpeg {

// Upper half: the offset (huffman.h). Lower half: the bit of the coded bytes.
using Place = uint64_t;

constexpr int kOffsetAt = 32;

constexpr Place place_of(uint64_t offset, uint64_t bit) { return offset << kOffsetAt | bit; }
constexpr uint64_t offset_of(Place place) { return place >> kOffsetAt; }
constexpr uint32_t bit_of(Place place) { return static_cast<uint32_t>(place); }

// A Lookup's entries (huffman.h).
struct alignas(64) Hops {
  uint64_t mask = 0;                          // as a Lookup's, of places
  std::array<uint64_t, 1 << kLookupBits> by;  // their advance, of offsets, and their length
  std::array<uint8_t, 1 << kLookupBits> most;

  void take(const Lookup& lookup);
};

}  // namespace fl::jpeg
