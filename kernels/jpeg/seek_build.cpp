// Two steps: decode everything and note the checkpoints, then pack them with the least widths that hold them all.
#include <algorithm>
#include <bit>

#include "jpeg/entropy_pass.h"
#include "jpeg/seek.h"

namespace fl::jpeg {
namespace {

class Discard final : public BlockSink {
 public:
  explicit Discard(int mcu_blocks) : mcu_blocks_(mcu_blocks) {}
  bool take(int, int, int count, int16_t* blocks) override {
    clear_blocks(blocks, count * mcu_blocks_);
    return true;
  }

 private:
  int mcu_blocks_;
};

struct Checkpoint {
  uint64_t bit;  // of a row's start: of the file from the scan on; else coded bits since the one before
  std::array<int, kMaxComponents> dc;  // of a row's start; else since the one before
};

struct Checkpoints {
  int columns, step;
  int rows = 0;
  std::vector<Checkpoint> starts;   // rows, and the scan's end
  std::vector<Checkpoint> entries;  // of all rows, without the rows' starts
};

Checkpoint start_of(Pass& pass, const Frame& frame) {
  const FilePlace place = pass.place();
  Checkpoint out{8 * uint64_t{place.byte - frame.scan} + place.bit, {}};
  std::copy(pass.dc().begin(), pass.dc().end(), out.dc.begin());
  return out;
}

bool note(Pass& pass, const Frame& frame, Checkpoints& out) {
  Discard sink(frame.mcu_blocks);
  const int step = out.step == 0 ? out.columns : out.step;
  for (int row = 0; row < frame.mcu_rows; ++row) {
    out.starts.push_back(start_of(pass, frame));
    for (int column = 0; column < out.columns; column += step) {
      const Predictors before = pass.dc();
      const uint64_t from = pass.coded_bits();
      if (!pass.decode(row, column, std::min(step, out.columns - column), sink)) return false;
      if (column + step >= out.columns) continue;
      Checkpoint entry{pass.coded_bits() - from, {}};
      for (int c = 0; c < kMaxComponents; ++c) entry.dc[c] = static_cast<int16_t>(pass.dc()[c] - before[c]);  // wraps
      out.entries.push_back(entry);
    }
  }
  out.starts.push_back(start_of(pass, frame));
  out.rows = frame.mcu_rows;
  return true;
}

// Least value and width of each number of some checkpoints.
struct Range {
  uint64_t least_bit = 0;
  int bit_width = 0;
  std::array<int, kMaxComponents> least_dc{}, dc_width{};

  explicit Range(const std::vector<Checkpoint>& of) {
    if (of.empty()) return;
    const auto by_bit = [](const Checkpoint& a, const Checkpoint& b) { return a.bit < b.bit; };
    const auto [low, high] = std::minmax_element(of.begin(), of.end(), by_bit);
    least_bit = low->bit;
    bit_width = static_cast<int>(std::bit_width(high->bit - low->bit));
    for (int c = 0; c < kMaxComponents; ++c) {
      const auto by_dc = [c](const Checkpoint& a, const Checkpoint& b) { return a.dc[c] < b.dc[c]; };
      const auto [least, most] = std::minmax_element(of.begin(), of.end(), by_dc);
      least_dc[c] = least->dc[c];
      dc_width[c] = static_cast<int>(std::bit_width(static_cast<unsigned>(most->dc[c] - least->dc[c])));
    }
  }
};

class Writer {
 public:
  explicit Writer(std::vector<uint8_t>& out) : out_(out) {}

  void number(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out_.push_back(static_cast<uint8_t>(value >> (8 * i)));
  }
  void bits(uint64_t value, int width) {
    for (int i = 0; i < width; ++i, ++used_) {
      if (used_ % 8 == 0) out_.push_back(0);
      out_.back() |= static_cast<uint8_t>((value >> i & 1) << (used_ % 8));
    }
  }
  void checkpoint(const Checkpoint& from, const Range& range, uint64_t least_bit, int components) {
    bits(from.bit - least_bit, range.bit_width);
    for (int c = 0; c < components; ++c) bits(static_cast<uint64_t>(from.dc[c] - range.least_dc[c]), range.dc_width[c]);
  }

 private:
  std::vector<uint8_t>& out_;
  uint64_t used_ = 0;
};

void write_header(Writer& to, Bytes bytes, const Frame& frame, int step, const Range& starts, const Range& entries) {
  for (int i = 0; i < 4; ++i) to.number(static_cast<uint8_t>(seek::kMagic[i]), 1);
  to.number(seek::kVersion, 1);
  to.number(frame.components, 1);
  to.number(step, 2);
  to.number(frame.mcu_rows, 2);
  to.number(frame.mcu_columns, 2);
  to.number(bytes.size(), 8);
  to.number(seek::hash(bytes), 8);
  to.number(seek::hash(bytes.first(frame.scan)), 8);
  to.number(starts.bit_width, 1);
  to.number(entries.bit_width, 1);
  for (const int width : starts.dc_width) to.number(width, 1);
  for (const int width : entries.dc_width) to.number(width, 1);
  to.number(entries.least_bit, 4);
  for (const int least : starts.least_dc) to.number(static_cast<uint16_t>(least), 2);
  for (const int least : entries.least_dc) to.number(static_cast<uint16_t>(least), 2);
}

std::vector<uint8_t> pack(Bytes bytes, const Frame& frame, const Checkpoints& from) {
  Range starts(from.starts);
  const Range entries(from.entries);
  starts.bit_width = static_cast<int>(std::bit_width(from.starts.back().bit));  // stored as they are: the first is 0
  std::vector<uint8_t> out;
  Writer to(out);
  write_header(to, bytes, frame, from.step, starts, entries);
  const size_t per_row = from.entries.size() / from.rows;
  for (int row = 0; row <= from.rows; ++row) {
    to.checkpoint(from.starts[row], starts, 0, frame.components);
    for (size_t n = 0; row < from.rows && n < per_row; ++n)
      to.checkpoint(from.entries[row * per_row + n], entries, entries.least_bit, frame.components);
  }
  to.number(seek::hash(out), seek::kSeal);
  return out;
}

}  // namespace

Built build_index(Bytes bytes, int step) {
  Frame frame;
  if (std::string why = parse_frame(bytes, frame); !why.empty()) return {{}, std::move(why)};
  if (frame.restart_interval != 0)
    return {{}, "not covered: restart markers, where decoding can begin without an index"};
  Tables tables;
  tables.prepare(frame);
  Lanes lanes;
  Scratch window;
  Pass pass(bytes, frame, tables, lanes, window, cpu::Target::kBest);
  pass.start(frame.scan);
  Checkpoints found{frame.mcu_columns, std::min(step, frame.mcu_columns), 0, {}, {}};
  if (!note(pass, frame, found)) return {{}, pass.why()};
  return {pack(bytes, frame, found), {}};
}

}  // namespace fl::jpeg
