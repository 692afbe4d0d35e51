// The specification of STORE with a partner (MixUp, CutMix): every value is the image's, the
// partner's, or both weighed. "Finished" values are mixed: those that STORE without a partner would
// have written, erased boxes too.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/host_device.h"
#include "body/erase.h"
#include "body/number.h"
#include "body/store.h"

namespace fl {

// One row of the partners array.
struct Partner {
  int32_t position;                  // of the partner in the batch
  int32_t top, left, height, width;  // px: inside this box the values are the partner's
  float own, other;                  // weights outside the box; other == 0: the image's own values

  FL_HD bool covers(int64_t y, int64_t x) const {
    return y >= top && y < top + height && x >= left && x < left + width;
  }
};
static_assert(sizeof(Partner) == 7 * sizeof(int32_t));

template <class Type>  // of number.h
struct Mix {
  using Bits = typename Type::Bits;

  struct Image {
    // [height, width, 3] of what is kept, or of the image that `kept` chooses from; contiguous
    const uint8_t* pixels;
    Kept kept{};
    Erased<Bits> erased{};
  };

  Image own, other;
  const Bits* table;      // [3, 256]; null: the value itself
  Bits* out;              // [3, height, width] or, channels_last, [height, width, 3]
  int64_t pixels, width;  // height * width; px
  bool channels_last;
  Partner how;

  // What STORE without a partner would have written at this px.
  FL_HD Bits finished(const Image& image, int64_t pixel, int channel) const {
    const int64_t y = pixel / width, x = pixel % width;
    const int box = image.erased.over(y, x);
    if (box >= 0) return image.erased.value(box, y, x, channel);
    const uint8_t value = image.pixels[image.kept(pixel) * 3 + channel];
    return table ? table[channel * 256 + value] : static_cast<Bits>(value);
  }

  // Each product and the sum are rounded to float32, and the sum once more to the type.
  FL_HD Bits value(int64_t pixel, int channel) const {
    if (how.covers(pixel / width, pixel % width)) return finished(other, pixel, channel);
    if (how.other == 0) return finished(own, pixel, channel);
    const float a = Type::load(finished(own, pixel, channel)) * how.own;
    const float b = Type::load(finished(other, pixel, channel)) * how.other;
    return Type::round(a + b);
  }

  FL_HD void operator()(int64_t pixel) const {
    for (int channel = 0; channel < 3; ++channel)
      out[channels_last ? pixel * 3 + channel : channel * pixels + pixel] = value(pixel, channel);
  }
};

}  // namespace fl
