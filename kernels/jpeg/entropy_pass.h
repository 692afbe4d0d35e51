// The scan in order, from any point where decoding can begin afresh; unstuffed window by window, so
// that a scan of any size takes the same memory.
#pragma once

#include <string>

#include "base/scratch.h"
#include "jpeg/entropy_ahead.h"

namespace fl::jpeg {

// A position in the file: bit 0..7 of a byte, the highest first.
struct FilePosition {
  size_t byte = 0;
  int bit = 0;
};

class Pass {
 public:
  Pass(Bytes bytes, const Frame& frame, Tables& tables, Lanes& lanes, Ahead& ahead, Scratch& window,
       cpu::Target target);

  void start(size_t byte);

  // Which MCUs since start() have blocks that are wanted: first..last-1. whole: all that are behind
  // them will be asked for, too.
  void expect(int64_t first, int64_t last, bool whole) {
    first_ = first;
    last_ = last;
    whole_ = whole;
  }

  // The next `count` MCUs, which stand in one row from `column` on; the sink may not get those that
  // it does not want. False: why() says why.
  bool decode(int row, int column, int count, BlockSink& sink);

  const std::string& why() const { return why_; }
  const Predictors& dc() const { return dc_; }
  uint64_t coded_bits() const { return dropped_ + bit_; }  // since start()
  // Whether it is known where the next `count` MCUs end, before they are decoded. Looks for it
  // where nothing is known any more.
  bool foresees(int count);
  // The end of the next `count` MCUs, which are foreseen; its bit counts as coded_bits() does.
  McuStart after(int count) const;
  FilePosition position();  // where the next MCU begins
  // Fewer than 8 bits are left before a marker
  bool at_marker();
  // The byte where it stands; at_marker()
  size_t marker() const { return static_cast<size_t>(in_ - bytes_.data()); }

 private:
  bool run(int row, int column, int count, BlockSink* sink);
  Verdict in_order(int row, int column, int count, BlockSink* sink);
  bool known(int count);  // foresees(), where the window is full
  // Bit of the window up to which MCUs are worth finding, and whether their blocks are wanted.
  struct Reach {
    uint64_t end;
    bool keep;
  };
  Reach reach() const;
  Verdict by_blocks(int row, int column, int count, BlockSink& sink);
  Verdict by_starts(int row, int column, int count, BlockSink* sink);
  void pass_over(int count);
  void fill();
  uint64_t limit() const;

  const Bytes bytes_;
  const Frame& frame_;
  Tables& tables_;
  Lanes& lanes_;
  Ahead& ahead_;
  const cpu::Target target_;
  uint8_t* const window_;
  const int most_;  // MCUs of a piece, for which a full window is always enough

  const uint8_t* in_;
  size_t filled_ = 0;     // bytes in the window
  uint64_t bit_ = 0;      // in the window
  uint64_t dropped_ = 0;  // bits that were in the window before
  bool ended_ = false;    // at a marker or at the end of the file
  bool cut_ = false;      // at the latter
  Predictors dc_{};
  int64_t done_ = 0, first_ = 0, last_ = 0;  // MCUs since start()
  bool whole_ = true;
  std::span<const McuStart> starts_;  // of the MCUs behind the next one
  uint64_t starts_dropped_ = 0;       // `dropped_` where their bits count from
  bool looks_ = false;                // whether they are worth finding
  int in_vain_ = 0;                   // looks that have found too little
  size_t counted_ = 0;                // byte in the window up to which file_ is known
  size_t file_ = 0;                   // where that is in the file
  std::string why_;
};

}  // namespace fl::jpeg
