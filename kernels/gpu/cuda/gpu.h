// What threads and GPUs allow. Linked from gpu.cu, or from no_gpu.cpp where CMake found no CUDA
// compiler.
#pragma once

#include <vector>

namespace fl::cuda {

// Compute capabilities that the kernels are compiled for, 90 is 9.0; the last one as PTX too. Empty
// without kernels.
std::vector<int> architectures();

// cudaThreadExchangeStreamCaptureMode: sets this thread's, gives the one before. Without kernels
// nothing is set.
int exchange_capture_mode(int mode);

}  // namespace fl::cuda
