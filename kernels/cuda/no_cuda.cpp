// Stands in for store.cu in a build without CUDA.
#include <stdexcept>

#include "cuda/store.h"

namespace fl::cuda {

const bool built = false;

void store(const StoreArgs&, uintptr_t) {
  throw std::runtime_error("store_cuda: this build has no CUDA kernels; build with -DFASTLOAD_CUDA=ON");
}

void mix(const MixArgs&, uintptr_t) {
  throw std::runtime_error("mix_cuda: this build has no CUDA kernels; build with -DFASTLOAD_CUDA=ON");
}

std::string version() { return "none"; }

}  // namespace fl::cuda
