// Checked programs of images of one size to the buffer that a device reads.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gpu/block/program.h"

namespace fl::block {

struct Packed : PackedShape {
  std::vector<uint8_t> bytes;
};

// Throws ValueError where the tables of all programs take over 1 GiB; `where` names them.
Packed pack(const std::string& where, const std::vector<augment::Program>& programs, int height,
            int width);

}  // namespace fl::block
