// A step is that of entropy_tuned.cpp, without values: it notes where each block has ended. DC is
// decoded afterwards, when all blocks of a turn are known and none waits for another.
#include "jpeg/entropy_ahead.h"

#include <algorithm>
#include <array>
#include <cstdlib>
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

// A code that is too long for the tables, none at all, or more coefficients than the block has
// left. Where it is damaged, the lane's turn is over.
HWY_NOINLINE Place SlowStep(const Search& search, SearchLane& lane, Place at) {
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
  return place_of(offset + kValueBytes * (symbol.advance + lookup.dc()), bit + symbol.length);
}

HWY_INLINE void Step(const Search& search, SearchLane& lane, Place& at, uint64_t& bits) {
  const Hops& hops = *search.hops[offset_of(at) / kOver];
  const Place from = at | hops.mask;
  const uint64_t next = bits >> (64 - kLookupBits);
  if (HWY_UNLIKELY(static_cast<uint8_t>(offset_of(from)) > hops.most[next])) {
    at = SlowStep(search, lane, at);
    bits = bits_at(search.coded, bit_of(at));
  } else {
    at = from + hops.by[next];
    bits <<= hops.by[next] & 63;
  }
  lane.ends[offset_of(at) / kBlockBytes] = bit_of(at);
}

// The DC that stands here less the one before, of a block that has been found valid. Whether an AC
// symbol stands in the entry behind it, nobody can guess: so there is no branch for it.
HWY_INLINE int16_t DcStep(const Lookup& table, uint64_t bits) {
  const Entry& entry = table.entries[bits >> (64 - kLookupBits)];
  if (HWY_UNLIKELY(entry.most == 0)) return static_cast<int16_t>(table.symbol(bits).value);
  const int only = static_cast<int16_t>((bits >> (-entry.length & 63)) + entry.bias);
  const int together = -static_cast<int>(entry.first != entry.advance);  // all ones, or none
  return static_cast<int16_t>((entry.value & together) | (only & ~together));
}

// next_turn(), once the DC of the turn's blocks is known; also of those behind damage, where it
// says nothing.
HWY_NOINLINE Place NextTurn(Search& search, SearchLane& lane, uint64_t bit) {
  const int last = search.layout.last_block;
  for (int n = last - lane.mcus * search.frame.mcu_blocks; n < last; ++n)
    lane.dc_steps[n] = DcStep(*search.layout.lookups[kAside / kOver + 2 * n + 1],
                              bits_at(search.coded, lane.ends[kFirstEnd + n]));
  return next_turn(search, lane, bit);
}

// One step of each lane, then the next step of each (entropy_tuned.cpp).
template <size_t... kLanes>
HWY_NOINLINE void Run(Search& search, std::index_sequence<kLanes...>) {
  SearchLane* const lanes = search.lanes.data();
  const Place end = place_of(search.layout.end, 0);
  Place at[] = {(void(kLanes), end)...};
  const auto next = [&](SearchLane& lane, Place& place) HWY_ATTR {
    if (HWY_LIKELY(place < end)) return true;
    place = NextTurn(search, lane, bit_of(place));
    return search.active > 0;
  };
  while ((next(lanes[kLanes], at[kLanes]) && ...)) {
    uint64_t bits[] = {bits_at(search.coded, bit_of(at[kLanes]))...};
    (Step(search, lanes[kLanes], at[kLanes], bits[kLanes]), ...);
    (Step(search, lanes[kLanes], at[kLanes], bits[kLanes]), ...);
    (Step(search, lanes[kLanes], at[kLanes], bits[kLanes]), ...);
  }
}

void Look(Search& search) { Run(search, std::make_index_sequence<Ahead::kLanes>()); }

}  // namespace fl::jpeg::tuned::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fl::jpeg {
namespace tuned {

HWY_EXPORT(Look);

namespace {

void look(Search& search) { HWY_DYNAMIC_DISPATCH(Look)(search); }

// Appends where the MCUs of a lane begin, from behind its mark `first` on, which stands for `at`.
// False: DC might not fit 16 bits.
bool append(const SearchLane& lane, int first, const McuStart& at, std::vector<McuStart>& out) {
  for (const int16_t dc : at.dc)
    if (std::abs(dc) + 2 * int64_t{lane.reach} > kMostDc) return false;
  const Ahead::Mark& origin = lane.marks[first];
  for (int n = first + 1; n < lane.count; ++n) {
    McuStart& start = out.emplace_back();
    start.bit = lane.marks[n].bit;
    for (int c = 0; c < kMaxComponents; ++c)
      start.dc[c] = static_cast<int16_t>(at.dc[c] + lane.marks[n].dc[c] - origin.dc[c]);
  }
  return true;
}

// Each table once, however many components and blocks share it.
void take_hops(Search& search, std::span<Hops> room) {
  std::array<const Lookup*, kMostTables> known{};
  int count = 0;
  for (size_t n = 0; n < search.hops.size(); ++n) {
    const Lookup* const lookup = search.layout.lookups[n];
    const auto* const found = std::find(known.begin(), known.begin() + count, lookup);
    search.hops[n] = &room[found - known.begin()];
    if (found != known.begin() + count) continue;
    room[count].take(*lookup);
    known[count++] = lookup;
  }
}

}  // namespace
}  // namespace tuned

std::span<const McuStart> Ahead::find(const Frame& frame, const Tables& tables,
                                      const uint8_t* coded, const McuStart& from, uint64_t end) {
  found_.clear();
  // Of a file that is cut off the last bytes do not count, though MCUs may have taken them.
  const uint64_t all = end - std::min(end, from.bit);
  const auto lanes = static_cast<int>(std::min<uint64_t>(kLanes, all / (8 * kLeast)));
  if (lanes < 2) return found_;
  if (marks_ == nullptr) {
    marks_.reset(new Mark[size_t{kLanes} * kMarks]);
    hops_.reset(new Hops[tuned::kMostTables]);
  }
  tuned::Search search{frame, tables, coded, end};
  for (int n = 0; n < kLanes; ++n) {
    tuned::SearchLane& lane = search.lanes[n];
    lane.marks = &marks_[size_t(n) * kMarks];
    if (n < lanes)
      lane.start(n == 0 ? from.bit : (from.bit + n * (all / lanes)) & ~uint64_t{7});
    else
      lane.done = true;
  }
  tuned::take_hops(search, {hops_.get(), tuned::kMostTables});
  tuned::look(search);
  McuStart at = from;
  for (int n = 0, first = 0;; first = search.lanes[n++].met) {
    const tuned::SearchLane& lane = search.lanes[n];
    if (!tuned::append(lane, first, at, found_) || lane.met < 0) return found_;
    if (!found_.empty()) at = found_.back();
  }
}

}  // namespace fl::jpeg
#endif
