// Stands in for gpu.cu in a build without CUDA.
#include "gpu/cuda/gpu.h"

namespace fl::cuda {

Architectures architectures() { return {}; }

int exchange_capture_mode(int mode) { return mode; }

}  // namespace fl::cuda
