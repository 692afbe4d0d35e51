# Fuzz targets: libFuzzer, with both sanitizers. cmake -DFASTLOAD_FUZZ=ON -DCMAKE_CXX_COMPILER=clang++; needs no Python.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "fastload: FASTLOAD_FUZZ needs Clang (got ${CMAKE_CXX_COMPILER_ID}); give -DCMAKE_CXX_COMPILER=clang++")
endif()

add_library(fastload_fuzz STATIC ${fastload_kernels} kernels/fuzz/header.cpp kernels/fuzz/images.cpp)
target_compile_definitions(fastload_fuzz PUBLIC FASTLOAD_FUZZ)
target_include_directories(fastload_fuzz PUBLIC kernels)
target_link_libraries(fastload_fuzz PUBLIC fastload_jpeg fastload_highway fastload_libdeflate fastload_libwebp fastload_xxhash)
target_compile_options(fastload_fuzz PUBLIC -O2 ${fastload_flags} ${fastload_sanitizers})
target_compile_options(fastload_fuzz PRIVATE -fsanitize=fuzzer-no-link)
target_link_options(fastload_fuzz PUBLIC ${fastload_sanitizers})
# Comparisons are traced where bytes are parsed. In the loops over coefficients and pixels they would take half of the time.
get_target_property(fastload_fuzz_sources fastload_fuzz SOURCES)
list(FILTER fastload_fuzz_sources EXCLUDE REGEX "(applications|certain|layout|frame|layer|seek|coding|probe|probe_other|progressive_scans|page|snappy)\\.cpp$")
set_property(SOURCE ${fastload_fuzz_sources} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize-coverage=trace-cmp)
# Vector code is built for this machine only, since no other would be run; for AVX3 it needs what simd/targets.cpp checks.
set(fastload_fuzz_machine -march=native -DHWY_COMPILE_ONLY_STATIC)
file(STRINGS /proc/cpuinfo fastload_fuzz_avx3 REGEX "avx512vbmi .*avx512_vnni" LIMIT_COUNT 1)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" AND NOT fastload_fuzz_avx3)
  list(APPEND fastload_fuzz_machine -mno-avx512f)
endif()
list(FILTER fastload_fuzz_sources INCLUDE REGEX "(tuned|unfilter|pixels/mix|pixels/store|pixels_idct|pixels_reduced)[a-z_]*\\.cpp$")
set_property(SOURCE ${fastload_fuzz_sources} APPEND PROPERTY COMPILE_OPTIONS ${fastload_fuzz_machine})

# What libwebp reads it checks itself: so it is fuzzed, too.
get_target_property(fastload_webp_type fastload_libwebp TYPE)
if(fastload_webp_type STREQUAL "STATIC_LIBRARY")
  target_compile_options(fastload_libwebp PRIVATE -fsanitize=address,fuzzer-no-link -g1)
endif()

foreach(target parse verdict index layer region transcode device augment page png webp)
  add_executable(fuzz_${target} kernels/fuzz/${target}.cpp)
  target_link_libraries(fuzz_${target} PRIVATE fastload_fuzz)
  target_compile_options(fuzz_${target} PRIVATE -fsanitize=fuzzer)
  target_link_options(fuzz_${target} PRIVATE -fsanitize=fuzzer)
endforeach()

add_executable(fuzz_seeds kernels/fuzz/seeds.cpp)
target_link_libraries(fuzz_seeds PRIVATE fastload_fuzz)
# The library's coverage callbacks need libFuzzer's runtime, though not its main.
target_link_options(fuzz_seeds PRIVATE -fsanitize=fuzzer-no-link)
