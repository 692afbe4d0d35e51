// Huffman-coded bytes to blocks of coefficients. The scalar version is the specification; the tuned
// one decodes up to four segments at a time on one core and gives the same blocks and the same
// verdict for every input.
//
// A caller provides unstuffed bytes with kOverrun more that may be read, tables that were prepared
// for the frame, and Lanes, whose blocks are zeros before and after every call. No bytes, whatever
// they are, make a decoder read or write elsewhere. Neither throws.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/scratch.h"
#include "jpeg/frame.h"
#include "jpeg/huffman.h"
#include "pixels/resize.h"

namespace fl::jpeg {

constexpr int kBlockStep = 2 * kBlockValues;  // int16 from block to block
constexpr size_t kOverrun = 5120;             // bytes behind the coded ones that may be read
constexpr size_t kMostBlockBytes = 210;       // 27 bits of DC and 63 times 26 bits of AC

using Predictors = std::array<int16_t, kMaxComponents>;  // DC of the last block of each component
// And no less than its negative: both have an absolute value
constexpr int kMostDc = 32767;

// MCUs that follow each other in one MCU row and can be decoded on their own.
struct Segment {
  uint64_t begin = 0;  // bit of the coded bytes
  // The bit where it must end; of an open segment: must not pass, and then where it ended
  uint64_t end = 0;
  Predictors dc{};
  Predictors dc_end{};  // what it must end with; of an open segment: ended with
  bool open = false;
  int row = 0, column = 0, count = 0;  // MCUs
};

// MCUs of a row: first..last-1.
struct McuColumns {
  int first = 0, last = 0;
};

// Who gets the blocks. Called from the decoding thread, in order within a segment; segments of one
// call may alternate.
class BlockSink {
 public:
  virtual ~BlockSink() = default;
  // Those of an MCU row that matter; others may be taken or not.
  virtual McuColumns wanted(int row) const = 0;
  // count MCUs, each of mcu_blocks blocks kBlockStep apart; zigzag order, DC complete. To be left
  // as zeros. False: stop.
  virtual bool take(int row, int column, int count, int16_t* blocks) = 0;
};

inline void clear_blocks(int16_t* blocks, int count) {
  for (int b = 0; b < count; ++b) std::fill_n(blocks + b * kBlockStep, kBlockValues, int16_t{0});
}

// For callers that need positions, not pixels.
class Discard final : public BlockSink {
 public:
  explicit Discard(int mcu_blocks) : mcu_blocks_(mcu_blocks) {}
  McuColumns wanted(int) const override { return {}; }
  bool take(int, int, int count, int16_t* blocks) override {
    clear_blocks(blocks, count * mcu_blocks_);
    return true;
  }

 private:
  const int mcu_blocks_;
};

// kDamaged: no such code, too many coefficients, or past the end. kOtherEnd: valid, but it does not
// end where a closed segment must, so the index is wrong. kStopped: the sink said so.
enum class Verdict { kGood, kDamaged, kOtherEnd, kStopped };

// The blocks that are being decoded. One slot before a lane's blocks and one behind them take what
// a lane "stores" while it stands still. Blocks lie kBlockStep apart: 64 coefficients, and as much
// again for what an end of block stores.
class Lanes {
 public:
  static constexpr int kCount = 4;
  // Of one lane; at least one MCU
  static constexpr int kMaxBlocks = 24;
  // One before, one after
  static constexpr int kSlots = kMaxBlocks + 2;
  // Who has passed the end learns it then
  static_assert(kMaxBlocks * kMostBlockBytes + sizeof(uint64_t) <= kOverrun);

  Lanes() : memory_(allocate(kBytes)) { clear(); }
  // Where the offsets of lane 0 count from: before the lanes lies what is "stored" in the middle of
  // long codes.
  int16_t* base() { return reinterpret_cast<int16_t*>(memory_.get()); }
  int16_t* lane(int n) { return base() + kAside / kValueBytes + n * kSlots * kBlockStep; }
  void clear() { std::fill_n(memory_.get(), kBytes, uint8_t{0}); }

 private:
  static constexpr size_t kLanes = size_t{kCount} * kSlots * kBlockStep * sizeof(int16_t);
  static_assert(kLanes <= kAside);
  static constexpr size_t kBytes = kAside + kLanes;
  Memory memory_;
};

// coded: unstuffed bytes, kOverrun more may be read. Segments may be in any order; each is checked
// on its own.
namespace scalar {
Verdict decode_segments(const Frame& frame, const Tables& tables, const uint8_t* coded,
                        std::span<Segment> segments, Lanes& lanes, BlockSink& sink);
}
namespace tuned {
Verdict decode_segments(const Frame& frame, const Tables& tables, const uint8_t* coded,
                        std::span<Segment> segments, Lanes& lanes, BlockSink& sink);
}

inline Verdict decode_segments(const Frame& frame, const Tables& tables, const uint8_t* coded,
                               std::span<Segment> segments, Lanes& lanes, BlockSink& sink,
                               cpu::Target target) {
  return target == cpu::Target::kScalar
             ? scalar::decode_segments(frame, tables, coded, segments, lanes, sink)
             : tuned::decode_segments(frame, tables, coded, segments, lanes, sink);
}

// An open segment whose blocks nobody wants: the same verdict, end and DC, without coefficients.
namespace tuned {
Verdict skim(const Frame& frame, const Tables& tables, const uint8_t* coded, Segment& segment);
}

inline Verdict skim(const Frame& frame, const Tables& tables, const uint8_t* coded,
                    Segment& segment, Lanes& lanes, cpu::Target target) {
  Discard nobody(frame.mcu_blocks);
  return target == cpu::Target::kScalar
             ? scalar::decode_segments(frame, tables, coded, {&segment, 1}, lanes, nobody)
             : tuned::skim(frame, tables, coded, segment);
}

// Completes the DC of whole MCUs; false if one needs more than 16 bits.
bool add_predictors(const Frame& frame, int count, int16_t* blocks, Predictors& dc);

// Notes where an open segment ended, compares where a closed one did.
Verdict finish(Segment& segment, uint64_t bit, const Predictors& dc);

}  // namespace fl::jpeg
