// What a conversion has to know of an encoded image, in one go while its bytes are in cache.
#pragma once

#include <string>
#include <vector>

#include "jpeg/coding.h"
#include "jpeg/probe.h"

namespace fl {

enum class Check {
  kNone,
  kMarkers,  // a JPEG's markers lead to its end
  kDecode,   // every coded block of a JPEG is valid
};

struct Examined {
  Header header;
  jpeg::Coding coding = jpeg::Coding::kOther;
  uint64_t hash = 0;   // XXH3 of the file
  bool sound = false;  // passed `check`; false: not known, for other decoders to say
  std::vector<uint8_t> index;
  std::string why;  // not empty: why there is no index, although one was asked for
};

// step: MCUs per entry of a seek index; negative: none is built. Building one is the check kDecode,
// and costs no more.
Examined examine(Bytes bytes, int step, Check check);

}  // namespace fl
