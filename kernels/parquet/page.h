// Where the values of a Parquet page lie in the file: byte arrays of a column without lists.
//
// Source: apache/parquet-format, README.md and Encodings.md.
#pragma once

#include <cstdint>
#include <vector>

namespace fl::parquet {

// A page as its header says it. The reader of headers has compared the sizes with the file's.
struct Page {
  int64_t offset;    // of its bytes in the file, behind the header
  int64_t size;      // bytes in the file
  int64_t unpacked;  // bytes when it is unpacked
  int64_t values;    // with those that are missing
  int depth;         // levels of the column that may be missing
  int64_t levels;    // of version 2: bytes of its levels, before the values; -1: version 1
  bool packed;       // by Snappy; of version 2, all but the levels
  bool indices;      // numbers of values in the dictionary
};

// One value. skip -1: its bytes stand in the file as they are, from start on. Else `length` bytes
// from start on are Snappy's elements, and of what they unpack to `skip` bytes come before it.
struct Value {
  int64_t start, length, skip, size;
};

struct Found {
  int64_t missing = -1;          // the first value that is null; then there are no others
  std::vector<Value> values;     // of a page without indices
  std::vector<int32_t> indices;  // of one with
};

// Reads the open file. Throws std::invalid_argument for what is damaged, FileError.
Found look(int file, const Page& page);

}  // namespace fl::parquet
