// Marks, where lanes meet, and what becomes of one that cannot read on.
#include "jpeg/entropy_search.h"

#include <algorithm>
#include <cstdlib>

namespace fl::jpeg::tuned {
namespace {

// A lane's DC, in registers from MCU to MCU.
class Sums {
 public:
  Sums(const Frame& frame, const SearchLane& lane) : dc_(lane.dc), reach_(lane.reach) {
    for (int c = 0; c < frame.components; ++c) blocks_[c] = frame.component[c].blocks();
  }
  // steps: of the MCU's blocks.
  void add(const int16_t* steps) {
    for (int c = 0; c < kMaxComponents; ++c) {
      for (int b = blocks_[c]; b > 0; --b) {
        dc_[c] += *steps++;
        reach_ = std::max(reach_, std::abs(dc_[c]));
      }
    }
  }
  void put(Ahead::Mark& mark) const {
    for (int c = 0; c < kMaxComponents; ++c) mark.dc[c] = dc_[c];
  }
  void put(SearchLane& lane) const {
    lane.dc = dc_;
    lane.reach = reach_;
  }

 private:
  std::array<int, kMaxComponents> blocks_{};
  std::array<int32_t, kMaxComponents> dc_;
  int32_t reach_;
};

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

// The turn's MCUs, as far as they are whole. True: the lane has nothing more to do.
bool take_mcus(Search& search, SearchLane& lane) {
  const int blocks = search.frame.mcu_blocks, all = lane.mcus * blocks,
            before = search.layout.last_block - all;
  const int whole = lane.damaged ? (lane.damaged_block - before - 1) / blocks : lane.mcus;
  const uint32_t* ends = &lane.ends[kFirstEnd + before];
  const int16_t* steps = &lane.dc_steps[before];
  // Most turns meet nothing, and end nowhere.
  const bool plain =
      ends[whole * blocks] < nothing_till(search, lane) && lane.count + whole <= search.most_marks;
  Sums sums(search.frame, lane);
  bool done = false;
  for (int mcu = 0; mcu < whole && !done; ++mcu, ends += blocks, steps += blocks) {
    done = !plain && (ends[blocks] > search.end || lane.count == search.most_marks);
    if (done) break;
    sums.add(steps);
    Ahead::Mark& mark = lane.marks[lane.count++];
    mark.bit = ends[blocks];
    sums.put(mark);
    done = !plain && meets(search, lane);
  }
  sums.put(lane);
  return done;
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
