# What the extension module, the test modules and the fuzz targets are made of.

# From bytes and numbers to pixels: functions of memory, which know neither Python nor threads.
set(fastload_kernels
  kernels/augment/geometry.cpp
  kernels/augment/program.cpp
  kernels/augment/run.cpp
  kernels/augment/scalar.cpp
  kernels/augment/tuned.cpp
  kernels/augment/tuned_blur.cpp
  kernels/augment/tuned_fixed.cpp
  kernels/augment/tuned_hue.cpp
  kernels/augment/tuned_lookup.cpp
  kernels/augment/tuned_mix.cpp
  kernels/augment/tuned_plain.cpp
  kernels/augment/tuned_warp.cpp
  kernels/base/libm.cpp
  kernels/base/room.cpp
  kernels/base/scratch.cpp
  kernels/gpu/block/pack.cpp
  kernels/gpu/device_batch.cpp
  kernels/gpu/device_plan.cpp
  kernels/jpeg/applications.cpp
  kernels/jpeg/certain.cpp
  kernels/jpeg/coding.cpp
  kernels/jpeg/coefficients.cpp
  kernels/jpeg/entropy_ahead.cpp
  kernels/jpeg/entropy_pass.cpp
  kernels/jpeg/entropy_scalar.cpp
  kernels/jpeg/entropy_search.cpp
  kernels/jpeg/entropy_skim.cpp
  kernels/jpeg/entropy_tuned.cpp
  kernels/jpeg/entropy_turns.cpp
  kernels/jpeg/examine.cpp
  kernels/jpeg/frame.cpp
  kernels/jpeg/huffman.cpp
  kernels/jpeg/huffman_pairs.cpp
  kernels/jpeg/indexed_rows.cpp
  kernels/jpeg/layer/build.cpp
  kernels/jpeg/layer/layer.cpp
  kernels/jpeg/layer/run_scalar.cpp
  kernels/jpeg/layer/run_tuned.cpp
  kernels/jpeg/markers.cpp
  kernels/jpeg/pixels_ended.cpp
  kernels/jpeg/pixels_idct.cpp
  kernels/jpeg/pixels_reduced.cpp
  kernels/jpeg/pixels_scalar.cpp
  kernels/jpeg/pixels_tuned.cpp
  kernels/jpeg/probe.cpp
  kernels/jpeg/probe_other.cpp
  kernels/jpeg/progressive.cpp
  kernels/jpeg/progressive_dc.cpp
  kernels/jpeg/progressive_feed.cpp
  kernels/jpeg/progressive_scalar.cpp
  kernels/jpeg/progressive_scan.cpp
  kernels/jpeg/progressive_scans.cpp
  kernels/jpeg/progressive_tables.cpp
  kernels/jpeg/progressive_tuned.cpp
  kernels/jpeg/region.cpp
  kernels/jpeg/region_rows.cpp
  kernels/jpeg/region_scan.cpp
  kernels/jpeg/region_tiles.cpp
  kernels/jpeg/seek.cpp
  kernels/jpeg/seek_build.cpp
  kernels/jpeg/seek_notes.cpp
  kernels/jpeg/transcode.cpp
  kernels/jpeg/turbo.cpp
  kernels/jpeg/unstuff.cpp
  kernels/parquet/page.cpp
  kernels/parquet/snappy.cpp
  kernels/pixels/mix.cpp
  kernels/pixels/resize.cpp
  kernels/pixels/scalar.cpp
  kernels/pixels/store.cpp
  kernels/pixels/tuned.cpp
  kernels/pixels/weights.cpp
  kernels/pixels/weights_tuned.cpp
  kernels/png/decode.cpp
  kernels/png/expand.cpp
  kernels/png/layout.cpp
  kernels/png/unfilter.cpp
  kernels/simd/hash.cpp
  kernels/simd/targets.cpp
  kernels/webp/layout.cpp
  kernels/webp/memory.cpp
  kernels/webp/region.cpp
)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$" AND NOT CMAKE_OSX_ARCHITECTURES)  # those may be others
  list(APPEND fastload_kernels kernels/simd/hash_avx2.cpp kernels/simd/hash_avx512.cpp)
  set_source_files_properties(kernels/simd/hash.cpp PROPERTIES COMPILE_DEFINITIONS FASTLOAD_WIDE_HASH)
  set_source_files_properties(kernels/simd/hash_avx2.cpp PROPERTIES COMPILE_OPTIONS -mavx2)
  set_source_files_properties(kernels/simd/hash_avx512.cpp PROPERTIES COMPILE_OPTIONS -mavx512f)
endif()

if(WIN32)
  list(APPEND fastload_kernels kernels/base/system_windows.cpp)
else()
  list(APPEND fastload_kernels kernels/base/system_posix.cpp)
endif()

# Threads, files, batches; these know no Python either.
set(fastload_engine
  kernels/engine/buffers.cpp
  kernels/engine/calls.cpp
  kernels/engine/collector.cpp
  kernels/engine/decode.cpp
  kernels/engine/device_decode.cpp
  kernels/engine/draw_steps.cpp
  kernels/engine/draws.cpp
  kernels/engine/fetch.cpp
  kernels/engine/files.cpp
  kernels/engine/pixel_array.cpp
  kernels/engine/job.cpp
  kernels/engine/job_end.cpp
  kernels/engine/lent.cpp
  kernels/engine/look.cpp
  kernels/engine/packed.cpp
  kernels/engine/pool.cpp
  kernels/engine/pool_stats.cpp
  kernels/engine/sample.cpp
  kernels/engine/seek_log.cpp
  kernels/engine/together.cpp
  kernels/engine/single.cpp
)

# No contraction to FMA: CPU and GPU give the same bits.
set(fastload_flags -ffp-contract=off -Wall -Wextra -Wno-psabi)
# A square root sets no errno here, so it can be a vector's.
set_source_files_properties(kernels/engine/draw_steps.cpp PROPERTIES COMPILE_OPTIONS -fno-math-errno)
set(fastload_sanitizers -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g1)
if(FASTLOAD_SANITIZE STREQUAL "THREAD")
  set(fastload_sanitizers -fsanitize=thread -g1)
endif()
