// Packed pages are unpacked whole, since only so is it known where their values begin. Of others
// only the levels and the values' sizes are read.
#include "parquet/page.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>

#include "base/error.h"
#include "base/reader.h"
#include "base/scratch.h"
#include "base/system.h"
#include "parquet/snappy.h"

namespace fl::parquet {
namespace {

using Bytes = std::span<const uint8_t>;

constexpr int64_t kPrefix = 4;             // bytes of a size before a value, and before levels
constexpr int64_t kWindow = 4096;          // bytes read at once where sizes are looked for
constexpr size_t kKept = size_t{8} << 20;  // bytes that a thread keeps for the next page
constexpr int64_t kMostPage = INT32_MAX;   // bytes, as Parquet's headers have them
constexpr size_t kMostVarint = 5;          // bytes
constexpr int kWidest = 32;                // bits of an index

[[noreturn]] void damaged(const std::string& why) { throw std::invalid_argument(why); }

void fill(int file, int64_t at, int64_t size, uint8_t* out) {
  for (int64_t done = 0; done < size;) {
    const int64_t got = os::read_at(file, out + done, size - done, at + done);
    if (got < 0) throw FileError(errno, "", std::strerror(errno));
    if (got == 0) damaged("the file ends at byte " + std::to_string(at + done));
    done += got;
  }
}

// The bytes of a page that is not packed, read in parts.
class Plain {
 public:
  Plain(int file, int64_t offset, int64_t size) : file_(file), offset_(offset), size_(size) {}

  int64_t size() const { return size_; }

  uint32_t u32(int64_t at) {
    if (at > size_ - kPrefix) damaged("it ends inside a size");
    if (at < start_ || at + kPrefix > start_ + held_) {
      start_ = at;
      held_ = std::min(kWindow, size_ - at);
      fill(file_, offset_ + at, held_, window_);
    }
    return Reader({window_ + (at - start_), static_cast<size_t>(kPrefix)}, false).u32(0);
  }

  Bytes some(int64_t at, int64_t count) {
    whole_.resize(count);
    fill(file_, offset_ + at, count, whole_.data());
    return whole_;
  }

  Value value(int64_t at, int64_t size) const { return {offset_ + at, size, -1, size}; }

 private:
  int file_;
  int64_t offset_, size_;
  int64_t start_ = 0, held_ = 0;
  uint8_t window_[kWindow];
  std::vector<uint8_t> whole_;
};

// What a thread keeps from page to page.
struct Memory {
  Scratch packed, unpacked;
  std::vector<snappy::Mark> marks;

  ~Memory() = default;
  void trim() {
    packed.trim(kKept);
    unpacked.trim(kKept);
    if (marks.capacity() * sizeof(snappy::Mark) > kKept) marks = {};
  }
};

// The bytes of a page that is packed.
class Unpacked {
 public:
  Unpacked(int file, int64_t offset, int64_t size, int64_t unpacked, Memory& memory)
      : memory_(memory), size_(unpacked) {
    uint8_t* packed = memory.packed.reserve(std::max<int64_t>(size, 1));
    fill(file, offset, size, packed);
    uint64_t says = 0;
    const size_t head = snappy::unpacked_size({packed, static_cast<size_t>(size)}, says);
    if (head == 0 || says != static_cast<uint64_t>(unpacked))
      damaged("its Snappy data are of " + std::to_string(says) + " bytes, want " +
              std::to_string(unpacked));
    first_ = offset + static_cast<int64_t>(head);
    packed_ = size - static_cast<int64_t>(head);
    data_ = memory.unpacked.reserve(std::max<int64_t>(unpacked, 1));
    memory.marks.clear();
    if (!snappy::unpack({packed + head, static_cast<size_t>(packed_)},
                        {data_, static_cast<size_t>(unpacked)}, &memory.marks))
      damaged("its Snappy data are damaged");
  }

  int64_t size() const { return size_; }

  uint32_t u32(int64_t at) const {
    if (at > size_ - kPrefix) damaged("it ends inside a size");
    return Reader({data_ + at, static_cast<size_t>(kPrefix)}, false).u32(0);
  }

  Bytes some(int64_t at, int64_t count) const { return {data_ + at, static_cast<size_t>(count)}; }

  Value value(int64_t at, int64_t size) const {
    if (size == 0) return {first_, 0, -1, 0};
    const snappy::Place it = snappy::place(memory_.marks, packed_, at, size);
    return {first_ + it.start, it.length, it.plain ? -1 : it.skip, size};
  }

 private:
  Memory& memory_;
  int64_t size_;
  int64_t first_ = 0, packed_ = 0;  // of the elements: place in the file, bytes
  uint8_t* data_ = nullptr;
};

// Runs of equal numbers, and of numbers packed bit by bit. Throws where there are too few.
std::vector<int32_t> hybrid(Bytes data, int width, int64_t count) {
  std::vector<int32_t> out;
  out.reserve(count);
  size_t at = 0;
  const auto bytes = static_cast<size_t>(width + 7) / 8;
  while (static_cast<int64_t>(out.size()) < count) {
    uint64_t head = 0;
    for (size_t i = 0;; ++i) {
      if (at >= data.size() || i >= kMostVarint) damaged("its runs of numbers are damaged");
      head |= uint64_t{data[at] & 0x7Fu} << (7 * i);
      if (data[at++] < 0x80) break;
    }
    const int64_t left = count - static_cast<int64_t>(out.size());
    if ((head & 1) == 0) {
      if (bytes > data.size() - at) damaged("its runs of numbers are damaged");
      uint32_t value = 0;
      for (size_t i = 0; i < bytes; ++i) value |= uint32_t{data[at + i]} << (8 * i);
      at += bytes;
      out.insert(out.end(), std::min<int64_t>(left, static_cast<int64_t>(head >> 1)),
                 static_cast<int32_t>(value));
      continue;
    }
    const uint64_t groups = head >> 1;
    const int64_t some = std::min<int64_t>(left, static_cast<int64_t>(groups * 8));
    if (static_cast<uint64_t>(some) * width > (data.size() - at) * 8)
      damaged("its runs of numbers are damaged");
    for (int64_t i = 0; i < some; ++i) {
      uint64_t value = 0;
      for (int bit = 0; bit < width; ++bit) {
        const uint64_t place = static_cast<uint64_t>(i) * width + bit;
        value |= uint64_t{data[at + place / 8] >> (place % 8) & 1u} << bit;
      }
      out.push_back(static_cast<int32_t>(value));
    }
    at += std::min<uint64_t>(groups * width, data.size() - at);
  }
  return out;
}

int bits(int most) {
  int out = 0;
  for (; most > 0; most >>= 1) ++out;
  return out;
}

// The first value whose level is not the deepest one; -1: all are there.
int64_t missing(Bytes levels, const Page& page) {
  const std::vector<int32_t> all = hybrid(levels, bits(page.depth), page.values);
  const auto found =
      std::find_if(all.begin(), all.end(), [&](int32_t it) { return it != page.depth; });
  return found == all.end() ? -1 : found - all.begin();
}

template <class Data>
void values(Data& data, int64_t at, const Page& page, Found& out) {
  out.values.reserve(std::min(page.values, data.size() / kPrefix));
  for (int64_t n = 0; n < page.values; ++n) {
    const int64_t size = data.u32(at);
    at += kPrefix;
    if (size > data.size() - at) damaged("a value of " + std::to_string(size) + " bytes leaves it");
    out.values.push_back(data.value(at, size));
    at += size;
  }
}

template <class Data>
Found look_into(Data data, const Page& page) {
  Found out;
  int64_t at = 0;
  if (page.levels < 0 && page.depth > 0) {
    const int64_t size = data.u32(0);
    if (size > data.size() - kPrefix) damaged("its levels leave it");
    at = kPrefix + size;
    out.missing = missing(data.some(kPrefix, size), page);
    if (out.missing >= 0) return out;
  }
  if (!page.indices) {
    values(data, at, page, out);
    return out;
  }
  if (page.values == 0) return out;
  const Bytes left = data.some(at, data.size() - at);
  if (left.empty() || left[0] > kWidest) damaged("its indices have no width");
  out.indices = hybrid(left.subspan(1), left[0], page.values);
  return out;
}

}  // namespace

Found look(int file, const Page& page) {
  const int64_t before = std::max<int64_t>(page.levels, 0);
  if (page.offset < 0 || page.size < 0 || page.unpacked < 0 || page.values < 0 || page.depth < 0 ||
      page.size > kMostPage || page.unpacked > kMostPage || page.values > kMostPage ||
      before > std::min(page.size, page.unpacked))
    damaged("its header is damaged");
  if (before > 0 && page.depth > 0) {
    std::vector<uint8_t> levels(before);
    fill(file, page.offset, before, levels.data());
    if (const int64_t null = missing(levels, page); null >= 0) return {null, {}, {}};
  }
  const int64_t offset = page.offset + before, size = page.size - before;
  if (!page.packed) return look_into(Plain(file, offset, size), page);
  thread_local Memory memory;
  struct Trimmed {
    ~Trimmed() { memory.trim(); }
  } const trimmed;
  return look_into(Unpacked(file, offset, size, page.unpacked - before, memory), page);
}

}  // namespace fl::parquet
