// The specification of AUGMENT's sums of images: float32, every product rounded before it is added,
// cut off to uint8.
#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace fl {

FL_HD float weighed(uint8_t value, float weight) { return weight * static_cast<float>(value); }

FL_HD uint8_t cut_to_byte(float value) {
  return static_cast<uint8_t>(value <= 0.0f ? 0.0f : value >= 255.0f ? 255.0f : value);
}

// (1 - weight) * start + weight * sum
FL_HD float mixed(uint8_t start, float sum, float weight) {
  const float kept = weighed(start, 1.0f - weight), added = weight * sum;
  return kept + added;
}

}  // namespace fl
