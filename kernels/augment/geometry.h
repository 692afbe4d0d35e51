// Nearest affine maps: Pillow has three ways to walk them, and each rounds in its own manner.
#pragma once

#include "augment/passes.h"

namespace fl::augment {

// a: six coefficients, output px to input px. `columns` is scratch. Every px of `out` is written.
// `passes` has the fixed-point walk, which is worth tuning.
void nearest_affine(const Image& in, const double* a, const Fill& fill, std::vector<int>& columns,
                    const Passes& passes, const Pixels& out);

// Whole pixels, not turned and not scaled: every filter has all its weight on one pixel.
bool whole_shift(const Instruction& it);

}  // namespace fl::augment
