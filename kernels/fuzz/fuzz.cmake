# Fuzz targets: libFuzzer, with both sanitizers. cmake -DFASTLOAD_FUZZ=ON -DCMAKE_CXX_COMPILER=clang++; needs no Python.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "fastload: FASTLOAD_FUZZ needs Clang (got ${CMAKE_CXX_COMPILER_ID}); give -DCMAKE_CXX_COMPILER=clang++")
endif()

set(fastload_fuzz_sanitizers -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
  -gline-tables-only)

add_library(fastload_fuzz STATIC
  kernels/core/probe.cpp
  kernels/core/probe_other.cpp
  kernels/cpu/targets.cpp
  kernels/fuzz/header.cpp
  kernels/fuzz/images.cpp
  kernels/jpeg/coding.cpp
  kernels/jpeg/entropy_pass.cpp
  kernels/jpeg/entropy_scalar.cpp
  kernels/jpeg/entropy_tuned.cpp
  kernels/jpeg/entropy_turns.cpp
  kernels/jpeg/frame.cpp
  kernels/jpeg/huffman.cpp
  kernels/jpeg/indexed_rows.cpp
  kernels/jpeg/pixels_idct.cpp
  kernels/jpeg/pixels_reduced.cpp
  kernels/jpeg/pixels_scalar.cpp
  kernels/jpeg/pixels_tuned.cpp
  kernels/jpeg/region.cpp
  kernels/jpeg/region_rows.cpp
  kernels/jpeg/region_scan.cpp
  kernels/jpeg/region_tiles.cpp
  kernels/jpeg/seek.cpp
  kernels/jpeg/seek_build.cpp
  kernels/jpeg/seek_notes.cpp
  kernels/jpeg/transcode.cpp
  kernels/jpeg/turbo.cpp
)
target_include_directories(fastload_fuzz PUBLIC kernels)
target_link_libraries(fastload_fuzz PUBLIC JPEG::JPEG fastload_highway fastload_xxhash)
target_compile_options(fastload_fuzz PUBLIC -O2 -ffp-contract=off -Wall -Wextra -Wno-psabi ${fastload_fuzz_sanitizers})
target_compile_options(fastload_fuzz PRIVATE -fsanitize=fuzzer-no-link)
target_link_options(fastload_fuzz PUBLIC ${fastload_fuzz_sanitizers})
# Comparisons are traced where bytes are parsed. In the loops over coefficients and pixels they would take half of the time.
get_target_property(fastload_fuzz_sources fastload_fuzz SOURCES)
list(FILTER fastload_fuzz_sources EXCLUDE REGEX "(frame|seek|coding|probe|probe_other)\\.cpp$")
set_source_files_properties(${fastload_fuzz_sources} PROPERTIES COMPILE_OPTIONS -fno-sanitize-coverage=trace-cmp)

foreach(target parse index region transcode)
  add_executable(fuzz_${target} kernels/fuzz/${target}.cpp)
  target_link_libraries(fuzz_${target} PRIVATE fastload_fuzz)
  target_compile_options(fuzz_${target} PRIVATE -fsanitize=fuzzer)
  target_link_options(fuzz_${target} PRIVATE -fsanitize=fuzzer)
endforeach()

add_executable(fuzz_seeds kernels/fuzz/seeds.cpp)
target_link_libraries(fuzz_seeds PRIVATE fastload_fuzz)
# The library's coverage callbacks need libFuzzer's runtime, though not its main.
target_link_options(fuzz_seeds PRIVATE -fsanitize=fuzzer-no-link)
