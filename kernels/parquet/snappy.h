// Snappy's raw format: a sequence of literals and of copies of what has been unpacked already.
//
// Source: google/snappy, format_description.txt. Nothing outside the bytes is touched, whatever
// they say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fl::snappy {

using Bytes = std::span<const uint8_t>;

// Some elements one after the other, as far as they have to be known to begin in the middle.
struct Mark {
  uint32_t out;      // where their bytes begin, unpacked
  uint32_t in;       // and packed
  uint32_t lowest;   // the first unpacked byte that one of their copies takes; `out` without copies
  uint32_t literal;  // of one literal alone: bytes before its own, in the packed data; else 0
};

// The unpacked size that the data begin with, in `size`. Bytes that it takes; 0: it is damaged.
size_t unpacked_size(Bytes packed, uint64_t& size);

// Unpacks elements until `out` is full; the last one may go on. False: they end before, or one
// copies what is not there. marks: takes their marks, where they are wanted. Both sides have at
// most 4 GiB.
bool unpack(Bytes packed, std::span<uint8_t> out, std::vector<Mark>* marks = nullptr);

// Where some of the unpacked bytes are.
struct Place {
  int64_t start;   // of the first element that is needed, packed; if plain, of the bytes themselves
  int64_t length;  // packed bytes up to the last one needed
  int64_t skip;    // unpacked bytes before the first one wanted
  bool plain;      // they stand in one literal as they are
};

// Of `size` > 0 unpacked bytes from `at` on. marks: of all elements; packed: their bytes. What is
// unpacked from `start` on needs nothing from before.
Place place(const std::vector<Mark>& marks, int64_t packed, int64_t at, int64_t size);

}  // namespace fl::snappy
