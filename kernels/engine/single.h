// One encoded image to pixels, outside of any job: what fastload.image asks for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/worker.h"
#include "jpeg/probe.h"
#include "jpeg/turbo.h"

namespace fl {

// Of an image at 1/scale: the crop, and the resize, window and flip of that.
struct Single {
  int scale;
  Region crop;        // px of the image at 1/scale
  cpu::Boxed resize;  // of the crop
  cpu::Resampling how;
};

// How a pixel is stored: its first channel, all three, or these and a constant byte.
struct Packing {
  int channels;    // 1, 3 or 4
  uint8_t filler;  // of 4 channels, the last
  bool bgr;        // of 3 channels: blue first

  bool plain() const { return channels == kChannels && !bgr; }
};

// What is known of where a JPEG's decoding can begin, and what is to be known.
struct Seeking {
  std::optional<uint64_t> hash;  // XXH3 of the bytes
  Bytes index;                   // empty: there is none
  bool collect = false;          // where the index is missing or refused, one is made
  // Made in this call; empty: this file has none
  std::optional<std::vector<uint8_t>> made;
};

// Throws ValueError where the numbers do not fit an image of this size.
void check_single(const Single& single, int height, int width, const std::string& where);

// Needs a checked `single`, and room for the whole window in `out`. library: libjpeg-turbo may
// decode what the own decoder does not cover. Empty, or why there are no pixels.
std::string make_single(Bytes bytes, const Header& header, const Single& single,
                        const Packing& packing, bool library, Seeking& seeking, uint8_t* out,
                        Worker& worker);

}  // namespace fl
