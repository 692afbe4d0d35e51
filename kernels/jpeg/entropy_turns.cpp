// Turns of the tuned decoder: what happens between two runs of its loop, out of the way of the hot
// path. A lane ends its turn when its offset passes `Plan::end`. All lanes end at the same block
// number, however many blocks they decode, so the loop compares with one constant.
#include "jpeg/entropy_turns.h"

#include <algorithm>

namespace fl::jpeg::tuned {
namespace {

// Behind the last block: one step forward, then stand still.
const Lookup& idle(bool forward) {
  const auto make = [](uint64_t mask, uint8_t advance) {
    Lookup lookup;
    lookup.mask = mask;
    lookup.place_mask = place_of(mask, 0);
    lookup.entries.fill({0, advance, kAnyOffset, 0, 0, advance});
    return lookup;
  };
  static const Lookup step = make(kBlockBytes - kValueBytes, 2 * kValueBytes), stand = make(0, 0);
  return forward ? step : stand;
}

// Checked before anything is handed on: no code was bad, the segment's end is not passed, DC fits
// 16 bits. The sink sets the blocks to zero again.
Verdict end_turn(Plan& plan, Lane& lane, uint64_t bit) {
  Segment& segment = *lane.segment;
  int16_t* blocks =
      lane.slots + (plan.last_block - lane.count * plan.frame.mcu_blocks + 1) * kBlockStep;
  if (plan.bad || bit > segment.end) return Verdict::kDamaged;
  if (!add_predictors(plan.frame, lane.count, blocks, lane.dc)) return Verdict::kDamaged;
  if (!plan.sink.take(segment.row, segment.column + lane.done, lane.count, blocks))
    return Verdict::kStopped;
  lane.done += lane.count;
  return lane.done == segment.count ? finish(segment, bit, lane.dc) : Verdict::kGood;
}

}  // namespace

// The table by offset: below kAside the second halves of long codes, by block; from kAside on, by
// turns a block's DC table (in the upper half of the block before) and its AC table.
Layout::Layout(const Frame& frame, const Tables& tables)
    : most_mcus(Lanes::kMaxBlocks / frame.mcu_blocks),
      last_block(most_mcus * frame.mcu_blocks),
      end(kAside + static_cast<uint64_t>(last_block) * kBlockBytes + kOver) {
  lookups.fill(&idle(false));
  int block = 1;
  while (block <= last_block) {
    for (int c = 0; c < frame.components; ++c) {
      for (int b = 0; b < frame.component[c].blocks(); ++b, ++block) {
        lookups[kAside / kOver + 2 * block - 1] = &tables.dc(c);
        lookups[kAside / kOver + 2 * block] = &tables.ac(c);
        lookups[2 * block] = &tables.long_ac(c);
      }
    }
  }
  lookups[kAside / kOver + 2 * block - 1] = &idle(true);
}

Plan::Plan(const Frame& frame, const Tables& tables, const uint8_t* coded,
           std::span<Segment> segments, BlockSink& sink)
    : Layout(frame, tables), frame(frame), coded(coded), segments(segments), sink(sink) {}

bool next_turn(Plan& plan, Lane& lane, Turn& turn) {
  if (lane.segment != nullptr) plan.verdict = end_turn(plan, lane, turn.bit);
  if (plan.verdict != Verdict::kGood) return false;
  if (lane.segment == nullptr || lane.done == lane.segment->count) {
    plan.active -= lane.segment != nullptr;
    turn.offset = Layout::kStill;
    if (plan.next_segment == plan.segments.size()) return true;
    lane.segment = &plan.segments[plan.next_segment++];
    lane.dc = lane.segment->dc;
    lane.done = 0;
    turn.bit = lane.segment->begin;
    ++plan.active;
  }
  lane.count = std::min(plan.most_mcus, lane.segment->count - lane.done);
  turn.offset = plan.begin(lane.count * plan.frame.mcu_blocks);
  return true;
}

}  // namespace fl::jpeg::tuned
