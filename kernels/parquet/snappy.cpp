// The elements are read one by one; each is compared with what is left of both sides before a byte
// is moved.
#include "parquet/snappy.h"

#include <algorithm>
#include <cstring>

namespace fl::snappy {
namespace {

constexpr size_t kSizeBytes = 5;  // of the unpacked size, at most
constexpr uint32_t kGroup = 256;  // unpacked bytes of elements that share a mark

struct Element {
  size_t head;      // bytes of the element; of a literal, those before its own
  uint64_t length;  // unpacked bytes
  uint64_t back;    // of a copy, how far back it takes them; 0: a literal
};

uint64_t little(const uint8_t* from, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) value |= uint64_t{from[i]} << (8 * i);
  return value;
}

// False: it does not end within the bytes, or copies from nowhere.
bool parse(const uint8_t* at, size_t left, Element& out) {
  const uint8_t tag = *at;
  const unsigned kind = tag & 3, upper = tag >> 2;
  if (kind == 0) {
    const size_t more = upper < 60 ? 0 : upper - 59;
    if (more >= left) return false;
    out = {1 + more, (more == 0 ? upper : little(at + 1, more)) + 1, 0};
    return true;
  }
  const size_t more = kind == 3 ? 4 : kind;
  if (more >= left) return false;
  const uint64_t back = little(at + 1, more);
  if (kind == 1)
    out = {2, 4 + (upper & 7), uint64_t{tag} >> 5 << 8 | back};
  else
    out = {1 + more, upper + 1, back};
  return out.back > 0;
}

// What a copy takes may be what it has just written.
void copy(uint8_t* to, uint64_t back, uint64_t length) {
  const uint8_t* from = to - back;
  if (back >= length) {
    std::memcpy(to, from, length);
    return;
  }
  for (uint64_t i = 0; i < length; ++i) to[i] = from[i];
}

void add(std::vector<Mark>& marks, const Element& it, size_t in, size_t out) {
  const auto here = static_cast<uint32_t>(out);
  const uint32_t lowest = here - static_cast<uint32_t>(it.back);
  const bool alone = it.back == 0 && it.length >= kGroup;
  if (!alone && !marks.empty() && marks.back().literal == 0 && here - marks.back().out < kGroup) {
    marks.back().lowest = std::min(marks.back().lowest, lowest);
    return;
  }
  marks.push_back(
      {here, static_cast<uint32_t>(in), lowest, alone ? static_cast<uint32_t>(it.head) : 0});
}

}  // namespace

size_t unpacked_size(Bytes packed, uint64_t& size) {
  size = 0;
  for (size_t i = 0; i < std::min(packed.size(), kSizeBytes); ++i) {
    size |= uint64_t{packed[i] & 0x7Fu} << (7 * i);
    if (packed[i] < 0x80) return i + 1;
  }
  return 0;
}

bool unpack(Bytes packed, std::span<uint8_t> out, std::vector<Mark>* marks) {
  size_t in = 0, done = 0;
  while (done < out.size()) {
    Element it;
    if (in >= packed.size() || !parse(packed.data() + in, packed.size() - in, it)) return false;
    const uint64_t length = std::min<uint64_t>(it.length, out.size() - done);
    if (it.back > done) return false;
    if (it.back == 0 && length > packed.size() - in - it.head) return false;
    if (marks != nullptr) add(*marks, it, in, done);
    in += it.head;
    if (it.back > 0) {
      copy(out.data() + done, it.back, length);
    } else {
      std::memcpy(out.data() + done, packed.data() + in, length);
      in += length;
    }
    done += length;
  }
  return true;
}

Place place(const std::vector<Mark>& marks, int64_t packed, int64_t at, int64_t size) {
  const auto holding = [&](int64_t byte) {
    const auto behind = std::upper_bound(marks.begin(), marks.end(), byte,
                                         [](int64_t b, const Mark& mark) { return b < mark.out; });
    return behind - marks.begin() - 1;
  };
  const int64_t first = holding(at), last = holding(at + size - 1);
  const Mark& final = marks[last];
  if (first == last && final.literal > 0)
    return {int64_t{final.in} + final.literal + at - final.out, size, 0, true};
  int64_t end = packed;
  if (final.literal > 0)
    end = int64_t{final.in} + final.literal + at + size - final.out;
  else if (last + 1 < static_cast<int64_t>(marks.size()))
    end = marks[last + 1].in;
  // What the copies take has to be unpacked too, and what the copies there take
  int64_t lowest = at, from = last;
  while (true) {
    lowest = std::min<int64_t>(lowest, marks[from].lowest);
    if (marks[from].out <= lowest) break;
    --from;
  }
  return {marks[from].in, end - marks[from].in, at - marks[from].out, false};
}

}  // namespace fl::snappy
