// A small JPEG encoder, for streams of random coefficients with any sampling and any code lengths.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "check.h"

namespace fl::check {

struct Stream {
  int height, width;                         // px
  std::vector<std::pair<int, int>> factors;  // h, v of each component
  int quantiser = 8;
  bool long_codes = false;  // lengths 2, 3, 4, … and then all of 16 bits; else all of one length
  int restart = 0;          // MCUs; 0: no markers
};

std::vector<uint8_t> encode(const Stream& stream, Random& random);

}  // namespace fl::check
