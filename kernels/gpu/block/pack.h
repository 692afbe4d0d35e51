// Checked programs of images of one size to the buffer that a device reads.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gpu/block/program.h"

namespace fl::block {

struct Packed {
  int64_t count = 0;          // images
  int height = 0, width = 0;  // px
  Needs needs;
  size_t ops = 0, extras = 0;  // where these begin, bytes
  std::vector<uint8_t> bytes;

  // The buffer, where it lies now; aligned to 16 bytes.
  Programs at(const uint8_t* data) const {
    return {reinterpret_cast<const int32_t*>(data), reinterpret_cast<const Op*>(data + ops),
            data + extras};
  }
};

// Throws ValueError where the tables of all programs take over 1 GiB; `where` names them.
Packed pack(const std::string& where, const std::vector<augment::Program>& programs, int height,
            int width);

}  // namespace fl::block
