// Small JPEGs to begin with: every sampling, coding and colour that the library writes, and what no
// encoder makes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fl::fuzz {

struct Picture {
  std::string name;
  std::vector<uint8_t> bytes;
};

// Always the same ones. From 1x1 to 40x24 px.
std::vector<Picture> pictures();

// The same with headers that lie: 12 bits per value, other sizes, cut off.
std::vector<Picture> broken_pictures();

}  // namespace fl::fuzz
