// The DC coefficients of MCUs that follow each other in a row of a progressive scan.
#pragma once

#include <span>

#include "jpeg/progressive_feed.h"
#include "jpeg/progressive_tables.h"

namespace fl::jpeg {

// One component of the scan; its MCU has one block in a scan of its own.
struct DcPart {
  int across = 1, down = 1;          // blocks of an MCU
  const ScanTable* table = nullptr;  // not of refining scans
  int sum = 0;                       // DC of the block before
  int16_t* to = nullptr;             // the first MCU's first block; null: nobody wants them
  ptrdiff_t line = 0;                // int16 from a row of blocks to the next
};

// low: the lowest bit that is coded. False: damaged.
bool decode_dc(std::span<DcPart> parts, bool refines, int low, int count, Feed& feed);

}  // namespace fl::jpeg
