// The coded bytes of MCU rows by a seek index: unstuffed, with the segments that cover the tiles.
#pragma once

#include <vector>

#include "jpeg/region_tiles.h"
#include "jpeg/seek.h"

namespace fl::jpeg {

class IndexedRows {
 public:
  IndexedRows(Bytes bytes, const Frame& frame, const SeekIndex& index, const Tiles2d& tiles,
              cpu::Target target)
      : bytes_(bytes), frame_(frame), index_(index), tiles_(tiles), target_(target) {}

  // Bytes that rows row..end-1 take at most; 0: the index is wrong.
  size_t room(int row, int end) const;

  // Unstuffs the row and the byte that it shares with the next one to `to`, which moves behind
  // them; appends its segments, whose bits count from `coded` on. False: the index is wrong.
  bool load(int row, const uint8_t* coded, uint8_t*& to, std::vector<Segment>& segments) const;

 private:
  const Bytes bytes_;
  const Frame& frame_;
  const SeekIndex& index_;
  const Tiles2d tiles_;
  const cpu::Target target_;
};

}  // namespace fl::jpeg
