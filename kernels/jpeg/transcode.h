// Any JPEG that libjpeg-turbo reads as baseline: the same coefficients in one sequential Huffman
// scan.
#pragma once

#include <string>
#include <vector>

#include "jpeg/coding.h"

namespace fl::jpeg {

struct Transcoded {
  std::vector<uint8_t> bytes;
  std::string why;  // not empty: why there are none
};

// Tables are optimised, markers and what follows the end marker kept byte for byte; there are no
// restart markers. The result has been read again: its coefficients, tables and colour space are
// the old ones, libjpeg-turbo makes the same pixels of it, and parse_frame takes it. A file that
// has a warning stays as it is. Memory: kMaxCoefficientBytes for each of the two, later 3 bytes per
// pixel for each.
Transcoded transcode(Bytes bytes);

}  // namespace fl::jpeg
