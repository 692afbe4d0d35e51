// Samples that are packed inside of files: an offset that no file has stands for what a packed
// sample unpacks to. It says which row of an index has the sample's place, and the byte inside.
//
// So whoever reads a sample by file, offset and size needs to know nothing of it, and a data set of
// any size has nothing in memory of its packed samples.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace fl {

// One sample, packed by Snappy (parquet/snappy.h).
struct Packed {
  int64_t size;    // bytes
  int64_t start;   // in the file: of the first element
  int64_t length;  // bytes of the elements there
  int64_t skip;    // bytes that they unpack to before the sample's
};

// Offsets of packed samples: this bit, the sample's row in its file's part of the index, and the
// byte inside of the sample.
constexpr int64_t kPackedBit = int64_t{1} << 62;
constexpr int kPackedInside = 31;  // bits of the last

// The index, of which rows are read by blocks: a file of rows (fastload/sources/row_file.py, whose
// columns are those of span_index.py). Each part has the samples of one file.
class PackedIndex {
 public:
  static constexpr int kColumns = 5;  // offset, size, label, skip, unpacked

  struct Part {
    int64_t rows;
    int64_t at;                // the first block's place in the index
    int64_t widths[kColumns];  // bytes of a value
  };

  // where: the index's path, for messages; file: its descriptor, of which a copy is kept. Throws
  // std::invalid_argument for parts that cannot be, and FileError.
  PackedIndex(std::string where, int file, std::vector<Part> parts);
  ~PackedIndex();
  PackedIndex(const PackedIndex&) = delete;
  PackedIndex& operator=(const PackedIndex&) = delete;

  int64_t parts() const { return static_cast<int64_t>(parts_.size()); }
  // That which an offset of a part is of. False: there is none, or it is not packed. Throws
  // IndexError where the index cannot be read, or is damaged.
  bool find(int64_t part, int64_t offset, Packed& out) const;

 private:
  [[noreturn]] void fail(int code, const std::string& why) const;

  std::string where_;
  int file_;
  std::vector<Part> parts_;
};

// An index whose first part is of this file.
struct PackedFiles {
  int64_t first;
  std::shared_ptr<const PackedIndex> index;
};

// Unpacks `out.size()` bytes of a sample, after its first `skip`, from its elements. False: they
// are damaged.
bool unpack(std::span<const uint8_t> elements, int64_t skip, std::span<uint8_t> out);

}  // namespace fl
