// STORE on the device. Linked from store.cu, or from no_cuda.cpp where CMake found no CUDA compiler.
#pragma once

#include <cstdint>
#include <string>

#include "body/number.h"

namespace fl::cuda {

struct StoreArgs {
  uintptr_t images, table, out;  // device pointers; table 0 stores the uint8 value
  int64_t count;                 // images
  int64_t height, width;         // px
  int item_size;                 // bytes: 1, 2 or 4
  bool channels_last;
};

// Mixing on the device: partners is a device pointer to `count` rows of body/mix.h's Partner, whose places and boxes
// were checked; what `number` is, item_size does not say of 16 bits.
struct MixArgs {
  StoreArgs store;
  uintptr_t partners;
  Number number;
};

extern const bool built;

// Neither allocates nor synchronises. Throws std::runtime_error with CUDA's own name and file:line.
void store(const StoreArgs& args, uintptr_t stream);
void mix(const MixArgs& args, uintptr_t stream);

std::string version();  // "13.0", or "none"

}  // namespace fl::cuda
