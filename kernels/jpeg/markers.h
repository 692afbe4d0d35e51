// The next marker behind coded bytes: a 0xFF that no stuffed 0x00 follows (ITU-T T.81, B.1.1.2 and
// F.1.2.3).
#pragma once

#include <cstddef>
#include <cstdint>

#include "pixels/resize.h"

namespace fl::jpeg {

// The first 0xFF of [at, end) with a byte behind it that is not 0; else `end`. That byte may be
// another 0xFF.
namespace scalar {
const uint8_t* next_marker(const uint8_t* at, const uint8_t* end);
}
namespace tuned {
const uint8_t* next_marker(const uint8_t* at, const uint8_t* end);
}

inline const uint8_t* next_marker(const uint8_t* at, const uint8_t* end,
                                  cpu::Target target = cpu::Target::kBest) {
  return target == cpu::Target::kScalar ? scalar::next_marker(at, end)
                                        : tuned::next_marker(at, end);
}

}  // namespace fl::jpeg
