// What a PNG says of itself: its header, its palette, and where its packed rows lie.
//
// Source: W3C, Portable Network Graphics (third edition), 5 (chunks) and 11 (what is in them).
// Nothing is unpacked here, and nothing outside the bytes is read.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace fl::png {

using Bytes = std::span<const uint8_t>;

enum class Colour : uint8_t { kGrey = 0, kRgb = 2, kPalette = 3, kGreyAlpha = 4, kRgbAlpha = 6 };

struct Layout {
  int height = 0, width = 0;  // px
  int depth = 0;              // bits per value
  Colour colour = Colour::kRgb;
  bool interlaced = false;
  int colours = 0;  // of the palette
  std::array<uint8_t, 3 * 256> palette{};
  std::vector<Bytes> data;  // of the chunks that hold the rows
  size_t packed = 0;        // bytes of these

  int values() const;  // per pixel, as they are stored
  int pixel_bits() const { return depth * values(); }
  // Bytes of one row of `pixels`, without the byte that names its filter.
  size_t row_bytes(int pixels) const;
};

// One of the images that an interlaced one is divided into: every `across`-th pixel from `left`, of
// every `down`-th row from `top`.
struct Pass {
  int top, left, down, across;

  int rows(const Layout& of) const { return (of.height - top + down - 1) / down; }
  int columns(const Layout& of) const { return (of.width - left + across - 1) / across; }
};

std::span<const Pass> passes(const Layout& layout);

// Bytes of all rows, unpacked, each with the byte that names its filter.
size_t unpacked_bytes(const Layout& layout);

bool is_png(Bytes bytes);

// Fills `layout`. Not empty: why Pillow is to be asked for the image. What is taken here, Pillow
// takes, with the pixels that `decode` gives: whatever is rare or odd is left to it. Checksums are
// not looked at.
std::string parse(Bytes bytes, Layout& layout);

// Whether every chunk of a parsed PNG has the checksum that it says.
bool sums_agree(Bytes bytes);

}  // namespace fl::png
