// Nothing in an index is believed: sizes and positions are checked here, its entries by decoding
// (entropy.h, Segment).
//
// An index is checked in two steps. Here: its seal, the file's size and checksums, the geometry,
// and that positions rise within the file. By decoding: every segment must end at the bit, and with
// the DC values, where the next one begins. docs/internals/jpeg.md says what this cannot find.
#include "jpeg/seek.h"

#include <algorithm>

#include "base/reader.h"
#include "jpeg/bits.h"
#include "simd/hash.h"

namespace fl::jpeg {

namespace seek {

uint64_t hash(Bytes bytes) { return xxh3(bytes); }

}  // namespace seek

namespace {

uint64_t u64(Reader& in, size_t at) { return in.u32(at) | uint64_t{in.u32(at + 4)} << 32; }

int16_t sign_extended(uint64_t bits, int width) {
  const uint64_t sign = width == 0 ? 0 : uint64_t{1} << (width - 1);
  return static_cast<int16_t>(static_cast<int64_t>(bits ^ sign) - static_cast<int64_t>(sign));
}

// The last segment may stop where the region does: that it begins where it says, the one before has
// proved by ending there.
void cut_last(int first, int last, std::vector<Segment>& segments) {
  Segment& segment = segments.back();
  if (segment.column <= first || segment.column + segment.count == last) return;
  segment.count = last - segment.column;
  segment.open = true;
}

}  // namespace

std::string SeekIndex::open(Bytes index, Bytes bytes, const Frame& frame,
                            const uint64_t* file_hash) {
  index_ = index;
  scan_ = frame.scan;
  file_size_ = bytes.size();
  Reader in(index, false);
  if (!in.starts_with(seek::kMagic, 4) || in.u8(4) != seek::kVersion)
    return "not an index of this version";
  if (index.size() < seek::kHeader + seek::kSeal) return "too short";
  if (u64(in, index.size() - seek::kSeal) != seek::hash(index.first(index.size() - seek::kSeal)))
    return "damaged";
  if (u64(in, 12) != bytes.size()) return "of a file of another size";
  if (u64(in, 28) != seek::hash(bytes.first(frame.scan))) return "of another file";
  if (u64(in, 20) != (file_hash != nullptr ? *file_hash : seek::hash(bytes)))
    return "of another file";
  return read_header(frame);
}

// The size of the records follows from the header, so no later access has to be checked.
std::string SeekIndex::read_header(const Frame& frame) {
  Reader in(index_, false);
  components_ = static_cast<int>(in.u8(5));
  step_ = static_cast<int>(in.u16(6));
  rows_ = static_cast<int>(in.u16(8));
  columns_ = static_cast<int>(in.u16(10));
  widths_ = {};
  const bool same =
      components_ == frame.components && rows_ == frame.mcu_rows && columns_ == frame.mcu_columns;
  if (!same || frame.restart_interval != 0) return "of another geometry";
  entries_ = seek::entries_per_row(columns_, step_);
  widths_.bit = static_cast<int>(in.u8(36));
  widths_.length = static_cast<int>(in.u8(37));
  least_length_ = in.u32(41);
  bool fits = widths_.bit <= seek::kMaxBitWidth && widths_.length <= seek::kMaxLengthWidth;
  for (int c = 0; c < components_; ++c) {
    widths_.dc[c] = static_cast<int>(in.u8(38 + c));
    fits &= widths_.dc[c] <= seek::kMaxDcWidth;
  }
  const uint64_t bits = rows_ * record_bits() + widths_.start_bits(components_);
  if (!fits || index_.size() != seek::kHeader + (bits + 7) / 8 + seek::kSeal)
    return "of a wrong size";
  uint64_t first = 0;
  return begin(0, first) && first == 0 && begin_dc(0) == Predictors{} ? ""
                                                                      : "the scan begins elsewhere";
}

// The seal stands behind the last bit, so 8 bytes can always be read.
uint64_t SeekIndex::take(uint64_t& at, int width) const {
  const uint64_t bits = load_little_endian(index_.data() + seek::kHeader + (at >> 3)) >> (at & 7);
  at += width;
  return bits & ((uint64_t{1} << width) - 1);
}

Predictors SeekIndex::take_dc(uint64_t& at) const {
  Predictors dc{};
  for (int c = 0; c < kMaxComponents; ++c)
    dc[c] = sign_extended(take(at, widths_.dc[c]), widths_.dc[c]);
  return dc;
}

uint64_t SeekIndex::record_bits() const {
  return widths_.start_bits(components_) +
         (entries_ - 1) * uint64_t(widths_.entry_bits(components_));
}

bool SeekIndex::begin(int row, uint64_t& bit) const {
  uint64_t at = row * record_bits();
  bit = take(at, widths_.bit);
  return bit <= 8 * uint64_t{file_size_ - scan_};
}

Predictors SeekIndex::begin_dc(int row) const {
  uint64_t at = row * record_bits() + widths_.bit;
  return take_dc(at);
}

bool SeekIndex::row(int row, Row& out) const {
  uint64_t first = 0, last = 0;
  if (!begin(row, first) || !begin(row + 1, last) || first > last) return false;
  out.byte = scan_ + static_cast<size_t>(first >> 3);
  out.bit = static_cast<int>(first & 7);
  out.end_byte = scan_ + static_cast<size_t>(last >> 3);
  out.end_bit = static_cast<int>(last & 7);
  return true;
}

// Lengths before `first` are added up, since they are stored one after the other. The last segment
// of a row ends where the next row begins, with its DC.
bool SeekIndex::segments(int row, int first, int last, uint64_t base, uint64_t end,
                         std::vector<Segment>& out) const {
  const int step = step_ == 0 ? columns_ : step_, dc_bits = widths_.dc_bits(components_);
  // Of the DC at `column`, behind which comes the next length
  uint64_t at = row * record_bits() + widths_.bit;
  int column = 0;
  for (; column + step <= first; column += step) {
    at += dc_bits;
    base += least_length_ + take(at, widths_.length);
  }
  Predictors dc = take_dc(at);
  for (; column < last; column += step) {
    const bool ends_row = column + step >= columns_;
    const uint64_t begin = base;
    base = ends_row ? end : begin + least_length_ + take(at, widths_.length);
    if (base < begin || base > end) return false;
    const Predictors dc_end = ends_row ? begin_dc(row + 1) : take_dc(at);
    out.push_back({begin, base, dc, dc_end, false, row, column, std::min(step, columns_ - column)});
    dc = dc_end;
  }
  cut_last(first, last, out);
  return true;
}

}  // namespace fl::jpeg
