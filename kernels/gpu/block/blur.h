// Phases of the blurs.
//
// Bit-equal to augment/scalar.cpp: float sums tap by tap in the same order, whole numbers in any.
#pragma once

#include "body/augment_blur.h"
#include "body/augment_geometry.h"
#include "gpu/block/program.h"
#include "gpu/block/threads.h"

namespace fl::block {

// px along a box's axis that one thread sums, adding one end and leaving out the other
constexpr int kSegment = 16;

// weights: [across], [down]; rows: float32 [height, width, 3].
template <class Threads>
FL_HD void gaussian_blur(const Threads& threads, const Texture& in, int across, int down,
                         const float* weights, float* rows, uint8_t* out) {
  const int values = in.height * in.width * 3, line = in.width * 3;
  each(threads, values, [=](int i) {
    const uint8_t* row = in.row(i / line);
    const int x = i % line / 3, c = i % 3;
    float sum = 0;
    for (int k = 0; k < across; ++k)
      sum += weights[k] * static_cast<float>(row[mirrored(x + k - across / 2, in.width) * 3 + c]);
    rows[i] = sum;
  });
  each(threads, values, [=](int i) {
    const int y = i / line, at = i % line;
    float sum = 0;
    for (int k = 0; k < down; ++k)
      sum += weights[across + k] * rows[mirrored(y + k - down / 2, in.height) * line + at];
    out[i] = round_to_byte(sum);
  });
}

// One pass of a box along an axis. Sums are whole numbers, so it does not matter how they are made.
template <class Threads>
FL_HD void box(const Threads& threads, const Texture& in, const Box& how, bool down, uint8_t* out) {
  const int line = in.width * 3;
  const int side = down ? in.height : in.width,
            step = down ? line : 3;  // px along the axis, bytes from one to the next
  const int segments = (side + kSegment - 1) / kSegment;
  const int lines = down ? line : in.height * 3;  // along which boxes move
  each(threads, segments * lines, [=](int i) {
    const int segment = i / lines, which = i % lines;
    const int from = down ? which : which / 3 * line + which % 3;
    const uint8_t* at = in.data + from;
    const auto value = [=](int k) -> uint32_t {
      return at[(k < 0 ? 0 : k < side ? k : side - 1) * step];
    };
    const int first = segment * kSegment, end = first + kSegment < side ? first + kSegment : side;
    uint32_t sum = 0;
    for (int k = -how.reach; k <= how.reach; ++k) sum += value(first + k);
    for (int k = first; k < end; ++k) {
      const uint32_t before = value(k - how.reach - 1), after = value(k + how.reach + 1);
      out[from + k * step] = how(sum, before + after);
      sum += after - value(k - how.reach);
    }
  });
}

}  // namespace fl::block
