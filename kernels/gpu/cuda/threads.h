// A GPU's block of threads, as the phases of gpu/block take it.
//
// A phase is called by every thread with its number and how many there are; the barrier behind it
// is what lets the next phase read what this one has written.
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
