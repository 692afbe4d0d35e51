// Several segments at a time, so that one's table lookup hides another's latency, and no branch
// that depends on the data but for codes that are longer than two lookups tell. Offsets and turns:
// entropy_turns.h.
//
// What the loops change stays in local variables whose address nobody takes: so compilers keep it
// in registers.
//
// How it works. A lookup of 10 bits gives up to two symbols, the value of the first, and what to
// add to the bits to get the value of the second (huffman.h). Both values are stored without asking
// whether there are two: a single one is stored twice at its offset. An end of block stores a zero
// beside the block. Which table is next follows from the offset alone. So a step is the same
// instructions whatever the data are, and only long codes and damage leave the path.
#include "jpeg/entropy_turns.h"

#include <utility>

#include "jpeg/bits.h"
#include "simd/vectors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "jpeg/entropy_tuned.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace fl::jpeg::tuned::HWY_NAMESPACE {

constexpr int kStepsPerLoad = 3;
static_assert(kStepsPerLoad * kMaxEntryBits <= 56 && kStepsPerLoad == 3);

struct Slow {
  uint64_t offset;
  int length;
};

// `offset` is behind the coefficient, so it lies kValueBytes before it. It stays within Lanes:
// `most`, checked in IsSlow, and SlowStep bound the offset.
HWY_INLINE void Put(int16_t* blocks, uint64_t offset, int16_t value) {
  *reinterpret_cast<int16_t*>(reinterpret_cast<uint8_t*>(blocks) + offset - kValueBytes) = value;
}

// A code that is too long for the tables, none at all, or more coefficients than the block has
// left.
HWY_NOINLINE Slow SlowStep(Plan& plan, const Lookup& lookup, uint64_t bits, uint64_t offset,
                           int16_t* blocks) {
  const Symbol symbol = lookup.symbol(bits);
  if (lookup.prefix != 0) offset += kAside;
  const uint64_t done = offset % kOver + kValueBytes * symbol.advance;
  if (symbol.length == 0 || (!lookup.dc() && symbol.value != 0 && done > kOver)) {
    plan.bad = true;
    return {offset + kOver, symbol.length};
  }
  // A DC symbol: from the last offset of the block before
  offset += kValueBytes * (symbol.advance + lookup.dc());
  Put(blocks, offset, static_cast<int16_t>(symbol.value));
  return {offset, symbol.length};
}

// Code and value are shifted down together; the bias takes the code away and makes EXTEND of it
// (T.81 F.2.2.1).
HWY_INLINE int16_t Value(const Entry& entry, uint64_t bits) {
  return static_cast<int16_t>((bits >> (-entry.length & 63)) + entry.bias);
}

// One comparison finds both what is not in the table (`most` is 0) and a block with too many
// coefficients.
HWY_INLINE bool IsSlow(const Entry& entry, uint64_t offset) {
  return static_cast<uint8_t>(offset) > entry.most;
}

// An only symbol's offset is written twice.
HWY_INLINE uint64_t PutBoth(const Entry& entry, uint64_t bits, uint64_t offset, int16_t* blocks) {
  Put(blocks, offset + entry.first, entry.value);
  offset += entry.advance;
  Put(blocks, offset, Value(entry, bits));
  return offset;
}

// A lane's offset in the coded bytes: the lowest bit that is set in `bits` says how many have been
// taken since `next`. A bit that is set below the valid ones marks where they end, so no counter
// has to be kept beside them.
struct Cursor {
  const uint8_t* next;
  uint64_t bits;  // the next one on top

  uint64_t bit(const uint8_t* coded) const {
    return 8 * static_cast<uint64_t>(next - coded) + std::countr_zero(bits);
  }
  void move(const uint8_t* coded, uint64_t bit) {
    next = coded + (bit >> 3);
    bits = uint64_t{1} << (bit & 7);
  }
  void fill() {  // to 56 bits or more
    const auto taken = static_cast<uint64_t>(std::countr_zero(bits));
    next += taken >> 3;
    bits = (load_big_endian(next) | 1) << (taken & 7);
  }
};

HWY_INLINE void Step(Plan& plan, Cursor& cursor, uint64_t& offset, int16_t* blocks) {
  const Lookup& lookup = *plan.lookups[offset / kOver];
  const uint64_t from = offset | lookup.mask;
  const Entry& entry = lookup.entries[cursor.bits >> (64 - kLookupBits)];
  if (HWY_UNLIKELY(IsSlow(entry, from))) {
    cursor.fill();
    const Slow slow = SlowStep(plan, lookup, cursor.bits, from, blocks);
    offset = slow.offset;
    cursor.bits <<= slow.length;
    return cursor.fill();
  }
  offset = PutBoth(entry, cursor.bits, from, blocks);
  cursor.bits <<= entry.length & 63;
}

// False: it is the end.
HWY_INLINE bool Next(Plan& plan, Lane& lane, Cursor& cursor, uint64_t& offset) {
  if (HWY_LIKELY(offset < plan.end)) return true;
  Turn turn{cursor.bit(plan.coded), offset};
  const bool good = next_turn(plan, lane, turn);
  cursor.move(plan.coded, turn.bit);
  offset = turn.offset;
  return good && plan.active > 0;
}

// One step of each lane, then the next step of each: so few instructions lie between those that can
// run at a time. Each lane's code is spelled out by the compiler, since an array with a running
// index would stay in memory.
template <size_t... kLanes>
HWY_NOINLINE void Run(Plan& plan, Lanes& memory, std::index_sequence<kLanes...>) {
  constexpr size_t kStep = Lanes::kSlots * kBlockStep;
  Lane lanes[] = {{memory.lane(kLanes)}...};
  Cursor cursors[] = {{plan.coded + 0 * kLanes, 1}...};
  uint64_t offset[] = {(void(kLanes), plan.end)...};
  int16_t* const blocks = memory.base();
  while ((Next(plan, lanes[kLanes], cursors[kLanes], offset[kLanes]) && ...)) {
    (cursors[kLanes].fill(), ...);
    (Step(plan, cursors[kLanes], offset[kLanes], blocks + kLanes * kStep), ...);
    (Step(plan, cursors[kLanes], offset[kLanes], blocks + kLanes * kStep), ...);
    (Step(plan, cursors[kLanes], offset[kLanes], blocks + kLanes * kStep), ...);
  }
}

// One lane on its own waits for each symbol, so the shortest way from one to the next counts, not
// the branches: it stays in a block.
HWY_INLINE void OneStep(Plan& plan, const Lookup& lookup, Window& window, uint64_t& offset,
                        int16_t* blocks) {
  const Entry& entry = lookup.entries[window.bits >> (64 - kLookupBits)];
  if (HWY_UNLIKELY(IsSlow(entry, offset))) {
    window.fill();
    const Slow slow = SlowStep(plan, lookup, window.bits, offset, blocks);
    offset = slow.offset;
    window.take(slow.length);
    return window.fill();
  }
  offset = PutBoth(entry, window.bits, offset, blocks);
  window.take(entry.length);
}

HWY_INLINE void OneSymbol(Plan& plan, const Lookup& ac, Window& window, uint64_t& offset,
                          int16_t* blocks) {
  OneStep(plan, ac, window, offset, blocks);
  if (HWY_LIKELY(offset >= kAside)) return;
  window.fill();
  OneStep(plan, *plan.lookups[offset / kOver], window, offset, blocks);
}

HWY_INLINE uint64_t OneBlock(Plan& plan, Window& window, uint64_t offset, int16_t* blocks) {
  const Lookup &dc = *plan.lookups[offset / kOver], &ac = *plan.lookups[offset / kOver + 1];
  offset |= dc.mask;
  window.fill();
  OneStep(plan, dc, window, offset, blocks);
  while ((offset & kOver) == 0) {
    OneSymbol(plan, ac, window, offset, blocks);
    if ((offset & kOver) != 0) break;
    window.fill();
    OneSymbol(plan, ac, window, offset, blocks);
  }
  return offset;
}

HWY_NOINLINE void RunOne(Plan& plan, Lanes& memory) {
  Lane lane{memory.lane(0)};
  Turn turn;
  while (next_turn(plan, lane, turn) && plan.active > 0) {
    Window window(plan.coded, turn.bit);
    uint64_t offset = turn.offset;
    while (offset < plan.end) offset = OneBlock(plan, window, offset, memory.base());
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

Verdict decode_segments(const Frame& frame, const Tables& tables, const uint8_t* coded,
                        std::span<Segment> segments, Lanes& lanes, BlockSink& sink) {
  Plan plan(frame, tables, coded, segments, sink);
  HWY_DYNAMIC_DISPATCH(DecodeSegments)(plan, lanes);
  if (plan.verdict != Verdict::kGood) lanes.clear();
  return plan.verdict;
}

}  // namespace fl::jpeg::tuned
#endif
