// Tuned passes that vectors do not help: table lookups, counting, copies of single pixels.
#include <algorithm>
#include <cstring>

#include "augment/tuned.h"

namespace fl::augment {
namespace {

void lookup(const Pixels& image, const Lut& lut) {
  const int64_t pixels = static_cast<int64_t>(image.height) * image.width;
  const uint8_t *red = lut.of[0], *green = lut.of[1], *blue = lut.of[2];
  uint8_t* px = image.data;
  for (int64_t i = 0; i < pixels; ++i, px += kChannels) {
    const uint8_t r = red[px[0]], g = green[px[1]], b = blue[px[2]];  // all loads before the first store
    px[0] = r;
    px[1] = g;
    px[2] = b;
  }
}

// Two counters for each value, so that equal neighbours do not wait for each other.
void count(const Image& image, Counts& counts) {
  const int64_t pixels = static_cast<int64_t>(image.height) * image.width;
  Counts odd = {};
  counts = {};
  const uint8_t* px = image.data;
  for (int64_t i = 0; i + 1 < pixels; i += 2, px += 2 * kChannels) {
    for (int c = 0; c < kChannels; ++c) {
      ++counts.of[c][px[c]];
      ++odd.of[c][px[kChannels + c]];
    }
  }
  for (int c = 0; c < kChannels; ++c) {
    if (pixels % 2 == 1) ++counts.of[c][px[c]];
    for (int v = 0; v < 256; ++v) counts.of[c][v] += odd.of[c][v];
  }
}

// Pixels go as four bytes: the fourth is the next one's first, written after it, or padding.
void flip_x(const Image& in, const Pixels& out) {
  for (int y = 0; y < in.height; ++y) {
    uint8_t* to = out.row(y);
    const uint8_t* from = in.row(y) + (in.width - 1) * kChannels;
    for (int x = 0; x < in.width; ++x, to += kChannels, from -= kChannels) std::memcpy(to, from, kChannels + 1);
  }
}

struct Span {
  int64_t begin, end;  // end <= begin: empty
};

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

// Steps k with 0 <= at + k * step < limit.
Span steps_inside(int64_t at, int64_t step, int64_t limit) {
  if (step == 0) return at >= 0 && at < limit ? Span{0, INT32_MAX} : Span{0, 0};
  if (step < 0) return steps_inside(limit - 1 - at, -step, limit);
  return {-floor_div(at, step), floor_div(limit - 1 - at, step) + 1};
}

void fill_pixels(uint8_t* row, int64_t begin, int64_t end, const Fill& fill) {
  if (fill == Fill{})
    std::memset(row + begin * kChannels, 0, (end - begin) * kChannels);
  else
    for (int64_t x = begin; x < end; ++x) std::memcpy(row + x * kChannels, fill.data(), kChannels);
}

void copy_pixels(const Image& in, const FixedMap& map, int64_t x, int64_t y, Span span, uint8_t* row) {
  const auto place = [&] { return in.data + (y >> kFixedBits) * in.stride + (x >> kFixedBits) * kChannels; };
  if (map.y_right == 0 && map.x_right == 1 << kFixedBits) {
    std::memcpy(row + span.begin * kChannels, place(), (span.end - span.begin) * kChannels);
    return;
  }
  uint8_t* to = row + span.begin * kChannels;
  for (int64_t k = span.begin; k < span.end; ++k, to += kChannels) {
    std::memcpy(to, place(), kChannels + 1);
    x += map.x_right;
    y += map.y_right;
  }
}

}  // namespace

namespace tuned {

void fixed(const Image& in, const FixedMap& map, const Fill& fill, const Pixels& out) {
  for (int64_t row = 0; row < out.height; ++row) {
    const int64_t x = map.x + row * map.x_down, y = map.y + row * map.y_down;
    const Span across = steps_inside(x, map.x_right, static_cast<int64_t>(in.width) << kFixedBits);
    const Span down = steps_inside(y, map.y_right, static_cast<int64_t>(in.height) << kFixedBits);
    Span span{std::clamp<int64_t>(std::max(across.begin, down.begin), 0, out.width),
              std::clamp<int64_t>(std::min(across.end, down.end), 0, out.width)};
    span.end = std::max(span.begin, span.end);
    uint8_t* to = out.row(static_cast<int>(row));
    fill_pixels(to, 0, span.begin, fill);
    if (span.begin < span.end)
      copy_pixels(in, map, x + span.begin * map.x_right, y + span.begin * map.y_right, span, to);
    fill_pixels(to, span.end, out.width, fill);
  }
}

}  // namespace tuned

const Passes tuned_passes = {lookup, count,        tuned::luma_sum, tuned::saturate,    tuned::sharpen, tuned::hue,
                             flip_x, tuned::fixed, tuned::affine,   tuned::perspective, tuned::blur};

}  // namespace fl::augment
