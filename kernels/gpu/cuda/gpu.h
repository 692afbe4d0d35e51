// What threads and GPUs allow. Linked from gpu.cu, or from no_gpu.cpp where CMake found no CUDA
// compiler.
#pragma once

namespace fl::cuda {

// Compute capabilities that the kernels are compiled for, 90 is 9.0; the last one as PTX too. None
// without kernels.
struct Architectures {
  int count = 0;
  int list[16] = {};
};

Architectures architectures();

// cudaThreadExchangeStreamCaptureMode: sets this thread's, gives the one before. Without kernels
// nothing is set.
int exchange_capture_mode(int mode);

}  // namespace fl::cuda
