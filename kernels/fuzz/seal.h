// Seek indexes that are well-formed and wrong: a change is sealed again, so that checksums hide
// nothing from the fuzzer.
#pragma once

#include <algorithm>
#include <vector>

#include "jpeg/region_tiles.h"
#include "jpeg/seek.h"

namespace fl::fuzz {

inline void put(uint8_t* to, uint64_t value, int bytes) {
  for (int n = 0; n < bytes; ++n) to[n] = static_cast<uint8_t>(value >> 8 * n);
}

// XXH3 at the end, as SeekIndex::open checks it.
inline void seal(std::span<uint8_t> index) {
  if (index.size() < jpeg::seek::kSeal) return;
  const size_t end = index.size() - jpeg::seek::kSeal;
  put(&index[end], jpeg::seek::hash(index.first(end)), 8);
}

inline void seal(std::vector<uint8_t>& index) { seal(std::span(index)); }

// Changes two numbers of an index with the six given: for each its offset and what is turned over.
inline void lie(std::vector<uint8_t>& index, const uint8_t* numbers) {
  const size_t records = index.size() - jpeg::seek::kHeader - jpeg::seek::kSeal;
  for (const uint8_t* n : {numbers, numbers + 3}) {
    const size_t at = n[0] + size_t{256} * n[1],
                 first = n[1] >= 128 || records == 0 ? 36 : jpeg::seek::kHeader;
    index[first + at % (index.size() - jpeg::seek::kSeal - first)] ^= n[2];
  }
  seal(index);
}

// Whether the decoder sees each checkpoint in the index that it uses reached from the one before,
// from the scan's start on. Of other regions the first one of each row is believed if the row's end
// fits it, so that lies which agree may pass.
inline bool proved(const jpeg::Frame& frame, const Region& region) {
  const jpeg::Tiles2d tiles = jpeg::tiles_of(frame, region);
  return tiles.top == 0 && tiles.left == 0 && tiles.right == frame.mcu_columns;
}

// Everything that names the file, at least a header long.
inline void claim(std::span<uint8_t> index, jpeg::Bytes file, const jpeg::Frame& frame) {
  std::copy_n(jpeg::seek::kMagic, 4, index.begin());
  index[4] = jpeg::seek::kVersion;
  index[5] = static_cast<uint8_t>(frame.components);
  put(&index[8], static_cast<uint64_t>(frame.mcu_rows), 2);
  put(&index[10], static_cast<uint64_t>(frame.mcu_columns), 2);
  put(&index[12], file.size(), 8);
  put(&index[20], jpeg::seek::hash(file), 8);
  put(&index[28], jpeg::seek::hash(file.first(frame.scan)), 8);
}

// Bytes that an index with this header must have; 0: none. `index` is at least a header long.
inline size_t wanted_size(std::span<const uint8_t> index, const jpeg::Frame& frame) {
  jpeg::seek::Widths widths{index[36], index[37], {index[38], index[39], index[40]}};
  const auto dc = *std::max_element(widths.dc.begin(), widths.dc.end());
  if (widths.bit > jpeg::seek::kMaxBitWidth || widths.length > jpeg::seek::kMaxLengthWidth ||
      dc > jpeg::seek::kMaxDcWidth)
    return 0;
  const int entries = jpeg::seek::entries_per_row(frame.mcu_columns, index[6] | index[7] << 8);
  const int64_t bits =
      int64_t{frame.mcu_rows + 1} * widths.start_bits(frame.components) +
      int64_t{frame.mcu_rows} * (entries - 1) * widths.entry_bits(frame.components);
  return jpeg::seek::kHeader + static_cast<size_t>(bits + 7) / 8 + jpeg::seek::kSeal;
}

}  // namespace fl::fuzz
