// Samples that are packed inside of files: bytes behind a file's end stand for what its packed
// samples unpack to.
//
// So whoever reads a sample by file, offset and size needs to know nothing of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fl {

// One sample, packed by Snappy (parquet/snappy.h).
struct Packed {
  int64_t file;
  int64_t at;      // its offset for those who read it: behind the end of the file
  int64_t size;    // bytes
  int64_t start;   // in the file: of the first element
  int64_t length;  // bytes of the elements there
  int64_t skip;    // bytes that they unpack to before the sample's
};

// The packed samples of some files.
class PackedList {
 public:
  PackedList() = default;
  // rows: by file and `at`, which do not overlap. Throws std::invalid_argument, with `where`.
  PackedList(std::vector<Packed> rows, int64_t files, const char* where);

  // Whether an offset in this file is of a packed sample, or behind them.
  bool holds(int64_t file, int64_t offset) const;
  // That which has all these bytes; null: none has. size -1: up to its end.
  const Packed* find(int64_t file, int64_t offset, int64_t size) const;
  const std::vector<Packed>& rows() const { return rows_; }

 private:
  std::vector<Packed> rows_;
  std::vector<int64_t> first_;  // of each file, and the end; empty: there are none
};

// Unpacks `out.size()` bytes of a sample, after its first `skip`, from its elements. False: they
// are damaged.
bool unpack(std::span<const uint8_t> elements, int64_t skip, std::span<uint8_t> out);

}  // namespace fl
