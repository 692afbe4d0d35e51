// One value through a lookup: FL_LOOKUPS of augment/program.h as code.
#pragma once

#include "augment/program.h"
#include "base/host_device.h"
#include "body/augment_point.h"

namespace fl::augment {

// The one list of lookup ops; the CPU's and the GPU's machines both end here.
FL_HD uint8_t point(Code code, const double* a, int value) {
  switch (code) {
#define FL_LOOKUP(name, result, ...) \
  case Code::k##name:                \
    return result;
    FL_LOOKUPS(FL_LOOKUP)
#undef FL_LOOKUP
    default:
      return static_cast<uint8_t>(value);
  }
}

}  // namespace fl::augment
