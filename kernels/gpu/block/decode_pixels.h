// Samples to the region's RGB px, and these to the crop, in two passes: the steps of
// jpeg/region_rows.cpp and pixels/resize.cpp, one px each. Passes that only copy or pick are
// weights of 1 (2^22), which change nothing.
#pragma once

#include "body/resize.h"
#include "body/upsample.h"
#include "body/ycc.h"
#include "gpu/block/decode.h"

namespace fl::block {

// A component's value at px (y, x) of the image.
FL_HD uint8_t upsampled(const DecodePart& part, const uint8_t* planes, int y, int x) {
  const uint8_t* plane = planes + static_cast<int64_t>(part.first_block) * kBlockValues;
  const int64_t stride = static_cast<int64_t>(part.blocks_across) * kBlockSize;
  const int own_y = y / part.down, own_x = x / part.across;
  const uint8_t* near = plane + (own_y - part.top) * stride - part.left;
  if (part.upsampling == Upsampling::kNone || part.upsampling == Upsampling::kRepeat)
    return near[own_x];
  const int beside_x = neighbour_sample(x, part.width);
  if (part.upsampling == Upsampling::kH2V1)
    return blend_h2v1(near[own_x], near[beside_x], x % 2 == 1);
  const int beside = own_y + far_row(y);
  const int far_y = beside < 0 ? 0 : beside >= part.height ? part.height - 1 : beside;
  const uint8_t* far = near + (far_y - own_y) * stride;
  if (part.upsampling == Upsampling::kH1V2)
    return blend_h1v2(near[own_x], far[own_x], far_row(y) > 0);
  return blend_h2v2(3 * near[own_x] + far[own_x], 3 * near[beside_x] + far[beside_x], x % 2 == 1);
}

// Px i of the region.
FL_HD void colour_px(const DecodeImage& image, const uint8_t* planes, int i, uint8_t* region) {
  const int y = image.top + i / image.width, x = image.left + i % image.width;
  uint8_t* to = region + static_cast<int64_t>(i) * 3;
  uint8_t values[kParts];
  for (int c = 0; c < kParts; ++c)
    values[c] = upsampled(image.part[c < image.parts ? c : 0], planes, y, x);
  Rgb px{values[0], values[1], values[2]};
  if (image.ycc != 0) px = ycc_to_rgb(values[0], values[1], values[2]);
  to[0] = px.r;
  to[1] = px.g;
  to[2] = px.b;
}

// Output i of an axis: px `step` bytes apart, from the axis's first source on. weigh() of
// body/resize.h for three channels. Never reads past the last source of the axis.
FL_HD void weigh_px(const DecodeAxis& axis, const int32_t* numbers, int i, const uint8_t* sources,
                    int64_t step, uint8_t* to) {
  const int first = numbers[axis.first + i], room = axis.size - first;
  // The rest are zeros that make the length even
  const int taps = axis.taps < room ? axis.taps : room;
  const int32_t* weights = numbers + axis.weights + i;
  const uint8_t* from = sources + first * step;
  uint32_t sums[3] = {1u << (kWeightBits - 1), 1u << (kWeightBits - 1), 1u << (kWeightBits - 1)};
  for (int k = 0; k < taps; ++k, from += step) {
    const auto weight = static_cast<uint32_t>(weights[static_cast<int64_t>(k) * axis.count]);
    for (int c = 0; c < 3; ++c) sums[c] += weight * from[c];
  }
  for (int c = 0; c < 3; ++c) to[c] = clip8(static_cast<int32_t>(sums[c]));
}

// Px between the passes.
FL_HD int between_width(const DecodeImage& image) {
  return image.rows_first != 0 ? image.width : image.columns.count;
}
FL_HD int between_height(const DecodeImage& image) {
  return image.rows_first != 0 ? image.rows.count : image.height;
}

FL_HD void first_pass_px(const DecodeImage& image, const int32_t* numbers, const uint8_t* region,
                         int i, uint8_t* between) {
  const int width = between_width(image), y = i / width, x = i % width;
  const int64_t line = static_cast<int64_t>(image.width) * 3;
  uint8_t* to = between + static_cast<int64_t>(i) * 3;
  if (image.rows_first != 0)
    weigh_px(image.rows, numbers, y, region + x * 3, line, to);
  else
    weigh_px(image.columns, numbers, x, region + y * line, 3, to);
}

// Px i of the output; black beyond the image.
FL_HD void second_pass_px(const DecodeImage& image, const int32_t* numbers, const uint8_t* between,
                          int i, int out_width, uint8_t* out) {
  const int y = i / out_width - image.rows.offset, x = i % out_width - image.columns.offset;
  const int64_t line = static_cast<int64_t>(between_width(image)) * 3;
  uint8_t* to = out + static_cast<int64_t>(i) * 3;
  if (y < 0 || y >= image.rows.count || x < 0 || x >= image.columns.count) {
    to[0] = to[1] = to[2] = 0;
  } else if (image.rows_first != 0) {
    weigh_px(image.columns, numbers, x, between + y * line, 3, to);
  } else {
    weigh_px(image.rows, numbers, y, between + x * 3, line, to);
  }
}

}  // namespace fl::block
