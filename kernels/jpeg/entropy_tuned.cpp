// Several segments at a time, so that one's table lookup hides another's latency, and no branch that depends on the data
// but for codes too long for the tables.
//
// A lane's place is 128 * block + coefficients done. An end of block adds 64, a full block reaches 64 by itself, so the
// bits from 6 up say which table is next; a DC symbol's table first moves the place to the end of its 128. The half of
// each 128 behind the coefficients takes what an end of block "stores" (zeros) and the values of blocks that are too long.
#include <algorithm>

#include "cpu/vectors.h"
#include "jpeg/bits.h"
#include "jpeg/entropy.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "jpeg/entropy_tuned.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef FL_JPEG_ENTROPY_TUNED
#define FL_JPEG_ENTROPY_TUNED
namespace fl::jpeg::tuned {

constexpr int kOver = 64;          // bit of the place: the block is over
constexpr int kMaxOvershoot = 16;  // coefficients that one symbol can put behind a block

// The same for every lane: blocks are numbered so that the last one of a lane's turn always has the same number.
struct Plan {
  const Frame& frame;
  const uint8_t* coded;
  BlockSink& sink;
  std::span<Segment> segments;
  size_t next_segment = 0;
  int most_mcus;   // in one turn
  int last_block;
  bool bad = false;  // a code that does not exist was met
  std::array<const Lookup*, 2 * Lanes::kSlots> lookups;  // [place / 64]
};

struct Lane {
  int16_t* slots;
  Segment* segment = nullptr;
  Predictors dc{};
  int done = 0, turn = 0;  // MCUs
};

// Behind the last block: one step forward, then stand still.
inline const Lookup& idle(bool forward) {
  const auto make = [](uint64_t mask, uint8_t advance) {
    Lookup lookup;
    lookup.mask = mask;
    lookup.entries.fill({0, advance, 0});
    return lookup;
  };
  static const Lookup step = make(kBlockStep - 1, 2), stand = make(0, 0);
  return forward ? step : stand;
}

inline Plan make_plan(const Frame& frame, const Tables& tables, const uint8_t* coded, std::span<Segment> segments,
                      BlockSink& sink) {
  Plan plan{frame, coded, sink, segments, 0, Lanes::kMaxBlocks / frame.mcu_blocks, 0, false, {}};
  plan.last_block = plan.most_mcus * frame.mcu_blocks;
  plan.lookups[0] = &idle(false);
  int block = 1;
  while (block <= plan.last_block) {
    for (int c = 0; c < frame.components; ++c) {
      for (int b = 0; b < frame.component[c].blocks(); ++b, ++block) {
        plan.lookups[2 * block - 1] = &tables.dc(c);
        plan.lookups[2 * block] = &tables.ac(c);
      }
    }
  }
  plan.lookups[2 * block - 1] = &idle(true);
  plan.lookups[2 * block] = plan.lookups[2 * block + 1] = &idle(false);
  return plan;
}

inline uint64_t begin_turn(const Plan& plan, Lane& lane) {
  lane.turn = std::min(plan.most_mcus, lane.segment->count - lane.done);
  return static_cast<uint64_t>(plan.last_block - lane.turn * plan.frame.mcu_blocks) * kBlockStep + kOver;
}

inline bool overshot(const int16_t* blocks, int count) {
  int any = 0;
  for (int b = 0; b < count; ++b)
    for (int i = 0; i < kMaxOvershoot; ++i) any |= blocks[b * kBlockStep + kBlockValues + i];
  return any != 0;
}

HWY_NOINLINE static Verdict end_turn(Plan& plan, Lane& lane, uint64_t bit) {
  const int count = lane.turn * plan.frame.mcu_blocks;
  int16_t* blocks = lane.slots + (plan.last_block - count + 1) * kBlockStep;
  if (plan.bad || bit > lane.segment->end || overshot(blocks, count)) return Verdict::kDamaged;
  if (!add_predictors(plan.frame, lane.turn, blocks, lane.dc)) return Verdict::kDamaged;
  const Segment& segment = *lane.segment;
  if (!plan.sink.take(segment.row, segment.column + lane.done, lane.turn, blocks)) return Verdict::kStopped;
  lane.done += lane.turn;
  return lane.done == segment.count ? finish(*lane.segment, bit, lane.dc) : Verdict::kGood;
}

// False: no segments left.
inline bool begin_segment(Plan& plan, Lane& lane) {
  if (plan.next_segment == plan.segments.size()) return false;
  lane.segment = &plan.segments[plan.next_segment++];
  lane.dc = lane.segment->dc;
  lane.done = 0;
  return true;
}

}  // namespace fl::jpeg::tuned
#endif  // FL_JPEG_ENTROPY_TUNED

HWY_BEFORE_NAMESPACE();
namespace fl::jpeg::tuned::HWY_NAMESPACE {

constexpr int kStepsPerLoad = 3;
static_assert(kStepsPerLoad * kMaxEntryBits <= 64 - 7);
constexpr uint64_t kNever = ~uint64_t{0};

HWY_INLINE uint64_t Load(const uint8_t* coded, uint64_t bit) {
  return load_big_endian(coded + (bit >> 3)) << (bit & 7);
}

struct Slow {
  uint64_t place;
  int length;
};

HWY_NOINLINE Slow SlowStep(Plan& plan, const Lookup& lookup, uint64_t window, uint64_t place, int16_t* slots) {
  const bool dc = lookup.mask != 0;
  const Symbol symbol = dc ? decode_dc(lookup.slow, window) : decode_ac(lookup.slow, window);
  plan.bad |= symbol.length == 0;
  place += symbol.length == 0 ? kOver : symbol.advance + (dc ? 1 : 0);  // from the last place of the 128 before
  slots[place - 1] = static_cast<int16_t>(symbol.value);
  return {place, symbol.length};
}

HWY_INLINE void Step(Plan& plan, const uint8_t* coded, uint64_t& window, uint64_t& bit, uint64_t& place, int16_t* slots) {
  const Lookup& lookup = *plan.lookups[place / kOver];
  place |= lookup.mask;
  const Entry& entry = lookup.entries[window >> (64 - kLookupBits)];
  const uint64_t length = entry.length;
  if (HWY_UNLIKELY(entry.advance == kSlow)) {
    const Slow slow = SlowStep(plan, lookup, Load(coded, bit), place, slots);
    place = slow.place;
    bit += slow.length;
    window = Load(coded, bit);
    return;
  }
  place += entry.advance;
  slots[place - 1] = static_cast<int16_t>((window >> (-length & 63)) + entry.bias);
  window <<= length & 63;
  bit += length;
}

template <int kLanes>
HWY_NOINLINE Verdict Run(Plan& plan, Lanes& memory) {
  Lane lanes[kLanes];
  uint64_t bit[kLanes] = {}, place[kLanes] = {}, end[kLanes];
  const uint64_t last = static_cast<uint64_t>(plan.last_block) * kBlockStep + kOver;
  int active = 0;
  for (int n = 0; n < kLanes; ++n) {
    lanes[n].slots = memory.lane(n);
    const bool begun = begin_segment(plan, lanes[n]);
    place[n] = begun ? begin_turn(plan, lanes[n]) : 1;
    bit[n] = begun ? lanes[n].segment->begin : 0;
    end[n] = begun ? last : kNever;
    active += begun;
  }
  int16_t* const slots = memory.lane(0);
  const uint8_t* const coded = plan.coded;
  while (active > 0) {
#pragma GCC unroll 4
    for (int n = 0; n < kLanes; ++n) {
      uint64_t window = Load(coded, bit[n]);
#pragma GCC unroll 3
      for (int step = 0; step < kStepsPerLoad; ++step)
        Step(plan, coded, window, bit[n], place[n], slots + n * Lanes::kSlots * kBlockStep);
    }
#pragma GCC unroll 4
    for (int n = 0; n < kLanes; ++n) {
      if (HWY_LIKELY(place[n] < end[n])) continue;
      const Verdict verdict = end_turn(plan, lanes[n], bit[n]);
      if (verdict != Verdict::kGood) return verdict;
      if (lanes[n].done < lanes[n].segment->count) {
        place[n] = begin_turn(plan, lanes[n]);
      } else if (begin_segment(plan, lanes[n])) {
        bit[n] = lanes[n].segment->begin;
        place[n] = begin_turn(plan, lanes[n]);
      } else {
        end[n] = kNever;
        --active;
      }
    }
  }
  return Verdict::kGood;
}

// One lane on its own waits for each symbol, so the shortest way from one to the next counts, not the branches: the
// window is filled up without waiting for the place of the next bit.
struct Window {
  const uint8_t* next;  // byte not in the window yet, or in part
  uint64_t bits = 0;
  uint64_t count = 0;  // how many are valid

  HWY_INLINE Window(const uint8_t* coded, uint64_t bit) : next(coded + (bit >> 3)) {
    fill();
    take(bit & 7);
  }
  HWY_INLINE void fill() {  // to 56 bits or more
    bits |= load_big_endian(next) >> count;
    next += (63 - count) >> 3;
    count |= 56;
  }
  HWY_INLINE void take(uint64_t length) {
    bits <<= length;
    count -= length;
  }
  HWY_INLINE uint64_t bit(const uint8_t* coded) const { return 8 * static_cast<uint64_t>(next - coded) - count; }
};

HWY_INLINE void OneSymbol(Plan& plan, const Lookup& lookup, Window& window, uint64_t& place, int16_t* slots) {
  const Entry& entry = lookup.entries[window.bits >> (64 - kLookupBits)];
  if (HWY_UNLIKELY(entry.advance == kSlow)) {
    window.fill();
    const Slow slow = SlowStep(plan, lookup, window.bits, place, slots);
    place = slow.place;
    window.take(slow.length);
    return window.fill();
  }
  const uint64_t length = entry.length;
  place += entry.advance;
  slots[place - 1] = static_cast<int16_t>((window.bits >> (-length & 63)) + entry.bias);
  window.take(length);
}

HWY_NOINLINE Verdict RunOne(Plan& plan, Lanes& memory) {
  Lane lane{memory.lane(0)};
  while (begin_segment(plan, lane)) {
    Window window(plan.coded, lane.segment->begin);
    while (lane.done < lane.segment->count) {
      uint64_t place = begin_turn(plan, lane);
      const uint64_t end = static_cast<uint64_t>(plan.last_block) * kBlockStep + kOver;
      while (place < end) {
        const Lookup &dc = *plan.lookups[place / kOver], &ac = *plan.lookups[place / kOver + 1];
        place |= dc.mask;
        window.fill();
        OneSymbol(plan, dc, window, place, lane.slots);
        OneSymbol(plan, ac, window, place, lane.slots);
        while ((place & kOver) == 0) {
          window.fill();
          OneSymbol(plan, ac, window, place, lane.slots);
          if ((place & kOver) != 0) break;
          OneSymbol(plan, ac, window, place, lane.slots);
        }
      }
      const Verdict verdict = end_turn(plan, lane, window.bit(plan.coded));
      if (verdict != Verdict::kGood) return verdict;
    }
  }
  return Verdict::kGood;
}

Verdict DecodeSegments(Plan& plan, Lanes& lanes) {
  return plan.segments.size() == 1 ? RunOne(plan, lanes) : Run<Lanes::kCount>(plan, lanes);
}

}  // namespace fl::jpeg::tuned::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fl::jpeg::tuned {

HWY_EXPORT(DecodeSegments);

Verdict decode_segments(const Frame& frame, const Tables& tables, const uint8_t* coded, std::span<Segment> segments,
                        Lanes& lanes, BlockSink& sink) {
  Plan plan = make_plan(frame, tables, coded, segments, sink);
  const Verdict verdict = HWY_DYNAMIC_DISPATCH(DecodeSegments)(plan, lanes);
  if (verdict != Verdict::kGood) lanes.clear();
  return verdict;
}

}  // namespace fl::jpeg::tuned
#endif
