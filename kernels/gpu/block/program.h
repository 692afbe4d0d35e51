// A batch's programs as a device reads them: one buffer, made by the host from checked ones. The
// host does what needs exp (a blur's weights) or goes step by step (running sums of a scaling); all
// else is in the instruction.
#pragma once

#include <cstddef>
#include <cstdint>

#include "augment/program.h"
#include "base/host_device.h"

namespace fl::block {

enum class Walk : uint8_t {
  kSampled,  // by the map, with the instruction's filter
  kTables,   // nearest; int16 tables say which column and row, -1: the fill
  kFixed,    // nearest, 16.16
  kSummed,   // nearest, running sums in double: maps from too far away for 16.16
};

struct Op {
  double a[augment::kArguments];
  // GaussianBlur: weights float [across], [down]; kTables: int16 [width], [height]; bytes from
  // `extras`
  int32_t extra;
  augment::Code code;
  augment::Sampling sampling;
  Walk walk;
  uint8_t fill[3];
};

// What programs need beside the image and a second copy of it.
struct Needs {
  bool mixture = false;  // the image that sums start from, and their float32 values
  bool rows = false;     // float32 values of a GaussianBlur between its two passes
};

struct Programs {
  const int32_t* first;  // [count + 1]: where each image's ops begin
  const Op* ops;
  const uint8_t* extras;
};

// What stands in such a buffer.
struct PackedShape {
  int64_t count = 0;          // images
  int height = 0, width = 0;  // px
  Needs needs;
  size_t ops = 0, extras = 0;  // where these begin, bytes

  // The buffer, where it lies now; aligned to 16 bytes.
  Programs at(const uint8_t* data) const {
    return {reinterpret_cast<const int32_t*>(data), reinterpret_cast<const Op*>(data + ops),
            data + extras};
  }
};

}  // namespace fl::block
