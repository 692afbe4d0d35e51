// What an encoded image says about itself in its header. Never decodes, never reads past `bytes`.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace fl {

using Bytes = std::span<const uint8_t>;

enum Status : uint8_t { kOk = 0, kForeign = 1, kFailed = 2 };  // meanings: fastload/_native.pyi

struct Header {
  Status status = kForeign;
  int height = 0, width = 0;  // px; 0 where not known
  int components = 0;
  std::string format = "unknown";  // "jpeg 4:2:0", "png", …
  std::string why;                 // not OK: the reason
};

Header probe(Bytes bytes);

Header probe_jpeg(Bytes bytes);                 // starts with FF D8
bool probe_other(Bytes bytes, Header& header);  // PNG, WebP, BMP, GIF, TIFF; false: none of them

}  // namespace fl
