// A GPU's block of threads, as the phases of kernels/block take it.
#pragma once

namespace fl::cuda {

struct CudaThreads {
  template <class Phase>
  __device__ void operator()(const Phase& phase) const {
    phase(static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x));
    __syncthreads();
  }
};

}  // namespace fl::cuda
