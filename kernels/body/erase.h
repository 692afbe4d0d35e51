// The specification of RandomErasing: a px of the stored image under boxes has the last one's
// value.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/host_device.h"
#include "body/keyed.h"

namespace fl {

// What fills a box: its colour, or noise by a table, one level per value or one per channel.
struct Filling {
  enum Kind : int32_t { kColour, kNoise, kNoiseColour };

  Kind kind = kColour;
  int32_t table = 0;
};
static_assert(sizeof(Filling) == 2 * sizeof(int32_t));

// Boxes of one image. Later boxes lie over earlier ones.
template <class T>
struct Erased {
  const int32_t* boxes = nullptr;  // [count, 4]: top, left, height, width; px, inside the image
  const T* fills = nullptr;        // [count, 3]
  int count = 0;
  const Filling* fillings = nullptr;  // [count]; null: colours only
  const uint32_t* keys = nullptr;     // [count]: of the noise
  const T* tables = nullptr;          // [tables, 3, 4096]: what a level is

  // The box that has a px; -1: none.
  FL_HD int over(int64_t y, int64_t x) const {
    for (int k = count; k-- > 0;) {
      const int32_t* box = boxes + 4 * k;
      if (y >= box[0] && y < box[0] + box[2] && x >= box[1] && x < box[1] + box[3]) return k;
    }
    return -1;
  }

  // Of box k, at a px under it. Noise is numbered by row, column and channel of the box.
  FL_HD T value(int k, int64_t y, int64_t x, int channel) const {
    const Filling how = fillings == nullptr ? Filling{} : fillings[k];
    if (how.kind == Filling::kColour) return fills[3 * k + channel];
    const int32_t* box = boxes + 4 * k;
    const int64_t px = how.kind == Filling::kNoise ? (y - box[0]) * box[3] + x - box[1] : 0;
    NoiseLevels levels{{keys[k]}};
    const int level = levels.at(static_cast<uint64_t>(px * 3 + channel));
    return tables[(static_cast<int64_t>(how.table) * 3 + channel) * NoiseLevels::kCount + level];
  }
};

}  // namespace fl
