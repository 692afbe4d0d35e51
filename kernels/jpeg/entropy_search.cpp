// Marks, where lanes meet, and what becomes of one that cannot read on.
#include "jpeg/entropy_search.h"

#include <algorithm>

namespace fl::jpeg::tuned {
namespace {

// A lane's DC, in registers from MCU to MCU.
class Sums {
 public:
  explicit Sums(const SearchLane& lane) : dc_(lane.dc) {}

  // steps: of the MCU's blocks. kFirst: blocks of the first component where the others have one
  // each, so that nothing branches; 0: the frame says.
  template <int kFirst>
  void add(const Frame& frame, const int16_t* steps) {
    if constexpr (kFirst > 0) {
      for (int b = 0; b < kFirst; ++b) dc_[0] += steps[b];
      for (int c = 1; c < kMaxComponents; ++c) dc_[c] += steps[kFirst + c - 1];
    } else {
      for (int c = 0; c < frame.components; ++c)
        for (int b = frame.component[c].blocks(); b > 0; --b) dc_[c] += *steps++;
    }
  }
  void put(Ahead::Mark& mark) const {
    for (int c = 0; c < kMaxComponents; ++c) mark.dc[c] = dc_[c];
  }
  void put(SearchLane& lane) const { lane.dc = dc_; }

 private:
  std::array<int32_t, kMaxComponents> dc_;
};

// Also by what earlier turns have left there, and by what is behind damage: they make it no less.
void note_farthest(SearchLane& lane) {
  for (int n = 0; n < Lanes::kMaxBlocks; ++n) {
    const int16_t step = lane.dc_steps[n];
    const auto size = std::max(step, static_cast<int16_t>(-step));
    lane.farthest[n] = std::max(lane.farthest[n], size);
  }
}

const SearchLane* next_of(const Search& search, const SearchLane& lane) {
  return &lane == &search.lanes.back() || (&lane)[1].count == 0 ? nullptr : &lane + 1;
}

// Before this bit the lane neither meets the next one nor passes the end.
uint64_t nothing_till(const Search& search, const SearchLane& lane) {
  const SearchLane* const next = next_of(search, lane);
  return next != nullptr ? next->marks[0].bit : search.end;
}

// Whether the lane's last mark is one of the next lane's.
bool meets(Search& search, SearchLane& lane) {
  if (next_of(search, lane) == nullptr) return false;
  SearchLane& next = (&lane)[1];
  const uint32_t bit = lane.marks[lane.count - 1].bit;
  while (lane.passed < next.count && next.marks[lane.passed].bit < bit) ++lane.passed;
  if (lane.passed == next.count || next.marks[lane.passed].bit != bit) return false;
  lane.met = lane.passed;
  next.reached = true;
  return true;
}

// What a turn has found: `ends` has where the MCU before it ends, then where its blocks do.
struct Found {
  int mcus, blocks;  // blocks: of an MCU
  const uint32_t* ends;
  const int16_t* steps;
};

void mark(SearchLane& lane, const Sums& sums, uint32_t bit) {
  Ahead::Mark& mark = lane.marks[lane.count++];
  mark.bit = bit;
  sums.put(mark);
}

// Where nothing is met, and nothing ends.
template <int kFirst>
void take_plain(const Frame& frame, SearchLane& lane, const Found& found) {
  Sums sums(lane);
  for (int mcu = 0; mcu < found.mcus; ++mcu) {
    sums.add<kFirst>(frame, found.steps + mcu * found.blocks);
    mark(lane, sums, found.ends[(mcu + 1) * found.blocks]);
  }
  sums.put(lane);
}

// True: the lane has nothing more to do.
bool take_to_the_end(Search& search, SearchLane& lane, const Found& found) {
  Sums sums(lane);
  bool done = false;
  for (int mcu = 0; mcu < found.mcus && !done; ++mcu) {
    const uint32_t bit = found.ends[(mcu + 1) * found.blocks];
    done = bit > search.end || lane.count == search.most_marks;
    if (done) break;
    sums.add<0>(search.frame, found.steps + mcu * found.blocks);
    mark(lane, sums, bit);
    done = meets(search, lane);
  }
  sums.put(lane);
  return done;
}

// The turn's MCUs, as far as they are whole. True: the lane has nothing more to do.
bool take_mcus(Search& search, SearchLane& lane) {
  const int blocks = search.frame.mcu_blocks, all = lane.mcus * blocks,
            before = search.layout.last_block - all;
  const int whole = lane.damaged ? (lane.damaged_block - before - 1) / blocks : lane.mcus;
  note_farthest(lane);
  const Found found{whole, blocks, &lane.ends[kFirstEnd + before], &lane.dc_steps[before]};
  if (found.ends[whole * blocks] >= nothing_till(search, lane) ||
      lane.count + whole > search.most_marks)
    return take_to_the_end(search, lane, found);
  switch (search.first_blocks) {
    case 4:
      take_plain<4>(search.frame, lane, found);
      break;
    case 2:
      take_plain<2>(search.frame, lane, found);
      break;
    case 1:
      take_plain<1>(search.frame, lane, found);
      break;
    default:
      take_plain<0>(search.frame, lane, found);
  }
  return false;
}

// Of a photograph eight are usual.
constexpr int kMostTries = 256;

// One that has guessed where to begin begins anew behind what it cannot read. True: it gives up,
// since others rely on what it has, or come before it finds anything.
bool give_up(Search& search, SearchLane& lane, uint64_t bit) {
  if (&lane == &search.lanes.front() || lane.reached) return true;
  if (bit + 1 >= nothing_till(search, lane) || ++lane.tries == kMostTries) return true;
  lane.start(bit + 1);
  (&lane)[-1].passed = 0;
  return false;
}

}  // namespace

Place next_turn(Search& search, SearchLane& lane, uint64_t bit) {
  if (lane.mcus > 0)
    lane.done = take_mcus(search, lane) || (lane.damaged && give_up(search, lane, bit));
  else if (!lane.done)
    ++search.active;
  if (lane.done) {
    search.active -= lane.mcus > 0;
    return place_of(Layout::kStill, bit);
  }
  if (lane.count == 1) bit = lane.marks[0].bit;
  lane.mcus = search.layout.most_mcus;
  const int blocks = lane.mcus * search.frame.mcu_blocks;
  lane.ends[kFirstEnd + search.layout.last_block - blocks] = static_cast<uint32_t>(bit);
  return place_of(search.layout.begin(blocks), bit);
}

}  // namespace fl::jpeg::tuned
