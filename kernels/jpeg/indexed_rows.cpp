// Rows of MCUs by a seek index. The index is not believed: positions must rise and lie in the file,
// and a row may not be longer than its MCUs can be. That bounds the memory before it is taken.
// Whether the bytes are those of the row, decoding shows (Segment).
#include "jpeg/indexed_rows.h"

#include "jpeg/unstuff.h"

namespace fl::jpeg {

size_t IndexedRows::room(int row, int end) const {
  const size_t most =
      size_t{static_cast<unsigned>(frame_.mcu_columns * frame_.mcu_blocks)} * kMostBlockBytes + 8;
  size_t sum = 0;
  for (SeekIndex::Row span; row < end; ++row) {
    if (!index_.row(row, span) || span.end_byte - span.byte > most) return 0;
    sum += span.end_byte - span.byte + 2;
  }
  return sum;
}

// A row may begin and end inside a byte. Its last byte is shared with the next row, and is
// unstuffed apart: behind a 0xFF it may be followed by a stuffed zero.
bool IndexedRows::load(int row, const uint8_t* coded, uint8_t*& to,
                       std::vector<Segment>& segments) const {
  SeekIndex::Row span;
  index_.row(row, span);
  const uint8_t *in = bytes_.data() + span.byte, *stop = bytes_.data() + span.end_byte;
  const uint8_t* end = bytes_.data() + bytes_.size();
  const uint64_t base = 8 * uint64_t(to - coded) + span.bit;
  Unstuffed got = unstuff(in, stop, end, to, static_cast<size_t>(stop - in), target_);
  if (got.in != stop || (got.ended && span.end_bit != 0)) return false;
  const uint64_t last = 8 * uint64_t(got.out - coded) + span.end_bit;
  to = got.out;
  if (span.end_bit != 0) to = unstuff(stop, stop + 1, end, to, 1, target_).out;
  if (to == got.out && span.end_bit != 0) return false;
  return index_.segments(row, tiles_.left, tiles_.right, base, last, segments);
}

}  // namespace fl::jpeg
