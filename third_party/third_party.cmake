# Libraries built from the sources in this folder, as static libraries whose symbols stay inside the module.
# sbom.cdx.json names each one with its version and the SHA-256 of its archive.

set(fastload_third_party "${CMAKE_CURRENT_LIST_DIR}")
file(READ "${fastload_third_party}/sbom.cdx.json" fastload_sbom)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${fastload_third_party}/sbom.cdx.json")

# fastload_unpack(NAME VAR): checks the archive of NAME, unpacks it, and sets VAR to its folder.
function(fastload_unpack name variable)
  string(JSON count LENGTH "${fastload_sbom}" components)
  math(EXPR last "${count} - 1")
  foreach(i RANGE ${last})
    string(JSON candidate GET "${fastload_sbom}" components ${i} name)
    if(candidate STREQUAL name)
      string(JSON version GET "${fastload_sbom}" components ${i} version)
      string(JSON expected GET "${fastload_sbom}" components ${i} hashes 0 content)
    endif()
  endforeach()
  set(archive "${fastload_third_party}/${name}-${version}.tar.xz")
  file(SHA256 "${archive}" got)
  if(NOT got STREQUAL expected)
    message(FATAL_ERROR "fastload: ${archive}: SHA-256 differs (got ${got}, want ${expected}); take the file from the release again")
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/third_party/${name}-${version}")
  if(NOT EXISTS "${folder}")
    file(ARCHIVE_EXTRACT INPUT "${archive}" DESTINATION "${CMAKE_CURRENT_BINARY_DIR}/third_party")
  endif()
  message(STATUS "fastload: ${name} ${version}: built from third_party")
  set(${variable} "${folder}" PARENT_SCOPE)
endfunction()

# libjpeg-turbo's own build, which wants to be a project of its own. On x86 its vector code needs nasm: without, it works,
# but what only libjpeg-turbo decodes (progressive files) takes longer.
macro(fastload_add_libjpeg_turbo)
  include(ExternalProject)
  fastload_unpack(libjpeg-turbo fastload_jpeg_source)
  if(WIN32)  # its build fills in these templates, of files that are only installed: the archive has none
    foreach(template projectTargets.cmake.in gcc/projectTargets-release.cmake.in vc/projectTargets-release.cmake.in)
      file(WRITE "${fastload_jpeg_source}/win/${template}" "")
    endforeach()
  endif()
  set(fastload_jpeg_build "${CMAKE_CURRENT_BINARY_DIR}/third_party/libjpeg-turbo-build")
  set(fastload_jpeg_archive "${fastload_jpeg_build}/libjpeg${CMAKE_STATIC_LIBRARY_SUFFIX}")
  set(fastload_jpeg_settings "")
  if(WIN32)  # its own default is C:, which is no path where Windows is compiled for elsewhere
    list(APPEND fastload_jpeg_settings "-DCMAKE_INSTALL_PREFIX=${fastload_jpeg_build}/nothing")
  endif()
  foreach(variable CMAKE_TOOLCHAIN_FILE CMAKE_C_COMPILER CMAKE_C_COMPILER_LAUNCHER CMAKE_C_FLAGS CMAKE_AR CMAKE_RANLIB
                   CMAKE_SYSTEM_NAME CMAKE_SYSTEM_PROCESSOR CMAKE_ASM_NASM_COMPILER CMAKE_OSX_ARCHITECTURES CMAKE_OSX_DEPLOYMENT_TARGET)
    if(DEFINED ${variable} AND NOT "${${variable}}" STREQUAL "" AND (CMAKE_CROSSCOMPILING OR NOT variable MATCHES "^CMAKE_SYSTEM_"))
      list(APPEND fastload_jpeg_settings "-D${variable}=${${variable}}")
    endif()
  endforeach()
  ExternalProject_Add(fastload_jpeg_project
    SOURCE_DIR "${fastload_jpeg_source}"
    BINARY_DIR "${fastload_jpeg_build}"
    CMAKE_ARGS ${fastload_jpeg_settings} -DCMAKE_BUILD_TYPE=Release -DCMAKE_POSITION_INDEPENDENT_CODE=ON
               -DBUILD=fastload  # else the day, and so another module each day
               -DCMAKE_C_VISIBILITY_PRESET=hidden -DENABLE_SHARED=OFF -DWITH_TURBOJPEG=OFF -DWITH_TOOLS=OFF -DWITH_TESTS=OFF
    BUILD_COMMAND "${CMAKE_COMMAND}" --build <BINARY_DIR> --target jpeg-static
    BUILD_BYPRODUCTS "${fastload_jpeg_archive}"
    INSTALL_COMMAND ""
  )
  add_library(fastload_jpeg INTERFACE)
  add_dependencies(fastload_jpeg fastload_jpeg_project)
  target_include_directories(fastload_jpeg SYSTEM INTERFACE "${fastload_jpeg_source}/src" "${fastload_jpeg_build}")
  target_link_libraries(fastload_jpeg INTERFACE "${fastload_jpeg_archive}")
endmacro()

macro(fastload_add_highway)
  fastload_unpack(highway fastload_hwy_source)
  add_library(fastload_highway STATIC "${fastload_hwy_source}/hwy/targets.cc" "${fastload_hwy_source}/hwy/abort.cc"
    "${fastload_hwy_source}/hwy/per_target.cc")  # asked for on aarch64
  target_include_directories(fastload_highway SYSTEM PUBLIC "${fastload_hwy_source}")
  target_compile_definitions(fastload_highway PUBLIC HWY_STATIC_DEFINE)
  set_target_properties(fastload_highway PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden)
endmacro()

# Only what unpacks, and checksums: it chooses its vector code at run time.
macro(fastload_add_libdeflate)
  fastload_unpack(libdeflate fastload_deflate_source)
  add_library(fastload_libdeflate STATIC
    "${fastload_deflate_source}/lib/adler32.c" "${fastload_deflate_source}/lib/crc32.c"
    "${fastload_deflate_source}/lib/deflate_decompress.c" "${fastload_deflate_source}/lib/utils.c"
    "${fastload_deflate_source}/lib/zlib_decompress.c"
    "${fastload_deflate_source}/lib/arm/cpu_features.c" "${fastload_deflate_source}/lib/x86/cpu_features.c")
  target_include_directories(fastload_libdeflate SYSTEM PUBLIC "${fastload_deflate_source}")
  target_compile_options(fastload_libdeflate PRIVATE -O2 -w)
  # Newer Clangs (Zig's) refuse these: they no longer know EVEX512. Checksums are 3 % of a PNG's time either way.
  target_compile_definitions(fastload_libdeflate PRIVATE
    LIBDEFLATE_ASSEMBLER_DOES_NOT_SUPPORT_AVX512VNNI LIBDEFLATE_ASSEMBLER_DOES_NOT_SUPPORT_VPCLMULQDQ)
  set_target_properties(fastload_libdeflate PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
endmacro()

# Only what decodes: it chooses its vector code at run time, and takes no memory but through kernels/webp/memory.cpp.
macro(fastload_add_libwebp)
  fastload_unpack(libwebp fastload_webp_source)
  file(GLOB fastload_webp_files "${fastload_webp_source}/src/dec/*.c" "${fastload_webp_source}/src/dsp/*.c" "${fastload_webp_source}/src/utils/*.c")
  add_library(fastload_libwebp STATIC ${fastload_webp_files})
  target_include_directories(fastload_libwebp SYSTEM PRIVATE "${fastload_webp_source}")
  target_include_directories(fastload_libwebp SYSTEM INTERFACE "${fastload_webp_source}/src")  # <webp/decode.h>
  target_compile_options(fastload_libwebp PRIVATE -O2 -w)
  target_compile_definitions(fastload_libwebp PRIVATE WEBP_USE_THREAD)  # what it chooses is behind a lock then; it starts no thread
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    target_compile_definitions(fastload_libwebp PRIVATE WEBP_HAVE_SSE2 WEBP_HAVE_SSE41)
    file(GLOB fastload_webp_sse41 "${fastload_webp_source}/src/dsp/*_sse41.c")
    set_property(SOURCE ${fastload_webp_sse41} APPEND PROPERTY COMPILE_OPTIONS -msse4.1)
  endif()
  set_property(SOURCE "${fastload_webp_source}/src/utils/utils.c" APPEND PROPERTY COMPILE_DEFINITIONS
    malloc=fastload_webp_malloc calloc=fastload_webp_calloc free=fastload_webp_free)
  set_target_properties(fastload_libwebp PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
endmacro()

macro(fastload_add_xxhash)
  fastload_unpack(xxhash fastload_xxhash_source)
  add_library(fastload_xxhash INTERFACE)
  target_include_directories(fastload_xxhash SYSTEM INTERFACE "${fastload_xxhash_source}")
endmacro()

# Into a wheel: what is inside the module besides fastload, as CycloneDX. FASTLOAD_RUNTIME: where the C++ library comes from
# if it is linked statically; JSON, a component.
function(fastload_install_sbom)
  string(JSON count LENGTH "${fastload_sbom}" components)
  set(sbom "${fastload_sbom}")
  string(JSON sbom SET "${sbom}" components ${count} "{
    \"type\": \"library\", \"bom-ref\": \"nanobind\", \"name\": \"nanobind\", \"version\": \"${nanobind_VERSION}\",
    \"purl\": \"pkg:pypi/nanobind@${nanobind_VERSION}\", \"licenses\": [{\"expression\": \"BSD-3-Clause AND MIT\"}]}")
  if(FASTLOAD_RUNTIME)
    math(EXPR count "${count} + 1")
    string(JSON sbom SET "${sbom}" components ${count} "${FASTLOAD_RUNTIME}")
  endif()
  if(fastload_cuda_found)
    string(JSON count LENGTH "${sbom}" components)
    string(JSON sbom SET "${sbom}" components ${count} "{
      \"type\": \"library\", \"bom-ref\": \"cuda-runtime\", \"name\": \"cuda-runtime\",
      \"version\": \"${CMAKE_CUDA_COMPILER_VERSION}\", \"licenses\": [{\"license\": {\"name\": \"NVIDIA CUDA Toolkit EULA\"}}]}")
  endif()
  if(SKBUILD_PROJECT_VERSION)
    string(JSON sbom SET "${sbom}" metadata component version "\"${SKBUILD_PROJECT_VERSION}\"")
  endif()
  file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/fastload-torch.cdx.json" "${sbom}\n")
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/fastload-torch.cdx.json" DESTINATION "${SKBUILD_METADATA_DIR}/sboms")
endfunction()
