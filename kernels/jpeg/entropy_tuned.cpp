// Several segments at a time, so that one's table lookup hides another's latency, and no branch that depends on the
// data but for codes too long for the tables. Places and turns: entropy_turns.h.
//
// What the loops change stays in local variables whose address nobody takes: so compilers keep it in registers.
#include "jpeg/entropy_turns.h"

#include <utility>

#include "cpu/vectors.h"
#include "jpeg/bits.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "jpeg/entropy_tuned.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace fl::jpeg::tuned::HWY_NAMESPACE {

constexpr int kStepsPerLoad = 3;
static_assert(kStepsPerLoad * kMaxEntryBits <= 64 - 7 && kStepsPerLoad == 3);

struct Slow {
  uint64_t place;
  int length;
};

// A code that is too long for the tables, or none at all.
HWY_NOINLINE Slow SlowStep(Plan& plan, const Lookup& lookup, uint64_t bits, uint64_t place, int16_t* slots) {
  const bool dc = lookup.mask != 0;
  const Symbol symbol = dc ? decode_dc(lookup.slow, bits) : decode_ac(lookup.slow, bits);
  plan.bad |= symbol.length == 0;
  place += symbol.length == 0 ? kOver : symbol.advance + (dc ? 1 : 0);  // a DC symbol: from the last place of 128
  slots[place - 1] = static_cast<int16_t>(symbol.value);
  return {place, symbol.length};
}

HWY_INLINE uint64_t Load(const uint8_t* coded, uint64_t bit) {
  return load_big_endian(coded + (bit >> 3)) << (bit & 7);
}

HWY_INLINE int16_t Value(const Entry& entry, uint64_t bits) {
  return static_cast<int16_t>((bits >> (-entry.length & 63)) + entry.bias);
}

HWY_INLINE void Step(Plan& plan, uint64_t& bits, uint64_t& bit, uint64_t& place, int16_t* slots) {
  const Lookup& lookup = *plan.lookups[place / kOver];
  const uint64_t from = place | lookup.mask;
  const Entry& entry = lookup.entries[bits >> (64 - kLookupBits)];
  if (HWY_UNLIKELY(entry.advance == kSlow)) {
    const Slow slow = SlowStep(plan, lookup, Load(plan.coded, bit), from, slots);
    place = slow.place;
    bit += slow.length;
    bits = Load(plan.coded, bit);
    return;
  }
  place = from + entry.advance;
  slots[place - 1] = Value(entry, bits);
  bits <<= entry.length & 63;
  bit += entry.length;
}

// False: it is the end.
HWY_INLINE bool Next(Plan& plan, Lane& lane, uint64_t& bit, uint64_t& place) {
  if (HWY_LIKELY(place < plan.end)) return true;
  Turn turn{bit, place};
  const bool good = next_turn(plan, lane, turn);
  bit = turn.bit;
  place = turn.place;
  return good && plan.active > 0;
}

// One step of each lane, then the next step of each: so few instructions lie between those that can run at a time. Each
// lane's code is spelled out by the compiler, since an array with a running index would stay in memory.
template <size_t... kLanes>
HWY_NOINLINE void Run(Plan& plan, Lanes& memory, std::index_sequence<kLanes...>) {
  constexpr size_t kStep = Lanes::kSlots * kBlockStep;
  Lane lanes[] = {{memory.lane(kLanes)}...};
  uint64_t bit[sizeof...(kLanes)] = {}, place[] = {(void(kLanes), plan.end)...}, bits[sizeof...(kLanes)];
  int16_t* const slots = memory.lane(0);
  const uint8_t* const coded = plan.coded;
  while ((Next(plan, lanes[kLanes], bit[kLanes], place[kLanes]) && ...)) {
    ((bits[kLanes] = Load(coded, bit[kLanes])), ...);
    (Step(plan, bits[kLanes], bit[kLanes], place[kLanes], slots + kLanes * kStep), ...);
    (Step(plan, bits[kLanes], bit[kLanes], place[kLanes], slots + kLanes * kStep), ...);
    (Step(plan, bits[kLanes], bit[kLanes], place[kLanes], slots + kLanes * kStep), ...);
  }
}

// One lane on its own waits for each symbol, so the shortest way from one to the next counts, not the branches: it
// stays in a block.
HWY_INLINE void OneStep(Plan& plan, const Lookup& lookup, Window& window, uint64_t& place, int16_t* slots) {
  const Entry& entry = lookup.entries[window.bits >> (64 - kLookupBits)];
  if (HWY_UNLIKELY(entry.advance == kSlow)) {
    window.fill();
    const Slow slow = SlowStep(plan, lookup, window.bits, place, slots);
    place = slow.place;
    window.take(slow.length);
    return window.fill();
  }
  place += entry.advance;
  slots[place - 1] = Value(entry, window.bits);
  window.take(entry.length);
}

HWY_INLINE uint64_t OneBlock(Plan& plan, Window& window, uint64_t place, int16_t* slots) {
  const Lookup &dc = *plan.lookups[place / kOver], &ac = *plan.lookups[place / kOver + 1];
  place |= dc.mask;
  window.fill();
  OneStep(plan, dc, window, place, slots);
  for (;;) {
    OneStep(plan, ac, window, place, slots);
    if ((place & kOver) != 0) return place;
    window.fill();
    OneStep(plan, ac, window, place, slots);
    if ((place & kOver) != 0) return place;
  }
}

HWY_NOINLINE void RunOne(Plan& plan, Lanes& memory) {
  Lane lane{memory.lane(0)};
  Turn turn;
  while (next_turn(plan, lane, turn) && plan.active > 0) {
    Window window(plan.coded, turn.bit);
    uint64_t place = turn.place;
    while (place < plan.end) place = OneBlock(plan, window, place, lane.slots);
    turn.bit = window.bit(plan.coded);
  }
}

void DecodeSegments(Plan& plan, Lanes& lanes) {
  if (plan.segments.size() == 1) return RunOne(plan, lanes);
  Run(plan, lanes, std::make_index_sequence<Lanes::kCount>());
}

}  // namespace fl::jpeg::tuned::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fl::jpeg::tuned {

HWY_EXPORT(DecodeSegments);

Verdict decode_segments(const Frame& frame, const Tables& tables, const uint8_t* coded, std::span<Segment> segments,
                        Lanes& lanes, BlockSink& sink) {
  Plan plan(frame, tables, coded, segments, sink);
  HWY_DYNAMIC_DISPATCH(DecodeSegments)(plan, lanes);
  if (plan.verdict != Verdict::kGood) lanes.clear();
  return plan.verdict;
}

}  // namespace fl::jpeg::tuned
#endif
