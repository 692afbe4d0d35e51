// Reads of PixelArray: runs of pixels that follow each other at equal distances.
#include "engine/pixel_array.h"

#include <algorithm>
#include <cstring>

#include "base/image.h"
#include "jpeg/pixels.h"

namespace fl {

PixelArray::PixelArray(const uint8_t* data, const Shape& shape,
                       const std::array<int64_t, 4>& strides, std::shared_ptr<const void> owner)
    : data_(data), shape_(shape), strides_(strides), owner_(std::move(owner)) {
  // What is there once is as far from the next one as it should be.
  if (shape.width == 1) strides_[2] = kChannels;
  if (shape.height == 1) strides_[1] = shape.width * strides_[2];
  if (shape.count == 1) strides_[0] = shape.height * strides_[1];
  rows_follow_ = strides_[1] == shape.width * strides_[2];
  as_read_ = strides_[3] == 1 && strides_[2] == kChannels && rows_follow_ &&
             strides_[0] == shape.height * strides_[1];
}

void PixelArray::copy(const uint8_t* from, int64_t pixels, uint8_t* out) const {
  const int64_t next = strides_[2], channel = strides_[3];
  if (next == kChannels && channel == 1) {
    std::memcpy(out, from, pixels * kChannels);
  } else if (next == 1) {  // planes, or grey
    jpeg::kTunedPixels.interleave_row(from, from + channel, from + 2 * channel, out,
                                      static_cast<int>(pixels));
  } else {
    for (int64_t x = 0; x < pixels; ++x)
      for (int c = 0; c < kChannels; ++c) *out++ = from[x * next + c * channel];
  }
}

void PixelArray::read(int64_t offset, int64_t size, uint8_t* out) const {
  const int64_t image = shape_.height * shape_.width;
  for (int64_t at = offset, end = offset + size; at < end;) {
    const int64_t pixel = at / kChannels, inside = pixel % image;
    const int64_t x = inside % shape_.width;
    const uint8_t* from =
        data_ + pixel / image * strides_[0] + inside / shape_.width * strides_[1] + x * strides_[2];
    const int64_t run =
        std::min((end - at) / kChannels, rows_follow_ ? image - inside : shape_.width - x);
    int64_t done = 1;
    if (at % kChannels != 0 || run == 0) {  // a part of a px
      *out = from[at % kChannels * strides_[3]];
    } else {
      copy(from, run, out);
      done = run * kChannels;
    }
    at += done;
    out += done;
  }
}

}  // namespace fl
