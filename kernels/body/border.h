// The specification of borders: what is seen beyond an image, as NumPy's pad has it.
#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace fl {

enum class Border : uint8_t { kConstant, kEdge, kReflect, kSymmetric };
constexpr int kBorders = 4;

// The image inside its borders, px of the whole. What is in it stays as it is.
struct Inside {
  int top, left, height, width;

  FL_HD bool holds(int y, int x) const {
    return y >= top && y < top + height && x >= left && x < left + width;
  }
};

// Of an instruction's arguments, which begin with the kind.
FL_HD Inside inside_of(const double* a) {
  return {static_cast<int>(a[1]), static_cast<int>(a[2]), static_cast<int>(a[3]),
          static_cast<int>(a[4])};
}

// Which of `count` px, 1 or more, is shown at a position that may lie beyond them (-1: just before
// the first). kReflect repeats no px at the border, kSymmetric the outermost.
FL_HD int shown(Border how, int at, int count) {
  if (how == Border::kEdge || count == 1) return at < 0 ? 0 : at < count ? at : count - 1;
  const int turn = how == Border::kReflect ? count - 1 : count;
  const int back = how == Border::kReflect ? 0 : 1;
  const int in_period = at % (2 * turn);
  const int along = in_period < 0 ? in_period + 2 * turn : in_period;
  return along < count ? along : 2 * turn - back - along;
}

}  // namespace fl
