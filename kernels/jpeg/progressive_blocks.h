// The AC coefficients of blocks that follow each other in a progressive scan. The scalar version is
// the specification; the tuned one gives the same coefficients and the same verdict for any input.
#pragma once

#include <cstdint>

#include "jpeg/progressive_feed.h"
#include "jpeg/progressive_tables.h"

namespace fl::jpeg {

// What a scan codes of every block.
struct Band {
  int first = 0, last = 0;  // coefficients, in zigzag order; not DC
  int low = 0;              // their lowest bit that is coded
  const ScanTable* table = nullptr;

  // One bit for each of its coefficients from `from` on.
  uint64_t bits(int from) const {
    return from > last ? 0 : ~uint64_t{0} << from & ~uint64_t{0} >> (63 - last);
  }
};

struct Run {
  int16_t* blocks;  // 64 coefficients each, in zigzag order; null: nobody wants them
  // Bit n: coefficient n is not zero. A refining scan's bits depend on it, so it is kept of every
  // block.
  uint64_t* known;
  int count;
};

// `ended`: blocks, from the run's first on, whose band is at its end already. False: damaged.
namespace scalar {
bool decode_first(const Band& band, const Run& run, uint32_t& ended, Feed& feed);
bool decode_refining(const Band& band, const Run& run, uint32_t& ended, Feed& feed);
}  // namespace scalar
namespace tuned {
bool decode_first(const Band& band, const Run& run, uint32_t& ended, Feed& feed);
bool decode_refining(const Band& band, const Run& run, uint32_t& ended, Feed& feed);
}  // namespace tuned

}  // namespace fl::jpeg
