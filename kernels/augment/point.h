// Which lookup op an instruction is: one value through it.
#pragma once

#include "augment/program.h"
#include "base/host_device.h"
#include "body/augment_point.h"

namespace fl::augment {

// The one list of lookup ops; the CPU's and the GPU's machines both end here.
FL_HD uint8_t point(Code code, const double* a, int value) {
  switch (code) {
    case Code::kBrightness:
      return blend(0, value, static_cast<float>(a[0]));
    case Code::kPosterize:
      return posterize(value, static_cast<int>(a[0]));
    case Code::kSolarize:
      return solarize(value, a[0]);
    case Code::kSolarizeAdd:
      return solarize_add(value, static_cast<int>(a[0]), a[1]);
    default:
      return static_cast<uint8_t>(255 - value);  // kInvert
  }
}

}  // namespace fl::augment
