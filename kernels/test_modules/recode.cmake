# The extension module fastload._test_recode: JPEGs in other codings, for tests/kernels/test_jpeg_transcode.py.
nanobind_add_module(_test_recode STABLE_ABI FREE_THREADED NB_STATIC NOMINSIZE
  kernels/bind/arrays.cpp
  kernels/test_modules/recode.cpp
)
target_include_directories(_test_recode PRIVATE kernels)
target_link_libraries(_test_recode PRIVATE fastload_jpeg)
target_compile_options(_test_recode PRIVATE $<TARGET_PROPERTY:_native,COMPILE_OPTIONS>)
target_link_options(_test_recode PRIVATE $<TARGET_PROPERTY:_native,LINK_OPTIONS>)
install(TARGETS _test_recode LIBRARY DESTINATION fastload)
