// FL_CUDA(call): throws with file:line and CUDA's name of the error.
#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

namespace fl::cuda {

inline void check(cudaError_t code, const char* call, const char* file, int line) {
  if (code == cudaSuccess) return;
  throw std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " + call + ": " +
                           cudaGetErrorName(code) + " (" + cudaGetErrorString(code) + ")");
}

}  // namespace fl::cuda

#define FL_CUDA(call) ::fl::cuda::check((call), #call, __FILE__, __LINE__)
