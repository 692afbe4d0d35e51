// Where the MCUs begin that come next in a scan, found from several places of it at a time.
//
// A Huffman-coded stream is followed symbol by symbol, each of which has to wait for the one
// before. But who begins anywhere in it soon stands where the true MCUs begin, since such codes
// synchronise themselves (S. T. Klein and Y. Wiseman, "Parallel Huffman decoding with applications
// to JPEG files", The Computer Journal 46 (2003)). So several lanes begin at several places. The
// first knows where it is. Where it comes upon an MCU that the second has found, all that the
// second has found from there on is true, since what follows depends on nothing else; and so on. In
// 200 ImageNet images that took 86 bytes on average, 1,259 at most.
//
// Lanes say where MCUs begin, and their DC; if asked, they keep the blocks, too, so that nobody has
// to decode them once more. What they say is what decoding in order would say, or they say nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "jpeg/entropy.h"

namespace fl::jpeg {

// Where an MCU begins.
struct McuStart {
  uint64_t bit = 0;  // of the coded bytes
  Predictors dc{};
  // Of the MCU before, kBlockStep apart, DC less the one before; null: they were not kept
  int16_t* blocks = nullptr;
};

// What one thread owns and reuses.
class Ahead {
 public:
  static constexpr int kLanes = 6, kKeepers = 4;  // kKeepers: where blocks are kept
  // Bytes from one lane's beginning to the next one's; with fewer nothing is gained. Fuzzers keep
  // their files small.
#ifdef FASTLOAD_FUZZ
  static constexpr uint64_t kLeast = 16;
#else
  static constexpr uint64_t kLeast = 1024;
#endif
  static constexpr int kMarks = 4096;  // of one lane
  // Blocks of all lanes that are kept at a time: few, so that they stay in the cache. One lane has
  // room for twice its share.
  static constexpr int kKept = 2048, kKeptOfLane = kKept / 2;

  // An MCU as a lane sees it, which does not know what was before itself.
  struct Mark {
    uint32_t bit;
    int32_t dc[kMaxComponents];  // since the lane's beginning
  };

  // Where the MCUs behind the first one begin, which begins at `from`; the last of them may be
  // where the coded bytes end. None of them is behind bit `end`. Maybe none, if there is damage.
  // coded: as entropy.h has it. The tables and the frame are those of decode_segments. keep: the
  // blocks too, until the next call.
  std::span<const McuStart> find(const Frame& frame, const Tables& tables, const uint8_t* coded,
                                 const McuStart& from, uint64_t end, bool keep);

 private:
  void make_room();

  std::unique_ptr<Mark[]> marks_;  // by lane
  Memory decoded_, kept_;          // blocks: of turns, and of all MCUs; once they are asked for
  std::vector<McuStart> found_;
};

}  // namespace fl::jpeg
