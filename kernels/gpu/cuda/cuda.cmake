# Adds the CUDA kernels to _native, or the stand-in that says they are missing.

set(fastload_cuda_found FALSE)
if(NOT FASTLOAD_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(fastload_cuda_found TRUE)
  elseif(FASTLOAD_CUDA STREQUAL "ON")
    message(FATAL_ERROR "fastload: FASTLOAD_CUDA=ON, but no CUDA compiler found; put nvcc on PATH or set CMAKE_CUDA_COMPILER")
  endif()
endif()

if(fastload_cuda_found)
  if("${CMAKE_CUDA_ARCHITECTURES}" STREQUAL "")
    # From Turing on; the last one as PTX too, which newer GPUs compile for themselves.
    set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 86-real 89-real 90-real 100-real 120)
  endif()
  enable_language(CUDA)
  target_sources(_native PRIVATE kernels/gpu/cuda/gpu.cu)
  target_compile_options(_native PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>)
  # 17: CMake 3.25 does not know nvcc's flag for 20, and the kernels do not need it.
  set_target_properties(_native PROPERTIES CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON CUDA_RUNTIME_LIBRARY Static
                                           CUDA_VISIBILITY_PRESET hidden
                                           CUDA_ARCHITECTURES "${CMAKE_CUDA_ARCHITECTURES}")
  target_compile_options(_native PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:--fmad=false>)
  target_sources(_native PRIVATE kernels/gpu/cuda/augment.cu kernels/gpu/cuda/decode.cu kernels/gpu/cuda/store.cu)
  message(STATUS "fastload: CUDA kernels: built with ${CMAKE_CUDA_COMPILER} for ${CMAKE_CUDA_ARCHITECTURES}")
else()
  target_sources(_native PRIVATE kernels/gpu/cuda/no_gpu.cpp)
  target_sources(_native PRIVATE kernels/gpu/cuda/no_cuda.cpp)
  message(STATUS "fastload: CUDA kernels: left out (FASTLOAD_CUDA=${FASTLOAD_CUDA})")
endif()
