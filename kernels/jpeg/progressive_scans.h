// Which scans a progressive JPEG has (ITU-T T.81, annex G): what each one codes, its tables, where
// its coded bytes lie. From the markers of the whole file; nothing is decoded.
#pragma once

#include <string>
#include <vector>

#include "jpeg/frame.h"

namespace fl::jpeg {

// Each one costs a pass over the blocks, so a hostile file must not have thousands. Ten times
// libjpeg's own script; libjpeg-turbo decodes what has more.
constexpr int kMaxProgressiveScans = 100;

struct ProgressiveScan {
  int count = 0;  // components in it; several only of DC
  std::array<int, kMaxComponents> components{};
  int first = 0, last = 0;   // coefficients, in zigzag order; 0, 0: DC
  bool refines = false;      // adds a bit to what an earlier scan began; else the first of its kind
  int low = 0;               // the lowest bit that it codes
  int restart_interval = 0;  // MCUs; 0: none
  // Bytes where its Huffman tables stand: of DC one for each component, of AC one; 0: not needed
  std::array<size_t, kMaxComponents> tables{};
  size_t begin = 0, end = 0;  // coded bytes; at `end` is a marker

  bool dc() const { return first == 0; }
};

// Empty, or why not, as parse_frame has it. frame: parse_progressive has taken it. What it takes,
// libjpeg-turbo reads without an error, whatever the coded bytes are, and smooths nothing: the
// scans come in their order and leave no bit of any coefficient open.
std::string read_scans(Bytes bytes, const Frame& frame, std::vector<ProgressiveScan>& scans);

// The table at this byte, which read_scans has checked.
Codes codes_at(Bytes bytes, size_t at);

}  // namespace fl::jpeg
