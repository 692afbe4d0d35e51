// AUGMENT: a program on one image. Two versions with the same bits: scalar (plain loops over
// body/augment_*.h) and tuned.
#pragma once

#include "augment/passes.h"
#include "augment/program.h"
#include "pixels/resize.h"

namespace fl::augment {

// Memory of one thread, reused from image to image. `trim` gives back what is larger than usual.
struct Workspace {
  Scratch other;             // ops that cannot work in place write here, and back
  Scratch rows;              // float rows of a blur
  Scratch start, sum;        // of a mixture: the image it starts from, and float32 sums
  Scratch uniforms;          // of a user's function
  std::vector<int> columns;  // input column of each output column, of a scaling
  Lut lut;

  void trim(size_t keep) {
    other.trim(keep);
    rows.trim(keep);
    start.trim(keep);
    sum.trim(keep);
    uniforms.trim(keep);
  }
  size_t held() const {
    return other.capacity() + rows.capacity() + start.capacity() + sum.capacity() +
           uniforms.capacity();
  }
};

struct Result {
  Pixels image;  // the one given, or the workspace's
  // The last ops, where they are lookups: not applied yet; null: nothing left to do
  const Lut* pending;
};

// Needs a checked program for an image of this size. `image` is contiguous, with kPadding bytes
// after it that may be overwritten. Throws std::runtime_error where a user's function fails.
Result run(const Program& program, Pixels image, Workspace& workspace, cpu::Target target);

void apply(const Result& result, cpu::Target target);  // the pending lookups

}  // namespace fl::augment
