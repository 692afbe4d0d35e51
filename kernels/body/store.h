// The specification of STORE: every uint8 value through its channel's table, into the batch's layout.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/host_device.h"

namespace fl {

template <class T>  // uint8_t, or the bits of a 16- or 32-bit type
struct Store {
  const uint8_t* image;  // [height, width, 3]
  const T* table;        // [3, 256]; null stores the value itself
  T* out;                // [3, height, width] or, channels_last, [height, width, 3]
  int64_t pixels;        // height * width
  bool channels_last;

  FL_HD T value(uint8_t v, int channel) const { return table ? table[channel * 256 + v] : static_cast<T>(v); }

  FL_HD void operator()(int64_t pixel) const {
    for (int channel = 0; channel < 3; ++channel) {
      const int64_t at = channels_last ? pixel * 3 + channel : channel * pixels + pixel;
      out[at] = value(image[pixel * 3 + channel], channel);
    }
  }
};

}  // namespace fl
