// AUGMENT on the device. Linked from augment.cu, or from no_cuda.cpp where CMake found no CUDA
// compiler.
#pragma once

#include <cstdint>

#include "gpu/block/program.h"

namespace fl::cuda {

// Device pointers. images and out: uint8 [count, height, width, 3], and do not overlap; programs:
// the packed bytes, aligned to 16; workspace: augment_workspace bytes, aligned to 16; 0 where that
// is 0.
struct AugmentArgs {
  uintptr_t images, programs, out, workspace;
};

// Bytes for a batch on the current device.
int64_t augment_workspace(const block::PackedShape& batch);

// Neither allocates nor synchronises. Throws std::runtime_error with CUDA's own name and file:line.
void augment(const block::PackedShape& batch, const AugmentArgs& args, uintptr_t stream);

}  // namespace fl::cuda
