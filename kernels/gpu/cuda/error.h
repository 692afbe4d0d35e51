// FL_CUDA(call): throws with file:line and CUDA's name of the error.
//
// nvcc's compiler of host code may have another C++ library than the rest of the module: what both
// sides share is the exception, made of characters. No strings and no vectors.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdio>
#include <stdexcept>

namespace fl::cuda {

inline void check(cudaError_t code, const char* call, const char* file, int line) {
  if (code == cudaSuccess) return;
  char text[1024];
  std::snprintf(text, sizeof text, "%s:%d: %s: %s (%s)", file, line, call, cudaGetErrorName(code),
                cudaGetErrorString(code));
  throw std::runtime_error(text);
}

}  // namespace fl::cuda

#define FL_CUDA(call) ::fl::cuda::check((call), #call, __FILE__, __LINE__)
