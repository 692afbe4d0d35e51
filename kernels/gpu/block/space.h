// Phases in which px come from elsewhere: flips, warps, and the sharpening of 3x3 px.
//
// A thread makes whole output px from the input image, which no thread writes meanwhile: input and
// output are two buffers. Flips are the exception; there a thread has both px that change places.
#pragma once

#include "body/augment_geometry.h"
#include "body/augment_point.h"
#include "body/border.h"
#include "gpu/block/program.h"
#include "gpu/block/threads.h"

namespace fl::block {

using augment::Sampling;

FL_HD void copy_px(const uint8_t* from, uint8_t* to) {
  for (int c = 0; c < 3; ++c) to[c] = from[c];
}

FL_HD void swap_px(uint8_t* a, uint8_t* b) {
  for (int c = 0; c < 3; ++c) {
    const uint8_t kept = a[c];
    a[c] = b[c];
    b[c] = kept;
  }
}

template <class Threads>
FL_HD void flip_x(const Threads& threads, uint8_t* image, int height, int width) {
  const int half = width / 2;
  each(threads, height * half, [=](int i) {
    uint8_t* row = image + i / half * width * 3;
    const int x = i % half;
    swap_px(row + 3 * x, row + 3 * (width - 1 - x));
  });
}

template <class Threads>
FL_HD void flip_y(const Threads& threads, uint8_t* image, int height, int width) {
  each(threads, height / 2 * width, [=](int i) {
    const int y = i / width, x = i % width;
    swap_px(image + 3 * i, image + 3 * ((height - 1 - y) * width + x));
  });
}

// px(x, y, to): writes the output px.
template <class Threads, class Px>
FL_HD void each_px(const Threads& threads, const Texture& in, uint8_t* out, const Px& px) {
  const int width = in.width;
  each(threads, in.height * width, [=](int i) { px(i % width, i / width, out + 3 * i); });
}

template <class Threads>
FL_HD void sharpen(const Threads& threads, const Texture& in, float factor, uint8_t* out) {
  each_px(threads, in, out, [=](int x, int y, uint8_t* to) {
    if (x == 0 || y == 0 || x == in.width - 1 || y == in.height - 1)
      return copy_px(in.row(y) + 3 * x, to);
    for (int c = 0; c < 3; ++c) {
      const int middle = in.row(y)[3 * x + c];
      int sum = 4 * middle;
      for (int k = -1; k <= 1; ++k)
        for (int j = -1; j <= 1; ++j) sum += in.row(y + k)[3 * (x + j) + c];
      to[c] = blend(smooth(sum), middle, factor);
    }
  });
}

template <class Threads, class Map>
FL_HD void sampled(const Threads& threads, const Texture& in, const Map& map, const Op& op,
                   uint8_t* out) {
  const uint8_t fill[3] = {op.fill[0], op.fill[1], op.fill[2]};
  const auto warp = [=, &threads](auto sample) {
    each_px(threads, in, out, [=](int x, int y, uint8_t* to) {
      const Position at = map(x, y);
      if (in.holds(at.x, at.y))
        sample(in, at, to);
      else
        copy_px(fill, to);
    });
  };
  switch (op.sampling) {
    case Sampling::kNearest:
      return warp([](const Texture& from, Position at, uint8_t* to) { nearest(from, at, to); });
    case Sampling::kBilinear:
      return warp([](const Texture& from, Position at, uint8_t* to) { bilinear(from, at, to); });
    default:
      return warp([](const Texture& from, Position at, uint8_t* to) { bicubic(from, at, to); });
  }
}

// locate(x, y): column and line of the input, not both inside where the px is the fill.
template <class Threads, class Locate>
FL_HD void gathered(const Threads& threads, const Texture& in, const Op& op, const Locate& locate,
                    uint8_t* out) {
  const uint8_t fill[3] = {op.fill[0], op.fill[1], op.fill[2]};
  each_px(threads, in, out, [=](int x, int y, uint8_t* to) {
    const auto at = locate(x, y);
    const bool held = at.column >= 0 && at.column < in.width && at.line >= 0 && at.line < in.height;
    copy_px(held ? in.row(static_cast<int>(at.line)) + 3 * at.column : fill, to);
  });
}

struct Source {
  int64_t column, line;
};

// One thread a row, since the sums go on from px to px. Row y first repeats the y steps down:
// adding y times is not the same as a multiplication.
template <class Threads>
FL_HD void summed(const Threads& threads, const Texture& in, const Op& op, uint8_t* out) {
  const double right_x = op.a[0], right_y = op.a[3], down_x = op.a[1], down_y = op.a[4];
  const double left = op.a[2] + right_x * 0.5 + down_x * 0.5,
               top = op.a[5] + right_y * 0.5 + down_y * 0.5;
  const uint8_t fill[3] = {op.fill[0], op.fill[1], op.fill[2]};
  each(threads, in.height, [=](int y) {
    double at_x = left, at_y = top;
    for (int k = 0; k < y; ++k, at_y += down_y) at_x += down_x;
    for (int x = 0; x < in.width; ++x, at_x += right_x, at_y += right_y) {
      const int column = inside(at_x, in.width), line = inside(at_y, in.height);
      copy_px(column >= 0 && line >= 0 ? in.row(line) + 3 * column : fill,
              out + 3 * (y * in.width + x));
    }
  });
}

template <class Threads>
FL_HD void nearest_affine(const Threads& threads, const Texture& in, const Op& op,
                          const uint8_t* extras, uint8_t* out) {
  if (op.walk == Walk::kTables) {
    const auto* columns = reinterpret_cast<const int16_t*>(extras + op.extra);
    const int16_t* lines = columns + in.width;
    return gathered(
        threads, in, op, [=](int x, int y) { return Source{columns[x], lines[y]}; }, out);
  }
  if (op.walk == Walk::kSummed) return summed(threads, in, op, out);
  const FixedMap map(op.a);
  gathered(
      threads, in, op, [=](int x, int y) { return Source{map.column(x, y), map.line(x, y)}; }, out);
}

// In place: threads write px of the border, and read what stands inside.
template <class Threads>
FL_HD void border(const Threads& threads, uint8_t* image, int height, int width, const Op& op) {
  const auto how = static_cast<Border>(op.a[0]);
  const Inside in = inside_of(op.a);
  const uint8_t fill[3] = {op.fill[0], op.fill[1], op.fill[2]};
  each(threads, height * width, [=](int i) {
    const int y = i / width, x = i % width;
    if (in.holds(y, x)) return;
    const uint8_t* from = fill;
    if (how != Border::kConstant)
      from = image + 3 * ((in.top + shown(how, y - in.top, in.height)) * width + in.left +
                          shown(how, x - in.left, in.width));
    copy_px(from, image + 3 * i);
  });
}

// Affine and perspective, by whatever way the host has chosen.
template <class Threads>
FL_HD void warp(const Threads& threads, const Texture& in, const Op& op, const uint8_t* extras,
                uint8_t* out) {
  const double* a = op.a;
  if (op.code == augment::Code::kPerspective)
    return sampled(threads, in, PerspectiveMap{{a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]}},
                   op, out);
  if (op.walk != Walk::kSampled) return nearest_affine(threads, in, op, extras, out);
  sampled(threads, in, AffineMap{{a[0], a[1], a[2], a[3], a[4], a[5]}}, op, out);
}

}  // namespace fl::block
