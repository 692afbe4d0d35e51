// A step is that of entropy_tuned.cpp, but it notes where each block has ended, too; so a lane is
// two registers, and the position is always known. Where no blocks are kept it leaves values out;
// DC is decoded afterwards, when all blocks of a turn are known and none waits for another.
#include "jpeg/entropy_ahead.h"

#include <algorithm>
#include <array>
#include <utility>

#include "jpeg/bits.h"
#include "jpeg/entropy_turns.h"
#include "simd/vectors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "jpeg/entropy_ahead.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "jpeg/entropy_search.h"

HWY_BEFORE_NAMESPACE();
namespace fl::jpeg::tuned::HWY_NAMESPACE {

// `offset` is behind the coefficient (entropy_tuned.cpp).
HWY_INLINE void Put(int16_t* blocks, uint64_t offset, int value) {
  *reinterpret_cast<int16_t*>(reinterpret_cast<uint8_t*>(blocks) + offset - kValueBytes) =
      static_cast<int16_t>(value);
}

HWY_INLINE int Value(const Entry& entry, uint64_t bits) {
  return static_cast<int16_t>((bits >> (-entry.length & 63)) + entry.bias);
}

// A code that is too long for the tables, none at all, or more coefficients than the block has
// left. Where it is damaged, the lane's turn is over.
template <bool kKeep>
HWY_NOINLINE Place SlowStep(const Search& search, SearchLane& lane, int16_t* blocks, Place at) {
  const uint32_t bit = bit_of(at);
  const Lookup& lookup = *search.layout.lookups[offset_of(at) / kOver];
  const Symbol symbol = lookup.symbol(bits_at(search.coded, bit));
  uint64_t offset = offset_of(at) | lookup.mask;
  if (lookup.prefix != 0) offset += kAside;
  const uint64_t done = offset % kOver + kValueBytes * symbol.advance;
  if (symbol.length == 0 || (!lookup.dc() && symbol.value != 0 && done > kOver)) {
    lane.damaged = true;
    lane.damaged_block =
        static_cast<int>((offset - kAside + (lookup.dc() ? kOver : 0)) / kBlockBytes);
    return place_of(search.layout.end + kOver + kValueBytes, bit);
  }
  offset += kValueBytes * (symbol.advance + lookup.dc());
  if constexpr (kKeep) Put(blocks, offset, symbol.value);
  return place_of(offset, bit + symbol.length);
}

template <bool kKeep>
HWY_INLINE void Step(const Search& search, SearchLane& lane, int16_t* blocks, Place& at,
                     uint64_t& bits) {
  const Lookup& lookup = *search.layout.lookups[offset_of(at) / kOver];
  const Place from = at | lookup.place_mask;
  const Entry& entry = lookup.entries[bits >> (64 - kLookupBits)];
  if (HWY_UNLIKELY(static_cast<uint8_t>(offset_of(from)) > entry.most)) {
    at = SlowStep<kKeep>(search, lane, blocks, at);
    bits = bits_at(search.coded, bit_of(at));
  } else {
    at = from + (std::bit_cast<uint64_t>(entry) & kMoves);
    if constexpr (kKeep) {
      Put(blocks, offset_of(from) + entry.first, entry.value);
      Put(blocks, offset_of(at), Value(entry, bits));
    }
    bits <<= entry.length & 63;
  }
  lane.ends[offset_of(at) / kBlockBytes] = bit_of(at);
}

// The DC that stands here less the one before, of a block that has been found valid. Whether an AC
// symbol stands in the entry behind it, nobody can guess: so there is no branch for it.
HWY_INLINE int16_t DcStep(const Lookup& table, uint64_t bits) {
  const Entry& entry = table.entries[bits >> (64 - kLookupBits)];
  if (HWY_UNLIKELY(entry.most == 0)) return static_cast<int16_t>(table.symbol(bits).value);
  const int together = -static_cast<int>(entry.first != entry.advance);  // all ones, or none
  return static_cast<int16_t>((entry.value & together) | (Value(entry, bits) & ~together));
}

// A block of the lane's turn, by its number.
HWY_INLINE int16_t* Slot(int16_t* blocks, int number) {
  return &blocks[kAside / kValueBytes + (number + 1) * kBlockStep];
}

// Those that were taken, in front; the turn's are zeros again.
HWY_INLINE void MoveBlocks(int16_t* from, int count, int taken, int16_t* to) {
  for (int n = 0; n < count; ++n, from += kBlockStep, to += kBlockStep) {
    if (n < taken) std::copy_n(from, kBlockValues, to);
    std::fill_n(from, kBlockValues, int16_t{0});
  }
}

// next_turn(), once the DC of the turn's blocks is known; also of those behind damage, where it
// says nothing.
template <bool kKeep>
HWY_NOINLINE Place NextTurn(Search& search, SearchLane& lane, int16_t* blocks, uint64_t bit) {
  const int each = search.frame.mcu_blocks, count = lane.mcus * each, before = lane.count;
  const int last = search.layout.last_block, first = last - count;
  for (int n = first; n < last; ++n)
    lane.dc_steps[n] = kKeep ? *Slot(blocks, n)
                             : DcStep(*search.layout.lookups[kAside / kOver + 2 * n + 1],
                                      bits_at(search.coded, lane.ends[kFirstEnd + n]));
  const Place next = next_turn(search, lane, bit);
  if (kKeep && count > 0)
    MoveBlocks(Slot(blocks, first), count, (lane.count - before) * each,
               lane.kept + ptrdiff_t{before - 1} * each * kBlockStep);
  return next;
}

// One step of each lane, then the next step of each (entropy_tuned.cpp).
template <bool kKeep, size_t... kLanes>
HWY_NOINLINE void Run(Search& search, std::index_sequence<kLanes...>) {
  SearchLane* const lanes = search.lanes.data();
  int16_t* const blocks = search.decoded;  // of lane 0
  constexpr size_t kStep = kKeep ? kLaneValues : 0;
  const Place end = place_of(search.layout.end, 0);
  Place at[] = {(void(kLanes), end)...};
  const auto next = [&](SearchLane& lane, int16_t* own, Place& place) HWY_ATTR {
    if (HWY_LIKELY(place < end)) return true;
    place = NextTurn<kKeep>(search, lane, own, bit_of(place));
    return search.active > 0;
  };
  while ((next(lanes[kLanes], blocks + kLanes * kStep, at[kLanes]) && ...)) {
    uint64_t bits[] = {bits_at(search.coded, bit_of(at[kLanes]))...};
    (Step<kKeep>(search, lanes[kLanes], blocks + kLanes * kStep, at[kLanes], bits[kLanes]), ...);
    (Step<kKeep>(search, lanes[kLanes], blocks + kLanes * kStep, at[kLanes], bits[kLanes]), ...);
    (Step<kKeep>(search, lanes[kLanes], blocks + kLanes * kStep, at[kLanes], bits[kLanes]), ...);
  }
}

void Look(Search& search) { Run<false>(search, std::make_index_sequence<Ahead::kLanes>()); }
void LookAndKeep(Search& search) { Run<true>(search, std::make_index_sequence<Ahead::kKeepers>()); }

}  // namespace fl::jpeg::tuned::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fl::jpeg {
namespace tuned {

HWY_EXPORT(Look);
HWY_EXPORT(LookAndKeep);

namespace {

void look(Search& search) {
  if (search.decoded == nullptr)
    HWY_DYNAMIC_DISPATCH(Look)(search);
  else
    HWY_DYNAMIC_DISPATCH(LookAndKeep)(search);
}

// Appends where the MCUs of a lane begin, from behind its mark `first` on, which stands for `at`.
// False: DC might not fit 16 bits, in one of the MCUs or between two blocks of one.
bool append(const SearchLane& lane, int first, const McuStart& at, const Frame& frame,
            std::vector<McuStart>& out) {
  const ptrdiff_t mcu_values = ptrdiff_t{frame.mcu_blocks} * kBlockStep;
  std::array<int32_t, kMaxComponents> base;
  for (int c = 0; c < kMaxComponents; ++c) base[c] = at.dc[c] - lane.marks[first].dc[c];
  const size_t before = out.size();
  out.resize(before + static_cast<size_t>(lane.count - first - 1));
  McuStart* start = out.data() + before;
  int32_t least = 0, most = 0;
  for (int n = first + 1; n < lane.count; ++n, ++start) {
    start->bit = lane.marks[n].bit;
    for (int c = 0; c < kMaxComponents; ++c) {
      const int32_t dc = base[c] + lane.marks[n].dc[c];
      least = std::min(least, dc);
      most = std::max(most, dc);
      start->dc[c] = static_cast<int16_t>(dc);
    }
    if (lane.kept != nullptr) start->blocks = lane.kept + (n - 1) * mcu_values;
  }
  const int farthest = std::ranges::max(lane.farthest);
  if (std::max(-least, most) + int64_t{frame.mcu_blocks} * farthest <= kMostDc) return true;
  out.resize(before);
  return false;
}

int16_t* values(const Memory& memory) { return reinterpret_cast<int16_t*>(memory.get()); }

}  // namespace
}  // namespace tuned

void Ahead::make_room() {
  constexpr size_t kBytes = size_t{kKeepers} * tuned::kLaneValues * sizeof(int16_t);
  decoded_ = allocate(kBytes);
  std::fill_n(decoded_.get(), kBytes, uint8_t{0});
  kept_ = allocate(size_t{kKeepers} * kKeptOfLane * kBlockStep * sizeof(int16_t));
}

std::span<const McuStart> Ahead::find(const Frame& frame, const Tables& tables,
                                      const uint8_t* coded, const McuStart& from, uint64_t end,
                                      bool keep) {
  found_.clear();
  // Of a file that is cut off the last bytes do not count, though MCUs may have taken them.
  const uint64_t all = end - std::min(end, from.bit);
  const auto lanes =
      static_cast<int>(std::min<uint64_t>(keep ? kKeepers : kLanes, all / (8 * kLeast)));
  if (lanes < 2) return found_;
  if (marks_ == nullptr) marks_.reset(new Mark[size_t{kLanes} * kMarks]);
  if (keep && kept_ == nullptr) make_room();
  tuned::Search search{frame,
                       tables,
                       coded,
                       end,
                       keep ? std::min(kMarks, kKeptOfLane / frame.mcu_blocks + 1) : kMarks,
                       keep ? tuned::values(decoded_) : nullptr};
  for (int n = 0; n < kLanes; ++n) {
    tuned::SearchLane& lane = search.lanes[n];
    lane.done = n >= lanes;
    if (lane.done) continue;
    lane.marks = &marks_[size_t(n) * kMarks];
    if (keep) lane.kept = tuned::values(kept_) + size_t(n) * kKeptOfLane * kBlockStep;
    lane.start(n == 0 ? from.bit : (from.bit + n * (all / lanes)) & ~uint64_t{7});
  }
  tuned::look(search);
  McuStart at = from;
  for (int n = 0, first = 0;; first = search.lanes[n++].met) {
    const tuned::SearchLane& lane = search.lanes[n];
    if (!tuned::append(lane, first, at, frame, found_) || lane.met < 0) return found_;
    if (!found_.empty()) at = found_.back();
  }
}

}  // namespace fl::jpeg
#endif
