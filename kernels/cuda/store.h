// STORE on the device. Linked from store.cu, or from no_cuda.cpp where CMake found no CUDA compiler.
#pragma once

#include <cstdint>
#include <string>

namespace fl::cuda {

struct StoreArgs {
  uintptr_t images, table, out;  // device pointers; table 0 stores the uint8 value
  int64_t count;                 // images
  int64_t height, width;         // px
  int item_size;                 // bytes: 1, 2 or 4
  bool channels_last;
};

extern const bool built;

// Neither allocates nor synchronises. Throws std::runtime_error with CUDA's own name and file:line.
void store(const StoreArgs& args, uintptr_t stream);

std::string version();  // "13.0", or "none"

}  // namespace fl::cuda
