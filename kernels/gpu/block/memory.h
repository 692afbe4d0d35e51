// Where a block keeps its image: in shared memory as far as that reaches, else in a workspace in
// global memory.
//
// The layout is a function of sizes and of what the batch's programs need, worked out by the host;
// every block of the launch has the same. Whatever the layout is, the pixels are the same.
#pragma once

#include <cstdint>

#include "base/host_device.h"
#include "gpu/block/program.h"

namespace fl::block {

constexpr int kValues = 256, kTables = 3 * kValues;
constexpr int kSlots = 32;  // banks of shared memory

// What the threads of a block tell each other.
struct State {
  uint32_t counts[kTables];  // by channel and value
  int32_t low[3], high[3];   // of the values that occur
  // Of luma, in parts: the 16 bits below, and what is above
  uint32_t sum_low[kSlots], sum_high[kSlots];
  uint8_t lut[kTables];  // lookups that are still to be done
};

FL_HD int64_t padded(int64_t bytes) { return (bytes + 15) / 16 * 16; }

// Bytes of a block, and what is in them. `shares_`: in shared memory.
struct Layout {
  int64_t image = 0;  // of one image
  bool shares_image = false, shares_other = false;
  Needs needs;
  int64_t shared = 0, workspace = 0;
};

// bytes: of an image; limit: of shared memory that a block may have. The second copy is in shared
// memory only if that leaves room for another block there, since else it can as well be the output
// itself.
FL_HD Layout layout(int64_t bytes, const Needs& needs, int64_t limit) {
  Layout out;
  const int64_t state = padded(sizeof(State));
  out.image = padded(bytes);
  out.shares_image = state + out.image <= limit;
  out.shares_other = 2 * (state + 2 * out.image) <= limit;
  out.needs = needs;
  out.shared = state + (out.shares_image ? out.image : 0) + (out.shares_other ? out.image : 0);
  if (!out.shares_image) out.workspace += out.image;
  if (needs.mixture) out.workspace += 5 * out.image;
  if (needs.rows) out.workspace += 4 * out.image;
  return out;
}

struct Memory {
  State* state;
  uint8_t *image, *other;  // other: may be out
  uint8_t* start;          // of a mixture; null where no program needs it
  float *sum, *rows;       // the same
  uint8_t* out;

  // shared, workspace: of the block, aligned to 16 bytes; out: of the image, aligned to anything.
  FL_HD Memory(const Layout& how, uint8_t* shared, uint8_t* workspace, uint8_t* out)
      : state(reinterpret_cast<State*>(shared)), out(out) {
    shared += padded(sizeof(State));
    image = how.shares_image ? shared : workspace;
    other = how.shares_other ? shared + how.image : out;
    if (!how.shares_image) workspace += how.image;
    start = how.needs.mixture ? workspace : nullptr;
    sum = how.needs.mixture ? reinterpret_cast<float*>(workspace + how.image) : nullptr;
    if (how.needs.mixture) workspace += 5 * how.image;
    rows = how.needs.rows ? reinterpret_cast<float*>(workspace) : nullptr;
  }
};

}  // namespace fl::block
