// STORE of one image and its partner on the CPU: body/mix.h at the speed of this machine.
#pragma once

#include "base/scratch.h"
#include "body/mix.h"
#include "pixels/store.h"

namespace fl::cpu {

// A batch whose images are ready as uint8 [height, width, 3] each, one after the other.
struct Mixture {
  const uint8_t* images;
  int64_t height, width;    // px
  const Partner* partners;  // one per image
  const int32_t* boxes;     // that are erased: [images, erased, 4]
  const void* fills;        // [erased, 3] of the number
  int erased;               // boxes per image
  Number number;            // what is stored, of format.item_size bytes
};

// Image n into `out`, a slot of its own. scratch: for one row of numbers. Thread-safe for different
// n. Reads image n and its partner; both must be complete.
void mix(const Mixture& batch, int64_t n, const Format& format, void* out, Scratch& scratch,
         Target target);

}  // namespace fl::cpu
