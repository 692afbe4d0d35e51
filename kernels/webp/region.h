// A region of a WebP to RGB rows, by libwebp.
//
// All rows are decoded, though those below the region are not needed: their bits may end too early,
// and whether an image is bad does not depend on the region.
#pragma once

#include <functional>
#include <string>

#include "base/image.h"
#include "base/scratch.h"
#include "webp/layout.h"

namespace fl::webp {

std::string libwebp_version();

struct Decoded {
  Image image;        // exactly the region, padded, in `pixels`
  std::string error;  // not empty: why Pillow is to be asked; no pixels then

  bool ok() const { return error.empty(); }
};

// ask: is told the bytes that decoding takes at most, before they are taken; it may throw. Needs a
// region that is not empty. Throws std::bad_alloc.
Decoded decode(Bytes bytes, const Region& region, Scratch& pixels,
               const std::function<void(size_t)>& ask);

}  // namespace fl::webp
