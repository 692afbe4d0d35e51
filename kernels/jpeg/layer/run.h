// Runs of a coefficient layer to blocks of coefficients. The scalar version is the specification;
// the tuned one gives the same blocks and the same verdict for every input.
#pragma once

#include <span>

#include "jpeg/layer/format.h"
#include "pixels/resize.h"

namespace fl::jpeg::layer {

// `blocks` of a run; those from first..last-1 are wanted.
struct Wanted {
  int blocks = 0, first = 0, last = 0;

  int count() const { return last - first; }
};

struct Run {
  Bytes bytes;
  Wanted wanted;
};

// Where one run's parts are has to be found step by step. So several are looked at together, whose
// steps do not wait for each other's.
constexpr int kTogether = 8;
using Runs = std::span<const Run>;  // kTogether at most

// Blocks behind those that are wanted are not looked at. out: 64 values for each block that is
// wanted, in zigzag order, run after run. ends: of each, where its mask ends: all values from there
// on are zeros; 1, 9, 17, up to 65. Room for kRun more is needed, which gets anything. kOverread
// bytes behind a run may be read. False: one is damaged, and both have anything.
namespace scalar {
bool decode_runs(Runs runs, int16_t* out, uint8_t* ends);
}
namespace tuned {
bool decode_runs(Runs runs, int16_t* out, uint8_t* ends);
}

inline auto* run_decoder(cpu::Target target) {
  return target == cpu::Target::kScalar ? scalar::decode_runs : tuned::decode_runs;
}

// Where the parts of a run begin, as its first bytes say; bytes.
struct Parts {
  size_t widths = 0, sizes = 0, masks = 0, values = 0;
};

// All but the values, which begin where the masks end. False: they do not fit.
inline bool find_masks(Bytes run, int blocks, Parts& out) {
  if (run.size() < kDcHead || !is_width(run[2])) return false;
  out.widths = size_t{kDcHead} + bytes_of(blocks - 1, run[2]);
  out.sizes = out.widths + blocks;
  out.masks = out.sizes + (blocks + 1) / 2;
  return out.masks <= run.size();
}

inline bool find_parts(Bytes run, int blocks, Parts& out) {
  if (!find_masks(run, blocks, out)) return false;
  out.values = out.masks;
  for (size_t at = out.sizes; at < out.masks; ++at) out.values += (run[at] & 15) + (run[at] >> 4);
  return out.values <= run.size();
}

}  // namespace fl::jpeg::layer
