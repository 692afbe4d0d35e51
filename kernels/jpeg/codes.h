// The markers' second bytes (ITU-T T.81, table B.1), by their names there.
#pragma once

#include <cstdint>

namespace fl::jpeg {

enum Marker : uint32_t {
  kSof0 = 0xC0,  // baseline
  kSof1,         // extended sequential
  kSof2,         // progressive
  kSof3,         // lossless
  kDht = 0xC4,
  kJpg = 0xC8,
  kSof9,
  kSof10,
  kDac = 0xCC,
  kSof15 = 0xCF,
  kRst0 = 0xD0,
  kRst7 = 0xD7,
  kSoi = 0xD8,
  kEoi = 0xD9,
  kSos = 0xDA,
  kDqt = 0xDB,
  kDri = 0xDD,
  kApp0 = 0xE0,
  kApp1,
  kApp2,
  kApp13 = 0xED,
  kApp14,
  kApp15,
  kCom = 0xFE,
};

// Whether it begins a frame's header, of any coding.
constexpr bool is_frame(uint32_t marker) {
  return marker >= kSof0 && marker <= kSof15 && marker != kDht && marker != kJpg && marker != kDac;
}

}  // namespace fl::jpeg
