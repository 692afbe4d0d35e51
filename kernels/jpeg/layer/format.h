// What the writer and the readers of a coefficient layer share: fields, and numbers packed bit by
// bit.
//
//   byte  0 "FLCL" · 4 u16 version · 6 u16 MCU rows
//         8 u64 size of the JPEG · 16 u64 XXH3 of the JPEG
//        24 u32 bytes of the header, which follows: the JPEG's own markers up to its scan, without
//           those that say nothing of the picture
//        28 header
//           per MCU row: u64 XXH3 of its bytes · u32 where it ends, from the first row on
//           u64 XXH3 of all before
//           rows
//
// A row has, for each component and each of its block rows, runs of kRun blocks from left to right
// (the last one is shorter): first the u16 lengths of all runs, then the runs. A run has
//
//   i16 DC of the first block · u8 width · steps to the DC of each next one
//   u8 per block: widths of its values, of the first kFirst (low 4 bits) and of the others
//   u8 per two blocks: bytes of each one's mask (first one low)
//   masks: bit k: coefficient k + 1 in zigzag order is not zero; zeros at the end are left out
//   values of each block, those of the others from a whole byte on
//
// A packed number of w bits has its sign on top and below it the rest: n of a value n + 1, or
// -(n + 1) with the sign; n of a step n, or -n - 1. Groups begin and end at whole bytes, lowest
// bits first. All numbers little-endian.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "jpeg/frame.h"

namespace fl::jpeg::layer {

constexpr char kMagic[] = "FLCL";
constexpr int kVersion = 3;  // 1, 2: also of files that decoders must ask others about
constexpr size_t kFixed = 28, kRowEntry = 12, kSeal = 8;  // bytes
constexpr size_t kRowHash = 8;                            // of an entry: what comes first

constexpr int kRun = 16;                 // blocks
constexpr int kFirst = 8;                // values with a width of their own
constexpr int kDcHead = 3, kLength = 2;  // bytes

// A number with this many bits is found in two bytes wherever its group's neighbours put it.
constexpr bool is_width(int bits) { return (bits >= 0 && bits <= 10) || bits == 12; }
constexpr int kMostWidth = 12;
constexpr int kMostMask = 8;  // bytes

constexpr int bytes_of(int numbers, int width) { return (numbers * width + 7) / 8; }

// Of a block: values that are not zero, behind the DC.
constexpr int value_bytes(int count, int first_width, int other_width) {
  return count <= kFirst ? bytes_of(count, first_width)
                         : first_width + bytes_of(count - kFirst, other_width);
}

// What decoding a run may read behind its end.
constexpr size_t kOverread = 256;  // bytes

inline uint64_t u64_at(const uint8_t* from) {
  uint64_t out = 0;
  for (int n = 0; n < 8; ++n) out |= uint64_t{from[n]} << 8 * n;
  return out;
}

constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

// Blocks of a component in one block row.
inline int blocks_across(const Frame& frame, const Component& part) {
  return frame.mcu_columns * part.h;
}

// Of one MCU row.
inline int runs_of(const Frame& frame) {
  int runs = 0;
  for (int c = 0; c < frame.components; ++c) {
    const Component& part = frame.component[c];
    runs += part.v * ceil_div(blocks_across(frame, part), kRun);
  }
  return runs;
}

}  // namespace fl::jpeg::layer
