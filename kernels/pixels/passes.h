// The two passes of a resize. Same signatures for the scalar and for the tuned version.
#pragma once

#include <cstdint>

#include "base/image.h"
#include "pixels/weights.h"

namespace fl::cpu {

constexpr int kGroup = 4;  // the tuned horizontal pass makes this many pixels at a time

// Rows that a horizontal pass writes have room for whole groups and one vector store past them. An
// odd number of cache lines, so that a column of many rows does not fall on few sets of the cache.
inline size_t row_bytes(int width) {
  const size_t bytes = static_cast<size_t>((width + kGroup - 1) / kGroup * kGroup) * kChannels;
  return ((bytes + 2 * kPadding - 1) / kPadding | 1) * kPadding;
}

// horizontal: every output column of every row of `in`. vertical_row: output row `row`, `bytes`
// values; `in` is the first source row of the axis.
namespace scalar {
void horizontal(const Image& in, const Axis& axis, const Pixels& out);
void vertical_row(const uint8_t* in, ptrdiff_t stride, const Axis& axis, int row, uint8_t* out,
                  int bytes);
}  // namespace scalar

namespace tuned {
// in.padded must hold; out rows have row_bytes().
void horizontal(const Image& in, const Axis& axis, const Pixels& out);
void vertical_row(const uint8_t* in, ptrdiff_t stride, const Axis& axis, int row, uint8_t* out,
                  int bytes);
}  // namespace tuned

}  // namespace fl::cpu
