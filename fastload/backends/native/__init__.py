"""fastload's own backend: draws records in NumPy, hands them to the C++ and CUDA kernels."""
