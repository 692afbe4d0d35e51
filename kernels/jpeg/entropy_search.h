// What lanes that look for MCUs (entropy_ahead.h) know, and what happens between two of their
// turns, out of the way of the hot path.
#pragma once

#include <array>

#include "jpeg/bits.h"
#include "jpeg/entropy_ahead.h"
#include "jpeg/entropy_turns.h"

namespace fl::jpeg::tuned {

// From lane to lane: as Lanes has one of them, behind the same room for long codes.
constexpr int kLaneValues = (kAside + Lanes::kSlots * kBlockBytes) / kValueBytes;
constexpr int kFirstEnd = kAside / kBlockBytes;  // of block 0; before it: those of long codes

struct SearchLane {
  Ahead::Mark* marks = nullptr;  // where it has found MCUs to begin, the first its own beginning
  int count = 0;                 // of these
  int16_t* kept = nullptr;       // blocks behind each of these, if they are kept
  std::array<int32_t, kMaxComponents> dc{};  // since its beginning

  int mcus = 0;          // of this turn
  bool damaged = false;  // in this turn, in …
  int damaged_block = 0;
  bool done = false;

  int passed = 0;        // marks of the next lane that lie behind this one
  int met = -1;          // the mark of the next lane that this lane's last one is
  bool reached = false;  // the lane before has met it
  int tries = 0;         // places where it has begun and could not read on

  std::array<uint32_t, kFirstEnd + Lanes::kSlots> ends{};  // bit where a block ends, by its number
  std::array<int16_t, Lanes::kMaxBlocks> dc_steps{};       // of the turn's blocks, block 1 first
  std::array<int16_t, Lanes::kMaxBlocks> farthest{};       // the most that each was, absolute

  // Nothing but where it begins.
  void start(uint64_t bit) {
    marks[0] = {static_cast<uint32_t>(bit), {}};
    count = 1;
    dc = {};
    passed = 0;
    farthest = {};
    damaged = false;
  }
};

// Of the first component, where there are three and the others have one block each; else 0.
inline int blocks_of_first(const Frame& frame) {
  return frame.components == kMaxComponents && frame.component[1].blocks() == 1 &&
                 frame.component[2].blocks() == 1
             ? frame.component[0].blocks()
             : 0;
}

struct Search {
  const Frame& frame;
  const Tables& tables;
  const uint8_t* coded;
  const uint64_t end;    // bit
  const int most_marks;  // of a lane
  // The lanes' blocks of a turn, kLaneValues apart; null: they are not kept
  int16_t* const decoded;
  const Layout layout{frame, tables};
  const int first_blocks = blocks_of_first(frame);
  std::array<SearchLane, Ahead::kLanes> lanes{};
  int active = 0;
};

// The next 57 bits or more, the first on top.
inline uint64_t bits_at(const uint8_t* coded, uint64_t bit) {
  return load_big_endian(coded + (bit >> 3)) << (bit & 7);
}

// Ends the lane's turn at this bit, if it has one, and begins the next one, if anything is left;
// else the lane stands still.
Place next_turn(Search& search, SearchLane& lane, uint64_t bit);

}  // namespace fl::jpeg::tuned
