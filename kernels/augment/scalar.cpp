// AUGMENT's passes written plainly: what the tuned versions are compared with.
//
// Loops over body/augment_*.h and nothing else; fast enough for tests, and the fallback for
// machines without vectors.
#include <algorithm>
#include <cstring>

#include "augment/passes.h"
#include "body/augment_blur.h"
#include "body/augment_hue.h"
#include "body/augment_mix.h"

namespace fl::augment {
namespace {

template <class Body>
void each_pixel(const Pixels& image, const Body& body) {
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x) body(image.row(y) + x * kChannels);
}

void lookup(const Pixels& image, const Lut& lut) {
  each_pixel(image, [&](uint8_t* px) {
    for (int c = 0; c < kChannels; ++c) px[c] = lut.of[c][px[c]];
  });
}

void count(const Image& image, Counts& counts) {
  counts = {};
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x)
      for (int c = 0; c < kChannels; ++c) ++counts.of[c][image.row(y)[x * kChannels + c]];
}

int64_t luma_sum(const Image& image) {
  int64_t sum = 0;
  for (int y = 0; y < image.height; ++y) {
    const uint8_t* px = image.row(y);
    for (int x = 0; x < image.width; ++x, px += kChannels) sum += luma(px[0], px[1], px[2]);
  }
  return sum;
}

void saturate(const Pixels& image, float factor) {
  each_pixel(image, [&](uint8_t* px) {
    const int grey = luma(px[0], px[1], px[2]);
    for (int c = 0; c < kChannels; ++c) px[c] = blend(grey, px[c], factor);
  });
}

void sharpen(const Image& in, float factor, const Pixels& out) {
  const int bytes = in.width * kChannels;
  for (int y = 0; y < in.height; ++y) {
    std::memcpy(out.row(y), in.row(y), bytes);
    if (y == 0 || y == in.height - 1) continue;  // the border stays
    const uint8_t *up = in.row(y - 1), *mid = in.row(y), *down = in.row(y + 1);
    for (int i = kChannels; i < bytes - kChannels; ++i) {
      int sum = 4 * mid[i];
      for (int k = -kChannels; k <= kChannels; k += kChannels)
        sum += up[i + k] + mid[i + k] + down[i + k];
      out.row(y)[i] = blend(smooth(sum), mid[i], factor);
    }
  }
}

void hue(const Pixels& image, int turn) {
  each_pixel(image, [&](uint8_t* px) { turn_hue(px, turn, px); });
}

void flip_x(const Image& in, const Pixels& out) {
  for (int y = 0; y < in.height; ++y)
    for (int x = 0; x < in.width; ++x)
      std::memcpy(out.row(y) + x * kChannels, in.row(y) + (in.width - 1 - x) * kChannels,
                  kChannels);
}

void fixed(const Image& in, const FixedMap& map, const Fill& fill, const Pixels& out) {
  for (int y = 0; y < out.height; ++y) {
    for (int x = 0; x < out.width; ++x) {
      const int64_t column = map.column(x, y), line = map.line(x, y);
      const bool inside = column >= 0 && column < in.width && line >= 0 && line < in.height;
      std::memcpy(out.row(y) + x * kChannels,
                  inside ? in.row(line) + column * kChannels : fill.data(), kChannels);
    }
  }
}

template <class Map>
void warp_with(const Image& in, const Map& map, void (&sample)(const Texture&, Position, uint8_t*),
               const Fill& fill, const Pixels& out) {
  const Texture from = texture(in);
  for (int y = 0; y < out.height; ++y) {
    for (int x = 0; x < out.width; ++x) {
      const Position at = map(x, y);
      uint8_t* px = out.row(y) + x * kChannels;
      if (from.holds(at.x, at.y))
        sample(from, at, px);
      else
        std::memcpy(px, fill.data(), kChannels);
    }
  }
}

template <class Map>
void warp(const Image& in, const Map& map, Sampling how, const Fill& fill, const Pixels& out) {
  switch (how) {
    case Sampling::kNearest:
      return warp_with(in, map, nearest, fill, out);
    case Sampling::kBilinear:
      return warp_with(in, map, bilinear, fill, out);
    default:
      return warp_with(in, map, bicubic, fill, out);
  }
}

// Sums anew for every value: the tuned version may sum in any order, since whole numbers are exact.
void box(const Image& in, const Box& box, bool down, Scratch&, const Pixels& out) {
  const auto at = [&](int x, int y, int c, int step) -> uint32_t {
    const int from_x = std::clamp(x + (down ? 0 : step), 0, in.width - 1);
    const int from_y = std::clamp(y + (down ? step : 0), 0, in.height - 1);
    return in.row(from_y)[from_x * kChannels + c];
  };
  for (int y = 0; y < in.height; ++y) {
    for (int i = 0; i < in.width * kChannels; ++i) {
      const int x = i / kChannels, c = i % kChannels;
      uint32_t sum = 0;
      for (int k = -box.reach; k <= box.reach; ++k) sum += at(x, y, c, k);
      out.row(y)[i] = box(sum, at(x, y, c, -box.reach - 1) + at(x, y, c, box.reach + 1));
    }
  }
}

// Float sums tap by tap from the first on; the tuned version keeps that order, since float sums are
// not associative.
void blur(const Image& in, const Blur& how, Scratch& rows, const Pixels& out) {
  const int bytes = in.width * kChannels, across = static_cast<int>(how.across.size()),
            down = static_cast<int>(how.down.size());
  auto* blurred = reinterpret_cast<float*>(rows.reserve(sizeof(float) * bytes * in.height));
  for (int y = 0; y < in.height; ++y) {
    for (int i = 0; i < bytes; ++i) {
      float sum = 0;
      for (int k = 0; k < across; ++k) {
        const int x = mirrored(i / kChannels + k - across / 2, in.width);
        sum += how.across[k] * static_cast<float>(in.row(y)[x * kChannels + i % kChannels]);
      }
      blurred[static_cast<size_t>(y) * bytes + i] = sum;
    }
  }
  for (int y = 0; y < in.height; ++y) {
    for (int i = 0; i < bytes; ++i) {
      float sum = 0;
      for (int k = 0; k < down; ++k)
        sum += how.down[k] *
               blurred[static_cast<size_t>(mirrored(y + k - down / 2, in.height)) * bytes + i];
      out.row(y)[i] = round_to_byte(sum);
    }
  }
}

// The values of an image, in order.
int64_t values(const Image& image) {
  return static_cast<int64_t>(image.height) * image.width * kChannels;
}
int64_t values(const Pixels& image) {
  return static_cast<int64_t>(image.height) * image.width * kChannels;
}

void add(const Image& image, float weight, bool first, float* sum) {
  for (int64_t i = 0; i < values(image); ++i) {
    const float part = weighed(image.data[i], weight);
    sum[i] = first ? part : sum[i] + part;
  }
}

void cut(const float* sum, const Pixels& out) {
  for (int64_t i = 0; i < values(out); ++i) out.data[i] = cut_to_byte(sum[i]);
}

void mix(const Image& start, const float* sum, float weight, const Pixels& out) {
  for (int64_t i = 0; i < values(out); ++i)
    out.data[i] = cut_to_byte(mixed(start.data[i], sum[i], weight));
}

void blend_images(const Image& start, float factor, const Pixels& image) {
  for (int64_t i = 0; i < values(image); ++i)
    image.data[i] = blend(start.data[i], image.data[i], factor);
}

}  // namespace

const Passes scalar_passes = {lookup,
                              count,
                              luma_sum,
                              saturate,
                              sharpen,
                              hue,
                              flip_x,
                              fixed,
                              warp<AffineMap>,
                              warp<PerspectiveMap>,
                              box,
                              blur,
                              add,
                              cut,
                              mix,
                              blend_images};

}  // namespace fl::augment
