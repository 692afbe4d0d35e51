// Two bytes for each coefficient under the region, and one bit for each above and beside it: so a
// small crop of a large photograph takes little. Sizes follow from the frame and the region, not
// from the coded bytes.
#include "jpeg/coefficients.h"

#include <algorithm>

namespace fl::jpeg {
namespace {

int ceil_div(int a, int b) { return (a + b - 1) / b; }

Grid grid_of(const Frame& frame, const Tiles2d& tiles, const Component& part) {
  Grid out;
  out.down = ceil_div(part.height, part.block);
  out.across = ceil_div(part.width, part.block);
  out.top = tiles.top * part.v;
  out.bottom = tiles.bottom * part.v;
  out.left = tiles.left * part.h;
  out.right = tiles.right * part.h;
  out.stride = frame.mcu_columns * part.h;
  return out;
}

size_t kept(const Grid& grid) {
  return size_t(grid.bottom - grid.top) * size_t(grid.right - grid.left);
}

size_t passed(const Grid& grid) { return size_t(grid.bottom) * size_t(grid.stride); }

constexpr size_t kBlockBytes = kBlockValues * sizeof(int16_t);

}  // namespace

size_t Coefficients::bytes(const Frame& frame, const Tiles2d& tiles) {
  size_t sum = 0;
  for (int c = 0; c < frame.components; ++c) {
    const Grid grid = grid_of(frame, tiles, frame.component[c]);
    sum += kept(grid) * kBlockBytes + passed(grid) * sizeof(uint64_t);
  }
  return sum;
}

// Blocks first, of all components: each is two cache lines then.
Coefficients::Coefficients(const Frame& frame, const Tiles2d& tiles, Scratch& memory) {
  const size_t all = bytes(frame, tiles);
  uint8_t* at = memory.reserve(all);
  std::fill_n(at, all, uint8_t{0});
  for (int c = 0; c < frame.components; ++c) {
    Grid& grid = grids_[c] = grid_of(frame, tiles, frame.component[c]);
    grid.blocks = reinterpret_cast<int16_t*>(at);
    at += kept(grid) * kBlockBytes;
  }
  for (int c = 0; c < frame.components; ++c) {
    grids_[c].known = reinterpret_cast<uint64_t*>(at);
    at += passed(grids_[c]) * sizeof(uint64_t);
  }
}

}  // namespace fl::jpeg
