// AUGMENT's passes over one image. Same signatures for the scalar and for the tuned version.
#pragma once

#include <cstdint>
#include <vector>

#include "augment/program.h"
#include "base/image.h"
#include "base/scratch.h"
#include "body/augment_blur.h"
#include "body/augment_geometry.h"

namespace fl::augment {

struct Lut {
  uint8_t of[kChannels][256];
};

struct Counts {
  uint32_t of[kChannels][256];
};

using Fill = std::array<uint8_t, 3>;

struct Blur {
  std::vector<float> across, down;  // weights; odd counts
};

// Images have kPadding bytes after the last row, which may be read and overwritten. `in` and `out`
// never overlap and are of one size. What each pass computes is said in body/augment_*.h; these are
// its loops.
struct Passes {
  void (*lookup)(const Pixels& image, const Lut& lut);
  void (*count)(const Image& image, Counts& counts);
  int64_t (*luma_sum)(const Image& image);
  void (*saturate)(const Pixels& image, float factor);
  void (*sharpen)(const Image& in, float factor, const Pixels& out);
  void (*hue)(const Pixels& image, int turn);
  void (*flip_x)(const Image& in, const Pixels& out);
  void (*fixed)(const Image& in, const FixedMap& map, const Fill& fill, const Pixels& out);
  void (*affine)(const Image& in, const AffineMap& map, Sampling how, const Fill& fill,
                 const Pixels& out);
  void (*perspective)(const Image& in, const PerspectiveMap& map, Sampling how, const Fill& fill,
                      const Pixels& out);
  // One of BoxBlur's passes, along rows or down columns; `row` is scratch.
  void (*box)(const Image& in, const Box& box, bool down, Scratch& row, const Pixels& out);
  void (*blur)(const Image& in, const Blur& how, Scratch& rows, const Pixels& out);
  // Sums of whole images: contiguous, and so is `sum`, whose kPadding bytes after the last value
  // may be overwritten. first: what was in `sum` does not count
  void (*add)(const Image& image, float weight, bool first, float* sum);
  void (*cut)(const float* sum, const Pixels& out);
  void (*mix)(const Image& start, const float* sum, float weight, const Pixels& out);
  // From `start` (0) to `image` (1)
  void (*blend)(const Image& start, float factor, const Pixels& image);
};

extern const Passes scalar_passes, tuned_passes;

inline Texture texture(const Image& image) {
  return {image.data, image.height, image.width, image.stride};
}

}  // namespace fl::augment
