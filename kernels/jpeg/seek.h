// The seek index: where in a JPEG's scan decoding can begin, so that a crop costs no more than its
// own tiles.
//
// For each MCU row: the position in the file (bit) and the DC predictors; within the row every
// `step` MCUs: how many coded bits further, and the DC predictors there. These are whole, not
// steps, so that a wrong one fits nothing that is decoded before it or behind it. A row is one
// record of fixed size, packed bit by bit, so any row is found at once.
//
//   byte  0 "FLSI" · 4 version · 5 components · 6 u16 step (0: rows only)
//         8 u16 MCU rows · 10 u16 MCUs per row
//        12 u64 file size · 20 u64 XXH3 of the file · 28 u64 XXH3 of the bytes before the scan
//        36 u8 width of a row's bit · 37 u8 width of a length · 38 u8[3] width of DC
//        41 u32 least length
//        45 records of (bit of the file from the scan on, DC of each component,
//           then per entry: length, DC of each), and one without entries for the scan's end
//   at the end of the index: u64 XXH3 of all before
//
// All numbers little-endian; lengths are stored less the least one, DC in two's complement.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jpeg/entropy.h"
#include "jpeg/seek_format.h"

namespace fl::jpeg {

constexpr int kDefaultStep = 8;  // MCUs per entry

struct Built {
  std::vector<uint8_t> index;
  std::string why;  // not empty: no index
};

// One pass over the scan. step: MCUs per entry, 0: rows only. The same file always gives the same
// index. file_hash: XXH3 of `bytes`, if the caller has it already.
Built build_index(Bytes bytes, int step, const uint64_t* file_hash = nullptr,
                  cpu::Target target = cpu::Target::kBest);

// The same pass alone: empty if every block of the scan is valid, so that libjpeg-turbo decodes it
// without a warning.
std::string check_scan(Bytes bytes);

// A view of an index; `index` must outlive it. What is wrong is found by `open`, `row`, `segments`
// or decoding; never by a read outside it.
class SeekIndex {
 public:
  // Empty, or why the index does not fit the file. file_hash: XXH3 of `bytes`, if the caller has it
  // already.
  std::string open(Bytes index, Bytes bytes, const Frame& frame,
                   const uint64_t* file_hash = nullptr);

  struct Row {
    size_t byte = 0, end_byte = 0;  // of the file: where it begins, where the next one does
    int bit = 0, end_bit = 0;       // of these bytes
  };
  // Where the row is; row < mcu_rows. False: the index is wrong.
  bool row(int row, Row& out) const;

  // Appends the segments that cover MCUs first..last-1 of the row. base: bit of the coded bytes
  // where the row begins; end: where the next row does. False: the index is wrong.
  bool segments(int row, int first, int last, uint64_t base, uint64_t end,
                std::vector<Segment>& out) const;

 private:
  std::string read_header(const Frame& frame);
  uint64_t record_bits() const;  // of one row
  // bit: from the scan's first byte. False: behind the file
  bool begin(int row, uint64_t& bit) const;
  Predictors begin_dc(int row) const;
  uint64_t take(uint64_t& at, int width) const;
  Predictors take_dc(uint64_t& at) const;

  Bytes index_;
  size_t scan_ = 0, file_size_ = 0;  // bytes
  int components_ = 0, rows_ = 0, columns_ = 0, step_ = 0, entries_ = 0;
  seek::Widths widths_;
  uint64_t least_length_ = 0;
};

}  // namespace fl::jpeg
