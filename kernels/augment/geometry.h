// Nearest affine maps: Pillow has three ways to walk them, and each rounds in its own manner.
#pragma once

#include "augment/passes.h"

namespace fl::augment {

// a: six coefficients, output px to input px. `columns` is scratch.
void nearest_affine(const Image& in, const double* a, const Fill& fill, std::vector<int>& columns, const Passes& passes,
                    const Pixels& out);

}  // namespace fl::augment
