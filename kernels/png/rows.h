// Rows of a PNG: from filtered bytes to values, and from values to RGB.
//
// Source: W3C, Portable Network Graphics (third edition), 9 (filters), 7.2 (how values are packed).
#pragma once

#include <cstddef>
#include <cstdint>

#include "png/layout.h"

namespace fl::png {

// Bytes behind a row that may be read, and in `expand` written, by vectors.
constexpr size_t kSlack = 64;

// Undoes one row's filter in place. above: the row above it, of the same length, or zeros; both
// have kSlack bytes behind them. step: bytes of a pixel, at least 1; filter: 0 to 4.
void unfilter(uint8_t filter, uint8_t* row, const uint8_t* above, size_t bytes, int step);

// RGB of the pixels from `first` on, of a row of values. False: one of them is not in the palette.
bool expand(const Layout& layout, const uint8_t* row, int first, int count, uint8_t* out);

namespace scalar {

void unfilter(uint8_t filter, uint8_t* row, const uint8_t* above, size_t bytes, int step);

}  // namespace scalar
}  // namespace fl::png
