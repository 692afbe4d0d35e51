// JPEG regions to crops on the device. Linked from decode.cu, or from no_cuda.cpp where CMake found
// no CUDA compiler.
#pragma once

#include <cstdint>

#include "gpu/block/decode.h"

namespace fl::cuda {

// Device pointers. data: the packed bytes, and scratch: header.scratch bytes, both at multiples of
// 16; out: uint8
// [.., height, width, 3], of which the images' positions are written; flags: uint32 [images], zero.
struct DecodeArgs {
  uintptr_t data, scratch, out, flags;
};

// Neither allocates nor synchronises. Throws std::runtime_error with CUDA's own name and file:line.
void decode(const block::DecodeHeader& header, const DecodeArgs& args, uintptr_t stream);

}  // namespace fl::cuda
