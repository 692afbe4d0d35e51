// The coded tiles of a region, strip by strip, by the cheapest way in: the index, restart markers,
// or from the start.
#pragma once

#include <string>

#include "jpeg/entropy_pass.h"
#include "jpeg/region.h"
#include "jpeg/region_tiles.h"
#include "jpeg/seek_notes.h"

namespace fl::jpeg {

// For one region. Strips must come in order; after an error nothing more is decoded.
class Scan {
 public:
  Scan(Bytes bytes, const Frame& frame, const SeekIndex* index, const Tiles2d& tiles,
       Workspace& workspace, cpu::Target target, SeekNotes* notes = nullptr);

  // MCU rows row..end-1; strips come in order. Empty, or why not.
  std::string decode(int row, int end, BlockSink& sink);

  // What is behind the last strip.
  void note_rest() {
    if (notes_ != nullptr) notes_->rest(pass_);
  }

 private:
  std::string by_index(int row, int end, BlockSink& sink);
  std::string in_order(int end, BlockSink& sink);
  std::string by_restarts(int end, BlockSink& sink);
  bool decode_run(int64_t to, BlockSink& sink);
  bool next_interval(bool decoded);

  const Bytes bytes_;
  const Frame& frame_;
  const SeekIndex* const index_;
  const Tiles2d tiles_;
  Workspace& workspace_;
  const cpu::Target target_;
  SeekNotes* const notes_;  // may be null

  Pass pass_;
  int next_row_ = 0;      // in order: not decoded yet
  int64_t next_mcu_ = 0;  // with restart markers: not decoded yet
  size_t interval_ = 0;   // byte where the interval of next_mcu_ begins, if that is its first MCU
};

}  // namespace fl::jpeg
