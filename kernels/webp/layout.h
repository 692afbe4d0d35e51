// What a WebP says of itself: its size, and whether it is one still image that fills its canvas.
//
// Source: RFC 9649, 2 (WebP's container). Nothing is decoded here, and nothing outside the bytes is
// read.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace fl::webp {

using Bytes = std::span<const uint8_t>;

struct Layout {
  int height = 0, width = 0;  // px
  bool lossless = false;
  bool alpha = false;  // of what Pillow takes for an image with transparency
};

bool is_webp(Bytes bytes);

// Fills `layout`. Not empty: why Pillow is to be asked for the image: whatever is rare or odd is
// left to it.
std::string parse(Bytes bytes, Layout& layout);

}  // namespace fl::webp
