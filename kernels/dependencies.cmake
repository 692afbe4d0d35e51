# Libraries from the system: libjpeg-turbo, Highway, xxHash (header only). Each one missing is named with its package.

find_package(JPEG QUIET)
if(NOT JPEG_FOUND)
  message(FATAL_ERROR "fastload: libjpeg-turbo not found; on Debian or Ubuntu: apt install libjpeg-turbo8-dev or libjpeg62-turbo-dev")
endif()

# 1.0.3 is the first with the 16-bit multiply-adds and RearrangeToOddPlusEven (Debian 12 and Ubuntu 24.04 have it).
set(fastload_hwy_minimum 1.0.3)
add_library(fastload_highway INTERFACE)
find_package(hwy ${fastload_hwy_minimum} CONFIG QUIET)
if(TARGET hwy::hwy)
  target_link_libraries(fastload_highway INTERFACE hwy::hwy)
else()
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(hwy QUIET IMPORTED_TARGET libhwy>=${fastload_hwy_minimum})
  endif()
  if(NOT TARGET PkgConfig::hwy)
    message(FATAL_ERROR "fastload: Highway ${fastload_hwy_minimum} or newer not found; on Debian 12, Ubuntu 24.04 or newer: "
                        "apt install libhwy-dev; on Ubuntu 22.04 build it from github.com/google/highway")
  endif()
  target_link_libraries(fastload_highway INTERFACE PkgConfig::hwy)
endif()

find_path(XXHASH_INCLUDE_DIR xxhash.h)
if(NOT XXHASH_INCLUDE_DIR)
  message(FATAL_ERROR "fastload: xxHash not found; on Debian or Ubuntu: apt install libxxhash-dev")
endif()
add_library(fastload_xxhash INTERFACE)
target_include_directories(fastload_xxhash SYSTEM INTERFACE "${XXHASH_INCLUDE_DIR}")
