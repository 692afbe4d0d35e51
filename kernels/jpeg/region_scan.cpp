// Three ways into a scan. With an index: only the segments under the tiles, up to four at a time.
// With restart markers: intervals without a tile of the region are passed over by looking for
// markers. Else in order from the start, where blocks outside the tiles are skimmed. All three give
// the same blocks, or a reason; none believes what it cannot check.
#include "jpeg/region_scan.h"

#include <algorithm>
#include <cstring>

#include "jpeg/indexed_rows.h"

namespace fl::jpeg {
namespace {

const char kRefused[] = "index refused: ";

}  // namespace

Scan::Scan(Bytes bytes, const Frame& frame, const SeekIndex* index, const Tiles2d& tiles,
           Workspace& workspace, cpu::Target target, SeekNotes* notes)
    : bytes_(bytes),
      frame_(frame),
      index_(index),
      tiles_(tiles),
      workspace_(workspace),
      target_(target),
      notes_(notes),
      pass_(bytes, frame, workspace.tables, workspace.lanes, workspace.ahead, workspace.window,
            target),
      interval_(frame.scan) {
  pass_.start(frame.scan);
  pass_.expect(tiles.top * int64_t{frame.mcu_columns} + tiles.left,
               (tiles.bottom - 1) * int64_t{frame.mcu_columns} + tiles.right, notes != nullptr);
}

std::string Scan::decode(int row, int end, BlockSink& sink) {
  if (frame_.restart_interval != 0) return by_restarts(end, sink);
  return index_ != nullptr ? by_index(row, end, sink) : in_order(end, sink);
}

// The last row of tiles is decoded up to the region's right end only, unless checkpoints are noted.
std::string Scan::in_order(int end, BlockSink& sink) {
  for (; next_row_ < end; ++next_row_) {
    const int columns = next_row_ == tiles_.bottom - 1 ? tiles_.right : frame_.mcu_columns;
    const bool good =
        notes_ != nullptr ? notes_->row(pass_, sink) : pass_.decode(next_row_, 0, columns, sink);
    if (!good) return pass_.why();
  }
  return {};
}

std::string Scan::by_index(int row, int end, BlockSink& sink) {
  const IndexedRows rows(bytes_, frame_, *index_, tiles_, target_);
  const size_t room = rows.room(row, end);
  if (room == 0) return std::string(kRefused) + "rows out of order";
  uint8_t* const coded = workspace_.coded.reserve(room + kOverrun);
  uint8_t* to = coded;
  workspace_.segments.clear();
  for (; row < end; ++row)
    if (!rows.load(row, coded, to, workspace_.segments))
      return std::string(kRefused) + "row " + std::to_string(row) + " is elsewhere";
  std::fill_n(to, kOverrun, uint8_t{0});
  const Verdict verdict = decode_segments(frame_, workspace_.tables, coded, workspace_.segments,
                                          workspace_.lanes, sink, target_);
  return verdict == Verdict::kGood ? ""
                                   : std::string(kRefused) + "a segment does not end at the next";
}

// Restart intervals that hold none of the region's tiles are passed over without decoding.
std::string Scan::by_restarts(int end, BlockSink& sink) {
  const int64_t columns = frame_.mcu_columns, interval = frame_.restart_interval;
  const int64_t begin = tiles_.top * columns + tiles_.left;
  const int64_t stop = end == tiles_.bottom ? (end - 1) * columns + tiles_.right : end * columns;
  while (next_mcu_ < stop) {
    const bool fresh = next_mcu_ % interval == 0;
    const int64_t after = (next_mcu_ / interval + 1) * interval;
    const bool needed = !fresh || after > begin;
    if (fresh) pass_.start(interval_);
    if (needed && !decode_run(std::min(after, stop), sink)) return pass_.why();
    if (!needed) next_mcu_ = after;
    if (next_mcu_ == after && next_mcu_ < frame_.mcu_rows * columns && !next_interval(needed))
      return "damaged at byte " + std::to_string(interval_) +
             ": no restart marker behind the interval";
  }
  return {};
}

// next_mcu_..to-1, row by row.
bool Scan::decode_run(int64_t to, BlockSink& sink) {
  while (next_mcu_ < to) {
    const auto row = static_cast<int>(next_mcu_ / frame_.mcu_columns),
               column = static_cast<int>(next_mcu_ % frame_.mcu_columns);
    const int count =
        static_cast<int>(std::min<int64_t>(to - next_mcu_, frame_.mcu_columns - column));
    if (!pass_.decode(row, column, count, sink)) return false;
    next_mcu_ += count;
  }
  return true;
}

// Moves interval_ behind the marker that must follow, RST0 to RST7 in turn.
bool Scan::next_interval(bool decoded) {
  const auto at = [&](size_t byte) { return byte < bytes_.size() ? bytes_[byte] : 0; };
  if (decoded && !pass_.at_marker()) return false;
  size_t marker = decoded ? pass_.marker() : interval_;
  for (; !decoded; marker += 2) {
    const void* found = marker < bytes_.size()
                            ? std::memchr(&bytes_[marker], 0xFF, bytes_.size() - marker)
                            : nullptr;
    if (found == nullptr) return false;
    marker = static_cast<size_t>(static_cast<const uint8_t*>(found) - bytes_.data());
    if (at(marker + 1) != 0) break;
  }
  while (at(marker) == 0xFF) ++marker;  // fill bytes may precede it
  interval_ = marker + 1;
  return at(marker) == 0xD0 + (next_mcu_ / frame_.restart_interval - 1) % 8;
}

}  // namespace fl::jpeg
