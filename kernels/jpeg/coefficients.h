// The coefficients of a region's blocks, which a progressive JPEG's scans fill one after the other;
// and of every block down to the region's last row, which coefficients are not zero.
#pragma once

#include <array>

#include "base/scratch.h"
#include "jpeg/region_tiles.h"

namespace fl::jpeg {

// The blocks of one component. Rows and columns count blocks of the whole component.
struct Grid {
  int down = 0, across = 0;   // that belong to the image
  int top = 0, bottom = 0;    // rows whose coefficients are kept; may reach beyond the image,
  int left = 0, right = 0;    // columns of these: as far as whole MCUs
  int stride = 0;             // of `known`: blocks from row to row
  int16_t* blocks = nullptr;  // 64 coefficients each, in zigzag order
  uint64_t* known = nullptr;  // from row 0 on

  bool keeps(int row, int column) const {
    return row >= top && row < bottom && column >= left && column < right;
  }
  int16_t* block(int row, int column) const {
    return blocks +
           (ptrdiff_t{row - top} * (right - left) + column - left) * ptrdiff_t{kBlockValues};
  }
  uint64_t* history(int row, int column) const { return known + ptrdiff_t{row} * stride + column; }
};

class Coefficients {
 public:
  // All zeros.
  Coefficients(const Frame& frame, const Tiles2d& tiles, Scratch& memory);

  // What the constructor takes.
  static size_t bytes(const Frame& frame, const Tiles2d& tiles);

  const Grid& of(int component) const { return grids_[component]; }

 private:
  std::array<Grid, kMaxComponents> grids_;
};

}  // namespace fl::jpeg
