# The extension module fastload._test_pixels: the decoder's pixel steps one by one, for tests/kernels/test_jpeg_pixels.py
# test_jpeg_unstuff.py and test_jpeg_markers.py.
nanobind_add_module(_test_pixels STABLE_ABI FREE_THREADED NB_STATIC NOMINSIZE
  kernels/bind/arrays.cpp
  kernels/jpeg/markers.cpp
  kernels/jpeg/pixels_ended.cpp
  kernels/jpeg/pixels_idct.cpp
  kernels/jpeg/pixels_reduced.cpp
  kernels/jpeg/pixels_scalar.cpp
  kernels/jpeg/pixels_tuned.cpp
  kernels/jpeg/unstuff.cpp
  kernels/simd/targets.cpp
  kernels/test_modules/pixels.cpp
)
target_include_directories(_test_pixels PRIVATE kernels)
target_link_libraries(_test_pixels PRIVATE fastload_highway)
target_compile_options(_test_pixels PRIVATE $<TARGET_PROPERTY:_native,COMPILE_OPTIONS>)
target_link_options(_test_pixels PRIVATE $<TARGET_PROPERTY:_native,LINK_OPTIONS>)
install(TARGETS _test_pixels LIBRARY DESTINATION fastload)
