# The extension module fastload._test_block: AUGMENT's and JPEG decoding's phases without a GPU, for
# tests/kernels/test_block.py and test_device_decode.py.
nanobind_add_module(_test_block STABLE_ABI FREE_THREADED NB_STATIC NOMINSIZE
  kernels/augment/geometry.cpp
  kernels/augment/program.cpp
  kernels/base/libm.cpp
  kernels/base/system_posix.cpp
  kernels/bind/arrays.cpp
  kernels/gpu/block/pack.cpp
  kernels/test_modules/block.cpp
  kernels/test_modules/decode.cpp
)
target_include_directories(_test_block PRIVATE kernels)
target_compile_options(_test_block PRIVATE $<TARGET_PROPERTY:_native,COMPILE_OPTIONS>)
target_link_options(_test_block PRIVATE $<TARGET_PROPERTY:_native,LINK_OPTIONS>)
install(TARGETS _test_block LIBRARY DESTINATION fastload)
