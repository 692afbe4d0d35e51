// The specification of STORE: every uint8 value through its channel's table, into the batch's layout; then boxes are
// filled (RandomErasing).
#pragma once

#include <cstddef>
#include <cstdint>

#include "body/keyed.h"
#include "core/host_device.h"

namespace fl {

// The rows and columns of an image that STORE keeps, in order (ColOut).
struct Kept {
  const int32_t* rows = nullptr;     // [height]: numbers of the image's rows; null: everything is kept
  const int32_t* columns = nullptr;  // [width]
  int64_t width = 0;                 // px that are kept of a row
  int64_t image_width = 0;           // px

  FL_HD int64_t operator()(int64_t pixel) const {
    return rows == nullptr ? pixel : rows[pixel / width] * image_width + columns[pixel % width];
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

  FL_HD T value(uint8_t v, int channel) const { return table ? table[channel * 256 + v] : static_cast<T>(v); }

  FL_HD void operator()(int64_t pixel) const {
    const int64_t from = kept(pixel) * 3;
    for (int channel = 0; channel < 3; ++channel) {
      const int64_t at = channels_last ? pixel * 3 + channel : channel * pixels + pixel;
      out[at] = value(image[from + channel], channel);
    }
  }
};

template <class T>
struct Erase {
  T* out;                 // [3, height, width] or, channels_last, [height, width, 3]
  int64_t height, width;  // px
  bool channels_last;

  // Fills a box, which lies inside: top, left, height, width (px), with one value per channel.
  FL_HD void operator()(const int32_t* box, const T* values) const {
    for (int64_t y = box[0]; y < box[0] + box[2]; ++y) {
      for (int channel = 0; channel < 3; ++channel) {
        T* to =
            channels_last ? out + (y * width + box[1]) * 3 + channel : out + (channel * height + y) * width + box[1];
        for (int64_t x = 0; x < box[3]; ++x) to[channels_last ? x * 3 : x] = values[channel];
      }
    }
  }

  // With table [3, 4096]: one level per value, numbered by row, column and channel of the box.
  FL_HD void noise(const int32_t* box, uint32_t key, const T* table) const {
    NoiseLevels levels{{key}};
    uint64_t number = 0;
    for (int64_t y = box[0]; y < box[0] + box[2]; ++y) {
      for (int64_t x = box[1]; x < box[1] + box[3]; ++x) {
        for (int channel = 0; channel < 3; ++channel, ++number) {
          const int64_t at = channels_last ? (y * width + x) * 3 + channel : (channel * height + y) * width + x;
          out[at] = table[channel * NoiseLevels::kCount + levels.at(number)];
        }
      }
    }
  }

  // With one level per channel.
  FL_HD void noise_colour(const int32_t* box, uint32_t key, const T* table) const {
    NoiseLevels levels{{key}};
    T values[3];
    for (int channel = 0; channel < 3; ++channel)
      values[channel] = table[channel * NoiseLevels::kCount + levels.at(channel)];
    (*this)(box, values);
  }
};

}  // namespace fl
