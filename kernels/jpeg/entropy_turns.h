// The tuned decoder's work in turns: a lane decodes a few MCUs into its blocks, then they are
// checked and handed on.
//
// A lane's offset (huffman.h) counts the bytes of its blocks. An end of block adds 128, a full
// block reaches 128 by itself, so the bits from 7 up say which table is next; a DC symbol's table
// first moves the offset to the last of its 256. The half of each 256 behind the coefficients takes
// what an end of block "stores": zeros.
#pragma once

#include "jpeg/entropy.h"

namespace fl::jpeg::tuned {

constexpr int kBlockBytes = 2 * kOver;  // from block to block
static_assert(kBlockBytes == kBlockStep * sizeof(int16_t));

// Which table is next, by the offset. The same for every lane: blocks are numbered so that the last
// one of a turn always has the same number.
struct Layout {
  int most_mcus;  // in one turn
  int last_block;
  uint64_t end;  // a turn is over from this offset on
  std::array<const Lookup*, kAside / kOver + 2 * Lanes::kSlots>
      lookups{};  // [offset / kOver]; before the first and behind the last block they stand still

  Layout(const Frame& frame, const Tables& tables);

  // Of a turn of so many blocks; of a lane that stands still.
  uint64_t begin(int blocks) const {
    return kAside + static_cast<uint64_t>(last_block - blocks) * kBlockBytes + kOver;
  }
  static constexpr uint64_t kStill = kAside + kValueBytes;
};

struct Plan : Layout {
  const Frame& frame;
  const uint8_t* coded;
  std::span<Segment> segments;
  BlockSink& sink;

  size_t next_segment = 0;
  int active = 0;    // lanes that have a segment
  bool bad = false;  // a code that does not exist was met
  Verdict verdict = Verdict::kGood;

  Plan(const Frame& frame, const Tables& tables, const uint8_t* coded, std::span<Segment> segments,
       BlockSink& sink);
};

struct Lane {
  int16_t* slots;
  Segment* segment = nullptr;
  Predictors dc{};
  int done = 0, count = 0;  // MCUs: of the segment, in this turn
};

// Where a lane is in its turn.
struct Turn {
  uint64_t bit = 0;  // of the coded bytes
  uint64_t offset = 0;
};

// Ends the lane's turn, if it has one, and begins the next one, if anything is left; else the lane
// stands still. False: look at plan.verdict.
bool next_turn(Plan& plan, Lane& lane, Turn& turn);

}  // namespace fl::jpeg::tuned
