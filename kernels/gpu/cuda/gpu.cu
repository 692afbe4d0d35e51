// What the kernels were compiled for, and CUDA's switch for calls that happen while another thread
// captures a graph. `architectures` is known at compile time and needs no GPU.
#include "gpu/cuda/gpu.h"

#include <initializer_list>

#include "gpu/cuda/error.h"

namespace fl::cuda {

Architectures architectures() {
  Architectures out;
  for (const int architecture : {__CUDA_ARCH_LIST__})
    out.list[out.count++] = architecture / 10;  // nvcc says 900
  return out;
}

int exchange_capture_mode(int mode) {
  auto exchanged = static_cast<cudaStreamCaptureMode>(mode);
  FL_CUDA(cudaThreadExchangeStreamCaptureMode(&exchanged));
  return exchanged;
}

}  // namespace fl::cuda
