// The coded bytes without their stuffing: after each 0xFF of the data stands a 0x00 in the file
// (ITU-T T.81, F.1.2.3).
#pragma once

#include <cstddef>
#include <cstdint>

#include "pixels/resize.h"

namespace fl::jpeg {

struct Unstuffed {
  const uint8_t* in;   // first byte not taken; after a stuffed 0xFF it is the one behind the 0x00
  uint8_t* out;        // end of what was written
  bool ended = false;  // `in` is at a marker, or at the end of the file
};

// Takes from [in, stop), at most `room` bytes out, all of which may be written; `end` is the end of
// the file, so that the last 0xFF can be judged.
namespace scalar {
Unstuffed unstuff(const uint8_t* in, const uint8_t* stop, const uint8_t* end, uint8_t* out,
                  size_t room);
}
namespace tuned {
Unstuffed unstuff(const uint8_t* in, const uint8_t* stop, const uint8_t* end, uint8_t* out,
                  size_t room);
}

inline Unstuffed unstuff(const uint8_t* in, const uint8_t* stop, const uint8_t* end, uint8_t* out,
                         size_t room, cpu::Target target) {
  return target == cpu::Target::kScalar ? scalar::unstuff(in, stop, end, out, room)
                                        : tuned::unstuff(in, stop, end, out, room);
}

// How many unstuffed bytes had a 0x00 behind them: those that are 0xFF.
size_t count_stuffed(const uint8_t* bytes, size_t size);

}  // namespace fl::jpeg
