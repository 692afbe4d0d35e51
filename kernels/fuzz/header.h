// libjpeg-turbo's word on a header.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace fl::fuzz {

struct LibraryHeader {
  bool taken = false;  // without an error or a warning
  char why[256] = "";  // not taken
  int height = 0, width = 0, components = 0;
  bool ycc = false;
  int restart_interval = 0;
  std::array<int, 4> h{}, v{};
};

LibraryHeader library_header(std::span<const uint8_t> bytes);

}  // namespace fl::fuzz
