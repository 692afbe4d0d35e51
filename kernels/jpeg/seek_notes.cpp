// Notes are packed with the least widths that hold them all.
//
// The widths are found first, over all notes, so a record has a fixed size and row n is found by a
// multiplication. Deterministic: the same scan and step always give the same bytes.
#include "jpeg/seek_notes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "jpeg/seek_format.h"

namespace fl::jpeg {
namespace {

using Checkpoint = SeekNotes::Checkpoint;

// What lengths count from, and how wide the packed numbers are.
struct Ranges {
  uint64_t least_length = 0;
  seek::Widths widths;

  Ranges(const std::vector<Checkpoint>& starts, const std::vector<Checkpoint>& entries) {
    widths.bit = static_cast<int>(std::bit_width(starts.back().bit));
    uint64_t most_length = 0;
    if (!entries.empty()) least_length = entries.front().bit;
    for (const Checkpoint& one : entries) {
      least_length = std::min(least_length, one.bit);
      most_length = std::max(most_length, one.bit);
    }
    widths.length = static_cast<int>(std::bit_width(most_length - least_length));
    Magnitudes dc;
    for (const auto* some : {&starts, &entries})
      for (const Checkpoint& one : *some) dc.add(one.dc);
    for (int c = 0; c < kMaxComponents; ++c) widths.dc[c] = dc.width(c);
  }

 private:
  // Bits that any of the numbers has, and those of its size: of a negative one, of its complement.
  struct Magnitudes {
    std::array<int, kMaxComponents> any{}, size{};

    void add(const Predictors& dc) {
      for (int c = 0; c < kMaxComponents; ++c) {
        any[c] |= dc[c];
        size[c] |= dc[c] ^ dc[c] >> 15;
      }
    }
    // One bit for the sign; 0: all are 0.
    int width(int c) const {
      return any[c] == 0 ? 0 : 1 + static_cast<int>(std::bit_width(unsigned(size[c])));
    }
  };
};

constexpr int kMostBits = 64 - 7;
static_assert(std::max({seek::kMaxBitWidth, seek::kMaxLengthWidth,
                        kMaxComponents * seek::kMaxDcWidth}) <= kMostBits);

class Writer {
 public:
  explicit Writer(std::vector<uint8_t>& out) : out_(out) {}

  void number(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out_.push_back(static_cast<uint8_t>(value >> (8 * i)));
  }
  // most: the bits that follow, or more.
  void begin_bits(size_t most) {
    at_ = out_.size();
    out_.resize(at_ + most / 8 + 2 * sizeof held_);
  }
  // width: at most kMostBits, beside the 7 bits that may be held; whole bytes leave at once.
  void bits(uint64_t value, int width) {
    static_assert(std::endian::native == std::endian::little);
    held_ |= value << count_;
    count_ += width;
    std::memcpy(&out_[at_], &held_, sizeof held_);
    at_ += count_ / 8;
    held_ >>= count_ & ~7;
    count_ &= 7;
  }
  void end_bits() {
    out_.resize(at_ + (count_ > 0));
    count_ = 0;
    held_ = 0;
  }
  void dc(const Predictors& values, const Ranges& ranges, int components) {
    uint64_t together = 0;
    int width = 0;
    for (int c = 0; c < components; ++c) {
      const int own = ranges.widths.dc[c];
      together |= uint64_t{static_cast<uint16_t>(values[c]) & ((1u << own) - 1)} << width;
      width += own;
    }
    bits(together, width);
  }

 private:
  std::vector<uint8_t>& out_;
  size_t at_ = 0;  // where held_ goes
  uint64_t held_ = 0;
  int count_ = 0;  // bits in held_; fewer than 8 between two calls
};

void write_header(Writer& to, Bytes bytes, uint64_t file_hash, const Frame& frame, int step,
                  const Ranges& ranges) {
  for (int i = 0; i < 4; ++i) to.number(static_cast<uint8_t>(seek::kMagic[i]), 1);
  to.number(seek::kVersion, 1);
  to.number(frame.components, 1);
  to.number(step, 2);
  to.number(frame.mcu_rows, 2);
  to.number(frame.mcu_columns, 2);
  to.number(bytes.size(), 8);
  to.number(file_hash, 8);
  to.number(seek::hash(bytes.first(frame.scan)), 8);
  to.number(ranges.widths.bit, 1);
  to.number(ranges.widths.length, 1);
  for (const int width : ranges.widths.dc) to.number(width, 1);
  to.number(ranges.least_length, 4);
}

}  // namespace

void SeekNotes::begin(const Frame& frame, int step) {
  frame_ = &frame;
  step_ = std::min(step, frame.mcu_columns);
  rows_ = 0;
  starts_.clear();
  entries_.clear();
}

void SeekNotes::start(Pass& pass) {
  const FilePosition position = pass.position();
  starts_.push_back({8 * uint64_t{position.byte - frame_->scan} + position.bit, pass.dc()});
}

// A checkpoint is where a decoder may start, so it is taken between MCUs. The last stretch of a row
// needs none: the next row's start ends it.
bool SeekNotes::row(Pass& pass, BlockSink& sink) {
  start(pass);
  if (!(pass.foresees(frame_->mcu_columns) ? foreseen(pass, sink) : by_steps(pass, sink)))
    return false;
  if (++rows_ == frame_->mcu_rows) start(pass);
  return true;
}

// A whole row at a time fills the decoder's lanes best.
bool SeekNotes::foreseen(Pass& pass, BlockSink& sink) {
  const int columns = frame_->mcu_columns;
  uint64_t from = pass.coded_bits();
  for (int column = step_; column > 0 && column < columns; column += step_) {
    const McuStart end = pass.after(column);
    entries_.push_back({end.bit - from, end.dc});
    from = end.bit;
  }
  return pass.decode(rows_, 0, columns, sink);
}

bool SeekNotes::by_steps(Pass& pass, BlockSink& sink) {
  const int columns = frame_->mcu_columns, step = step_ == 0 ? columns : step_;
  for (int column = 0; column < columns; column += step) {
    const uint64_t from = pass.coded_bits();
    if (!pass.decode(rows_, column, std::min(step, columns - column), sink)) return false;
    if (column + step < columns) entries_.push_back({pass.coded_bits() - from, pass.dc()});
  }
  return true;
}

bool SeekNotes::rest(Pass& pass) {
  Discard sink(frame_->mcu_blocks);
  while (rows_ < frame_->mcu_rows)
    if (!row(pass, sink)) return false;
  return true;
}

std::vector<uint8_t> SeekNotes::pack(Bytes bytes, uint64_t file_hash) const {
  const Ranges ranges(starts_, entries_);
  std::vector<uint8_t> out;
  Writer to(out);
  write_header(to, bytes, file_hash, *frame_, step_, ranges);
  const size_t per_row = entries_.size() / rows_;
  to.begin_bits(starts_.size() * ranges.widths.start_bits(frame_->components) +
                entries_.size() * ranges.widths.entry_bits(frame_->components));
  for (int row = 0; row <= rows_; ++row) {
    to.bits(starts_[row].bit, ranges.widths.bit);
    to.dc(starts_[row].dc, ranges, frame_->components);
    for (size_t n = 0; row < rows_ && n < per_row; ++n) {
      const Checkpoint& entry = entries_[row * per_row + n];
      to.bits(entry.bit - ranges.least_length, ranges.widths.length);
      to.dc(entry.dc, ranges, frame_->components);
    }
  }
  to.end_bits();
  to.number(seek::hash(out), seek::kSeal);
  return out;
}

void SeekNotes::trim(size_t keep) {
  for (auto* notes : {&starts_, &entries_})
    if (notes->capacity() * sizeof(Checkpoint) > keep) std::vector<Checkpoint>().swap(*notes);
}

}  // namespace fl::jpeg
