// A region of a PNG to RGB rows.
//
// Of a PNG all rows must be unpacked, since Deflate is one stream; filters are undone down to the
// last row that is needed. Whether an image is bad does not depend on the region.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/image.h"
#include "base/scratch.h"
#include "png/layout.h"

struct libdeflate_decompressor;

namespace fl::png {

const char* libdeflate_version();

struct FreeUnpacker {
  void operator()(libdeflate_decompressor* unpacker) const noexcept;
};

// What a thread owns and uses again from image to image.
struct Workspace {
  Layout layout;
  Scratch joined;  // the packed rows, where they lie in several chunks
  Scratch rows;    // unpacked
  Scratch colours;  // the region, and one row of an interlaced image
  std::unique_ptr<libdeflate_decompressor, FreeUnpacker> unpacker;

  size_t held() const { return joined.capacity() + rows.capacity() + colours.capacity(); }
  void trim(size_t keep) {
    joined.trim(keep);
    rows.trim(keep);
    colours.trim(keep);
  }
};

struct Decoded {
  Image image;        // exactly the region, padded, in the workspace
  std::string error;  // not empty: why Pillow is to be asked; no pixels then

  bool ok() const { return error.empty(); }
};

// ask: is told the bytes that decoding takes at most, before they are taken; it may throw. Needs
// bytes that `parse` took, and a region that is not empty. Throws std::bad_alloc.
Decoded decode(Bytes bytes, const Region& region, Workspace& space,
               const std::function<void(size_t)>& ask);

// The values of one channel of 8 bits as they are stored, of a palette image its indices: into
// height rows of width bytes each. Not empty: why Pillow is to be asked. Needs a layout of this
// size that `parse` took. Throws std::bad_alloc.
std::string numbers(Bytes bytes, Workspace& space, uint8_t* out);

}  // namespace fl::png
