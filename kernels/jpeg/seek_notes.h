// Checkpoints for a seek index, noted while the scan is decoded in order: by whoever needs its
// blocks anyway, or alone.
#pragma once

#include <vector>

#include "jpeg/entropy_pass.h"

namespace fl::jpeg {

class SeekNotes {
 public:
  // step: MCUs per entry, 0: rows only. The frame must live until `pack`; it has no restart
  // markers.
  void begin(const Frame& frame, int step);

  // The next MCU row, all of it. False: pass.why() says why.
  bool row(Pass& pass, BlockSink& sink);
  bool rest(Pass& pass);  // the rows that are left; their blocks are thrown away

  // Every row is noted
  bool complete() const { return frame_ != nullptr && rows_ == frame_->mcu_rows; }

  // The index, once complete. file_hash: XXH3 of `bytes`.
  std::vector<uint8_t> pack(Bytes bytes, uint64_t file_hash) const;

  // One giant image must not hold its memory for the rest of the run.
  void trim(size_t keep);  // bytes
  size_t held() const { return (starts_.capacity() + entries_.capacity()) * sizeof(Checkpoint); }

  struct Checkpoint {
    // Of a row's start: of the file from the scan on; else coded bits since the one before
    uint64_t bit;
    Predictors dc;
  };

 private:
  void start(Pass& pass);
  // The next row, where the pass foresees it, and where it does not.
  bool foreseen(Pass& pass, BlockSink& sink);
  bool by_steps(Pass& pass, BlockSink& sink);

  const Frame* frame_ = nullptr;
  int step_ = 0;                     // as the index says
  int rows_ = 0;                     // noted
  std::vector<Checkpoint> starts_;   // rows, and the scan's end
  std::vector<Checkpoint> entries_;  // of all rows, without the rows' starts
};

}  // namespace fl::jpeg
