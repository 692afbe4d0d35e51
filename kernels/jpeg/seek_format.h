// Fields of the seek index that its writer and its reader share; the layout is told in seek.h.
#pragma once

#include <cstdint>
#include <numeric>

#include "jpeg/frame.h"

namespace fl::jpeg::seek {

constexpr char kMagic[] = "FLSI";
constexpr int kVersion = 2;
constexpr size_t kHeader = 45, kSeal = 8;                                 // bytes
constexpr int kMaxBitWidth = 40, kMaxLengthWidth = 32, kMaxDcWidth = 16;  // bits

// Packed numbers of one row, and of the scan's end.
struct Widths {
  int bit = 0, length = 0;
  std::array<int, kMaxComponents> dc{};

  int dc_bits(int components) const {
    return std::accumulate(dc.begin(), dc.begin() + components, 0);
  }
  int start_bits(int components) const { return bit + dc_bits(components); }
  int entry_bits(int components) const { return length + dc_bits(components); }
};

// Checkpoints of a row, its start included.
inline int entries_per_row(int columns, int step) {
  return step == 0 ? 1 : (columns + step - 1) / step;
}

uint64_t hash(Bytes bytes);  // XXH3

}  // namespace fl::jpeg::seek
