// FL_HD marks a function that the CPU and the GPU both run: such bodies are the specification of
// each stage.
#pragma once

#ifdef __CUDACC__
#define FL_HD __host__ __device__ inline
#else
#define FL_HD inline
#endif
