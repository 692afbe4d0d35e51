// FL_HD marks a function that the CPU and the GPU both run: such bodies are the specification of
// each stage.
//
// Such a function is compiled twice from the same text: by nvcc for the GPU and by the C++ compiler
// for the CPU. Both builds are without FMA contraction and without fast-math (kernels.cmake,
// gpu/cuda/cuda.cmake). So a float step rounds once on either machine, and the results are equal
// bit for bit. Code marked with it is C++17, which is what nvcc is asked for.
#pragma once

#ifdef __CUDACC__
#define FL_HD __host__ __device__ inline
#else
#define FL_HD inline
#endif
