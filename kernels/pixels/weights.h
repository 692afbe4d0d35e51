// Which source rows or columns make each output row or column, and with what weights: Pillow's
// coefficients.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/image.h"

namespace fl::cpu {

// One direction of a resize, cut down to the outputs that a window shows.
struct Axis {
  // Unchanged · one source each (nearest, or mirrored) · weighted sums
  enum class Kind { kCopy, kPick, kWeigh };

  Kind kind = Kind::kCopy;
  int offset = 0;          // first row/column of the window that shows the image
  int count = 0;           // how many do; 0: none
  int begin = 0, end = 0;  // source rows/columns needed, px of the span
  int taps = 0;            // weights per output, padded with zeros to the longest, even

  std::vector<int32_t> first;    // [count]: first source - begin, or kOutside
  std::vector<int32_t> weights;  // [count, taps], 2^22 = 1
  // [count, taps / 2, 2]: the same weights for 16-bit multiply-adds, see split_pair
  std::vector<int32_t> pairs;

  // Nearest may round past the last pixel; Pillow leaves that black
  static constexpr int kOutside = -1;
};

// One direction of a resize, before it is worked out.
struct Span {
  // px of the source in this direction: the box, and what is left of the px at its ends
  int size;
  int resized;    // px it becomes
  int window;     // first resized px that the output shows
  int out;        // px of the output
  bool mirrored;  // the output shows them in reverse order
  double begin;   // of the box, px of the source: 0 <= begin
  double length;  // of the box, px of the source: begin + length <= size

  bool whole() const { return begin == 0.0 && length == size; }
};

// Fills `axis`, reusing its memory. Throws std::bad_alloc only. Needs a span of a checked crop.
void plan_axis(Filter filter, const Span& span, Axis& axis);

Filter parse_filter(const std::string& name);

}  // namespace fl::cpu
