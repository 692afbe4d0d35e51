// STORE on the device. Linked from store.cu, or from no_cuda.cpp where CMake found no CUDA
// compiler.
#pragma once

#include <cstdint>

#include "gpu/block/store.h"

namespace fl::cuda {

extern const bool built;

// Neither allocates nor synchronises. Throws std::runtime_error with CUDA's own name and file:line.
void store(const block::StoreShape& shape, const block::StoreArgs& args, uintptr_t stream);

int version();  // 13000 is 13.0; 0: no kernels

}  // namespace fl::cuda
