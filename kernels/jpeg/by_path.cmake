# libjpeg by its file, not by its name: fastload_jpeg.
#
# The loader gives a module that needs "libjpeg.so.62" whatever library of that name the process has already loaded. torchvision's
# wheels up to 0.19 bring an old one, without the functions that read part of an image, so that `import torchvision, fastload` would
# fail; another build may give other pixels. A name with a slash is looked up as a file. ld takes it from the soname of what it links:
# here an empty library. A module may be linked with symbols undefined; the programs that fuzz may not, and load one libjpeg only.

add_library(fastload_jpeg INTERFACE)
target_link_libraries(fastload_jpeg INTERFACE JPEG::JPEG)

set(fastload_jpeg_library "${JPEG_LIBRARY_RELEASE}")
if(NOT fastload_jpeg_library)
  set(fastload_jpeg_library "${JPEG_LIBRARY}")
endif()
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND CMAKE_READELF AND NOT FASTLOAD_FUZZ AND fastload_jpeg_library MATCHES "\\.so$")
  execute_process(COMMAND "${CMAKE_READELF}" -d "${fastload_jpeg_library}" OUTPUT_VARIABLE fastload_jpeg_dynamic ERROR_QUIET)
  if(fastload_jpeg_dynamic MATCHES "soname: \\[([^]/]+)\\]")
    get_filename_component(fastload_jpeg_folder "${fastload_jpeg_library}" DIRECTORY)
    set(fastload_jpeg_file "${fastload_jpeg_folder}/${CMAKE_MATCH_1}")  # not the .so of the development package, nor the exact version
  endif()
endif()
if(fastload_jpeg_file AND EXISTS "${fastload_jpeg_file}")
  file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/jpeg_by_path.c" "")
  add_library(fastload_jpeg_by_path SHARED "${CMAKE_CURRENT_BINARY_DIR}/jpeg_by_path.c")
  set_target_properties(fastload_jpeg_by_path PROPERTIES NO_SONAME ON)
  target_link_options(fastload_jpeg_by_path PRIVATE "LINKER:-soname,${fastload_jpeg_file}")
  add_library(fastload_jpeg_headers INTERFACE)
  target_include_directories(fastload_jpeg_headers SYSTEM INTERFACE ${JPEG_INCLUDE_DIRS})
  set_target_properties(fastload_jpeg PROPERTIES INTERFACE_LINK_LIBRARIES
    "fastload_jpeg_headers;-Wl,--no-as-needed;fastload_jpeg_by_path;-Wl,--as-needed")
endif()
