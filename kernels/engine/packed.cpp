// The index comes from a cache that others may have written to: its blocks are compared with their
// checksums, each row is checked, and unpacking checks every element.
#include "engine/packed.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/scratch.h"
#include "base/system.h"
#include "engine/files.h"
#include "parquet/snappy.h"
#include "simd/hash.h"

namespace fl {
namespace {

static_assert(std::endian::native == std::endian::little, "the index's numbers are");

constexpr int64_t kFarthest = int64_t{1} << 62;  // bytes: no file is that long
constexpr size_t kKept = size_t{2} << 20;        // bytes that a thread keeps for the next sample
// A block, as row_blocks.py has it
constexpr int64_t kRows = 256;
constexpr int64_t kHead = 32;  // bytes: its checksum, and where its names lie
constexpr int64_t kWide = 8;   // bytes of a base, and of the widest value
constexpr int64_t kBases = PackedIndex::kColumns * kWide;
constexpr int64_t kLargest = kHead + kBases + PackedIndex::kColumns * kRows * kWide;

// Columns' numbers
constexpr int kOffset = 0, kSize = 1, kSkip = 3, kUnpacked = 4;

int64_t block_bytes(const PackedIndex::Part& part) {
  int64_t bytes = kHead + kBases;
  for (const int64_t width : part.widths) bytes += kRows * width;
  return bytes;
}

bool fits(const PackedIndex::Part& part) {
  for (const int64_t width : part.widths)
    if (width < 0 || width > kWide) return false;
  // So many blocks end before kFarthest, whatever their size
  return part.rows >= 0 && part.rows < kFarthest / kLargest && part.at >= 0 &&
         part.at < kFarthest - (part.rows / kRows + 1) * kLargest;
}

// The bases and values of a block are modulo 2^64.
int64_t value(const uint8_t* block, const PackedIndex::Part& part, int column, int64_t row) {
  uint64_t base = 0, above = 0;
  std::memcpy(&base, block + kHead + kWide * column, kWide);
  int64_t begin = kHead + kBases;
  for (int each = 0; each < column; ++each) begin += kRows * part.widths[each];
  const int64_t width = part.widths[column];
  std::memcpy(&above, block + begin + row * width, width);
  return static_cast<int64_t>(base + above);
}

bool good(const Packed& it) {
  return it.size <= kMaxSample && it.skip >= 0 && it.skip <= kMaxSample - it.size &&
         it.length >= 1 && it.length <= kMaxSample && it.start >= 0 && it.start < kFarthest;
}

}  // namespace

PackedIndex::PackedIndex(std::string where, int file, std::vector<Part> parts)
    : where_(std::move(where)), parts_(std::move(parts)) {
  for (size_t n = 0; n < parts_.size(); ++n)
    if (!fits(parts_[n]))
      refuse("PackedIndex: parts[" + std::to_string(n) + "]", "rows, place or widths",
             std::to_string(parts_[n].rows) + " rows at byte " + std::to_string(parts_[n].at),
             "those of a part");
  file_ = os::duplicate(file);
  if (file_ < 0) throw FileError(errno, where_, std::strerror(errno));
}

PackedIndex::~PackedIndex() { os::close(file_); }

void PackedIndex::fail(int code, const std::string& why) const {
  throw IndexError(code, where_, why + "; fastload index makes it anew");
}

bool PackedIndex::find(int64_t part, int64_t offset, Packed& out) const {
  if (part < 0 || part >= parts() || offset < 0 || (offset & kPackedBit) == 0) return false;
  const Part& of = parts_[part];
  const int64_t row = (offset & ~kPackedBit) >> kPackedInside;
  if (row >= of.rows) return false;
  const int64_t size = block_bytes(of), at = of.at + row / kRows * size;
  thread_local Scratch memory;
  uint8_t* const block = memory.reserve(size);
  for (int64_t done = 0; done < size;) {
    const int64_t got = os::read_at(file_, block + done, size - done, at + done);
    if (got < 0) fail(errno, std::strerror(errno));
    if (got == 0) fail(0, "is damaged (cut off, at byte " + std::to_string(at + done) + ")");
    done += got;
  }
  uint64_t checksum = 0;
  std::memcpy(&checksum, block, sizeof(checksum));
  if (xxh3({block + sizeof(checksum), size - sizeof(checksum)}) != checksum)
    fail(0, "is damaged (checksum mismatch of rows, at byte " + std::to_string(at) + ")");
  const auto number = [&](int column) { return value(block, of, column, row % kRows); };
  out = {number(kUnpacked), number(kOffset), number(kSize), number(kSkip)};
  if (out.size <= 0) return false;
  if (!good(out))
    fail(0, "is damaged (a packed image that cannot be, at byte " + std::to_string(at) + ")");
  return true;
}

bool unpack(std::span<const uint8_t> elements, int64_t skip, std::span<uint8_t> out) {
  if (skip == 0) return snappy::unpack(elements, out);
  thread_local Scratch whole;
  const size_t size = static_cast<size_t>(skip) + out.size();
  uint8_t* bytes = whole.reserve(size);
  const bool good = snappy::unpack(elements, {bytes, size});
  if (good) std::memcpy(out.data(), bytes + skip, out.size());
  whole.trim(kKept);
  return good;
}

}  // namespace fl
