// From a PNG's values to RGB, as Pillow converts them: of 16 bits the higher 8, alpha left out.
#include <algorithm>

#include "base/image.h"
#include "png/rows.h"

namespace fl::png {
namespace {

// 7.2: values of less than a byte lie from its highest bits down.
int value_at(const uint8_t* row, int depth, int x) {
  const int64_t bit = int64_t{x} * depth;
  return row[bit / 8] >> (8 - depth - bit % 8) & ((1 << depth) - 1);
}

void grey(int value, uint8_t*& out) {
  out = std::fill_n(out, kChannels, static_cast<uint8_t>(value));
}

// kBytes: of a pixel; kApart: from one of its values to the next.
template <int kBytes, int kApart>
void colours(const uint8_t* from, int count, uint8_t* out) {
  for (; count > 0; --count, from += kBytes, out += kChannels) {
    out[0] = from[0];
    out[1] = from[kApart];
    out[2] = from[2 * kApart];
  }
}

template <int kBytes>
void greys(const uint8_t* from, int count, uint8_t* out) {
  for (; count > 0; --count, from += kBytes) grey(*from, out);
}

void small_greys(const uint8_t* row, int depth, int first, int count, uint8_t* out) {
  const int scale = 255 / ((1 << depth) - 1);
  for (int x = first; x < first + count; ++x) grey(value_at(row, depth, x) * scale, out);
}

bool looked_up(const Layout& layout, const uint8_t* row, int first, int count, uint8_t* out) {
  int most = 0;
  for (int x = first; x < first + count; ++x) {
    const int value = layout.depth == 8 ? row[x] : value_at(row, layout.depth, x);
    most = std::max(most, value);
    out = std::copy_n(&layout.palette[size_t{3} * value], kChannels, out);
  }
  return most < layout.colours;
}

}  // namespace

bool expand(const Layout& layout, const uint8_t* row, int first, int count, uint8_t* out) {
  if (layout.colour == Colour::kPalette) return looked_up(layout, row, first, count, out);
  if (layout.depth < 8) return small_greys(row, layout.depth, first, count, out), true;
  const uint8_t* from = row + static_cast<size_t>(first) * layout.pixel_bits() / 8;
  switch (layout.pixel_bits()) {
    case 8:
      greys<1>(from, count, out);
      break;
    case 16:
      greys<2>(from, count, out);
      break;
    case 24:
      std::copy_n(from, size_t{3} * count, out);
      break;
    case 32:
      layout.colour == Colour::kGreyAlpha ? greys<4>(from, count, out)
                                          : colours<4, 1>(from, count, out);
      break;
    case 48:
      colours<6, 2>(from, count, out);
      break;
    default:
      colours<8, 2>(from, count, out);
  }
  return true;
}

}  // namespace fl::png
