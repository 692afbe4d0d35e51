// The specification of upsampling: from a component's samples to one value per pixel, as
// libjpeg-turbo does by default
// ("fancy": each output lies a quarter of a sample from its own sample, so 3/4 of that and 1/4 of
// the next nearest). At the image's edges the missing neighbour is the edge sample itself.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/host_device.h"

namespace fl {

// How a component reaches full size. libjpeg smooths these three ratios; every other one repeats
// samples.
enum class Upsampling { kNone, kH2V1, kH1V2, kH2V2, kRepeat };

// horizontal, vertical: output pixels per sample. samples: the component's true width. smooth:
// false where blocks shrink to one pixel (libjpeg then repeats samples). jinit_upsampler of
// libjpeg's jdsample.c.
FL_HD Upsampling choose_upsampling(int horizontal, int vertical, int samples, bool smooth = true) {
  if (horizontal == 1 && vertical == 1) return Upsampling::kNone;
  if (!smooth) return Upsampling::kRepeat;
  if (horizontal == 1 && vertical == 2) return Upsampling::kH1V2;
  // Libjpeg smooths 3 samples or more
  if (horizontal != 2 || vertical > 2 || samples <= 2) return Upsampling::kRepeat;
  return vertical == 1 ? Upsampling::kH2V1 : Upsampling::kH2V2;
}

// Does output row y need the row of samples below its own (+1) or above (-1)? Own row: y / 2.
FL_HD int far_row(int y) { return y % 2 == 0 ? -1 : 1; }

// Rounding alternates between neighbours, so that the picture as a whole does not get brighter.
FL_HD uint8_t blend_h2v1(int own, int neighbour, bool right) {
  return static_cast<uint8_t>((3 * own + neighbour + (right ? 2 : 1)) >> 2);
}

FL_HD uint8_t blend_h1v2(int near, int far, bool below) {
  return static_cast<uint8_t>((3 * near + far + (below ? 2 : 1)) >> 2);
}

// own, neighbour: 3 * near + far of their columns. Both directions at once, rounded once: 9/16,
// 3/16, 3/16 and 1/16.
FL_HD uint8_t blend_h2v2(int own, int neighbour, bool right) {
  return static_cast<uint8_t>((3 * own + neighbour + (right ? 7 : 8)) >> 4);
}

// The sample that pixel x leans to: left of its own sample for an even x, right for an odd one.
FL_HD int neighbour_sample(int x, int samples) {
  const int at = x / 2 + (x % 2 == 0 ? -1 : 1);
  return at < 0 ? 0 : at >= samples ? samples - 1 : at;
}

}  // namespace fl
