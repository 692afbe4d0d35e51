// Nearest affine maps as Pillow walks them (Geometry.c). A position decides which pixel is copied,
// so each way must round as Pillow does at every step:
//
//   scaled   axes stay apart (ImagingScaleAffine): positions are running sums in double
//   fixed    16.16 fixed point, if no corner is 32768 px or more away (affine_fixed)
//   summed   all others: running sums in double, along a row and from row to row
//
// Bit-equal on the GPU: gpu/block/space.h has the same three, with tables for the first.
#include "augment/geometry.h"

#include <cmath>
#include <cstring>

namespace fl::augment {
namespace {

void fill_pixels(uint8_t* row, int from, int to, const Fill& fill) {
  for (int x = from; x < to; ++x) std::memcpy(row + x * kChannels, fill.data(), kChannels);
}

// Axes that stay apart: positions are running sums. What comes from outside is the fill. `columns`
// is made once for all rows. Where the map only shifts, whole runs are copied.
void scaled(const Image& in, const double* a, const Fill& fill, std::vector<int>& columns,
            const Pixels& out) {
  columns.resize(out.width);
  int first = out.width, end = 0;
  double at = a[2] + a[0] * 0.5;
  for (int x = 0; x < out.width; ++x, at += a[0]) {
    columns[x] = inside(at, in.width);
    if (columns[x] < 0) continue;
    if (x < first) first = x;
    end = x + 1;
  }
  if (end < first) first = end;
  const bool shifted =
      a[0] == 1.0 && first < end && columns[end - 1] - columns[first] == end - 1 - first;
  at = a[5] + a[4] * 0.5;
  for (int y = 0; y < out.height; ++y, at += a[4]) {
    uint8_t* row = out.row(y);
    const int line = inside(at, in.height);
    const int begin = line < 0 ? 0 : first, stop = line < 0 ? 0 : end;
    fill_pixels(row, 0, begin, fill);
    if (shifted && begin < stop)
      std::memcpy(row + begin * kChannels, in.row(line) + columns[begin] * kChannels,
                  (stop - begin) * kChannels);
    else
      for (int x = begin; x < stop; ++x)
        std::memcpy(row + x * kChannels,
                    columns[x] < 0 ? fill.data() : in.row(line) + columns[x] * kChannels,
                    kChannels);
    fill_pixels(row, stop, out.width, fill);
  }
}

// Maps from too far away for fixed point: running sums in double.
void summed(const Image& in, const double* a, const Fill& fill, const Pixels& out) {
  double left = a[2] + a[0] * 0.5 + a[1] * 0.5, top = a[5] + a[3] * 0.5 + a[4] * 0.5;
  for (int y = 0; y < out.height; ++y, left += a[1], top += a[4]) {
    double at_x = left, at_y = top;
    for (int x = 0; x < out.width; ++x, at_x += a[0], at_y += a[3]) {
      const int column = inside(at_x, in.width), line = inside(at_y, in.height);
      const uint8_t* from =
          column >= 0 && line >= 0 ? in.row(line) + column * kChannels : fill.data();
      std::memcpy(out.row(y) + x * kChannels, from, kChannels);
    }
  }
}

}  // namespace

void nearest_affine(const Image& in, const double* a, const Fill& fill, std::vector<int>& columns,
                    const Passes& passes, const Pixels& out) {
  if (a[1] == 0 && a[3] == 0) return scaled(in, a, fill, columns, out);
  if (fits_fixed(a, out.height, out.width)) return passes.fixed(in, FixedMap(a), fill, out);
  summed(in, a, fill, out);
}

bool whole_shift(const Instruction& it) {
  const auto& a = it.arguments;
  return it.code == Code::kAffine && a[0] == 1 && a[1] == 0 && a[3] == 0 && a[4] == 1 &&
         a[2] == std::floor(a[2]) && a[5] == std::floor(a[5]);
}

}  // namespace fl::augment
