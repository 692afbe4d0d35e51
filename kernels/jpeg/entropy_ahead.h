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
// Lanes only say where MCUs begin, and their DC. What they say is what decoding in order would say,
// or they say nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "jpeg/entropy.h"
#include "jpeg/entropy_hops.h"

namespace fl::jpeg {

// Where an MCU begins.
struct McuStart {
  uint64_t bit = 0;  // of the coded bytes
  Predictors dc{};
};

// What one thread owns and reuses.
class Ahead {
 public:
  static constexpr int kLanes = 6;
  // Bytes from one lane's beginning to the next one's; with fewer nothing is gained. Fuzzers keep
  // their files small.
#ifdef FASTLOAD_FUZZ
  static constexpr uint64_t kLeast = 16;
#else
  static constexpr uint64_t kLeast = 1024;
#endif
  static constexpr int kMarks = 4096;  // of one lane

  // An MCU as a lane sees it, which does not know what was before itself.
  struct Mark {
    uint32_t bit;
    int32_t dc[kMaxComponents];  // since the lane's beginning
  };

  // Where the MCUs behind the first one begin, which begins at `from`; the last of them may be
  // where the coded bytes end. None of them is behind bit `end`. Maybe none, if there is damage.
  // coded: as entropy.h has it. The tables and the frame are those of decode_segments.
  std::span<const McuStart> find(const Frame& frame, const Tables& tables, const uint8_t* coded,
                                 const McuStart& from, uint64_t end);

 private:
  std::unique_ptr<Mark[]> marks_;  // by lane
  std::unique_ptr<Hops[]> hops_;
  std::vector<McuStart> found_;
};

}  // namespace fl::jpeg
