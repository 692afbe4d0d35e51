// The specification of STORE: every uint8 value that is kept through its channel's table, into the
// batch's layout.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/host_device.h"

namespace fl {

// The rows and columns of an image that STORE keeps, in order (ColOut).
struct Kept {
  // [height]: numbers of the image's rows; null: everything is kept
  const int32_t* rows = nullptr;
  const int32_t* columns = nullptr;  // [width]
  int64_t width = 0;                 // px that are kept of a row
  int64_t image_width = 0;           // px

  FL_HD int64_t operator()(int64_t pixel) const {
    if (rows == nullptr) return pixel;
    // Quicker to divide
    const auto at = static_cast<uint32_t>(pixel), across = static_cast<uint32_t>(width);
    return rows[at / across] * image_width + columns[at % across];
  }
};

template <class T>  // uint8_t, or the bits of a 16- or 32-bit type
struct Store {
  const uint8_t* image;  // [height, width, 3]
  const T* table;        // [3, 256]; null stores the value itself
  T* out;                // [3, height, width] or, channels_last, [height, width, 3]
  int64_t pixels;        // height * width of out
  bool channels_last;
  Kept kept{};

  FL_HD T value(uint8_t v, int channel) const {
    return table ? table[channel * 256 + v] : static_cast<T>(v);
  }

  FL_HD void operator()(int64_t pixel) const {
    const int64_t from = kept(pixel) * 3;
    for (int channel = 0; channel < 3; ++channel)
      out[offset(pixel, channel)] = value(image[from + channel], channel);
  }

  FL_HD int64_t offset(int64_t pixel, int channel) const {
    return channels_last ? pixel * 3 + channel : channel * pixels + pixel;
  }
};

}  // namespace fl
