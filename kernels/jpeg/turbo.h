// A region of a JPEG to RGB rows with libjpeg-turbo: the same pixels as a whole decode, for less
// work.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "base/image.h"
#include "base/scratch.h"

namespace fl::jpeg {

struct Decoded {
  Image image;        // exactly the region, padded, in the scratch memory
  std::string error;  // not empty: the library's text; no pixels then

  bool ok() const { return error.empty(); }
};

// height and width: what the caller found in the header; a stream that disagrees is an error.
// scale: 1, 2, 4 or 8; above 1 the image is decoded at 1/scale of its size, rounded up, and the
// region is px of that.
//
// ask: is told the bytes that decoding takes at most, before they are taken; it may throw.
Decoded decode_region(std::span<const uint8_t> bytes, int height, int width, const Region& region,
                      Scratch& scratch, int scale = 1, const std::function<void(size_t)>& ask = {});

std::string turbo_version();

}  // namespace fl::jpeg
