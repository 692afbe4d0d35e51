// JPEG headers (ITU-T T.81, annex B): markers up to the frame header, which has the size and the
// sampling.
//
// OK means that Pillow is certain to take the file (certain.h): its verdict is known before
// anything is decoded. So the check of the whole file's markers is part of it.
#include "jpeg/probe.h"

#include "base/image.h"
#include "base/reader.h"
#include "jpeg/certain.h"
#include "jpeg/codes.h"

namespace fl {
namespace {

bool has_length(uint32_t marker) {
  return marker >= 0xC0 && marker != 0xFF && !(marker >= 0xD0 && marker <= 0xD9);
}

// Sampling as J:a:b where the two chroma components are alike and divide the first one's.
std::string sampling(Reader& in, size_t components, int count) {
  if (count == 1) return "jpeg grey";
  if (count != 3) return "jpeg";
  const uint32_t y = in.u8(components + 1), cb = in.u8(components + 4), cr = in.u8(components + 7);
  if (cb != cr || !in.good || (cb >> 4) == 0 || (cb & 15) == 0) return "jpeg other";
  const uint32_t h = (y >> 4) / (cb >> 4), v = (y & 15) / (cb & 15);
  if (h * (cb >> 4) != y >> 4 || v * (cb & 15) != (y & 15)) return "jpeg other";
  if (h == 1 && v == 1) return "jpeg 4:4:4";
  if (h == 2 && v == 1) return "jpeg 4:2:2";
  if (h == 2 && v == 2) return "jpeg 4:2:0";
  if (h == 1 && v == 2) return "jpeg 4:4:0";
  if (h == 4 && v == 1) return "jpeg 4:1:1";
  if (h == 4 && v == 2) return "jpeg 4:1:0";
  return "jpeg other";
}

std::string not_native(uint32_t marker, uint32_t precision, const Header& header) {
  if (marker >= jpeg::kSof3) return "jpeg: lossless, hierarchical or arithmetic coding";
  if (precision != 8) return "jpeg: " + std::to_string(precision) + " bits per value (want 8)";
  if (header.components != 1 && header.components != 3)
    return "jpeg: " + std::to_string(header.components) + " components (want 1 or 3)";
  if (header.height == 0 || header.width == 0) return "jpeg: size missing in the header";
  if (static_cast<int64_t>(header.height) * header.width > kMaxPixels)
    return "jpeg: too many pixels (got " + std::to_string(header.height) + "x" +
           std::to_string(header.width) + ", want at most " + std::to_string(kMaxPixels) + ")";
  return "";
}

// T.81 B.2.2: length, precision, height, width, count, then id, sampling, table of each component.
Header frame(Reader& in, size_t at, uint32_t marker) {
  Header header;
  const uint32_t length = in.u16(at), precision = in.u8(at + 2), height = in.u16(at + 3),
                 width = in.u16(at + 5);
  const uint32_t count = in.u8(at + 7);
  in.u8(at + 7 + 3 * count);  // the last byte
  header.format = "jpeg";
  if (!in.good || length != 8 + 3 * count) {
    header.why = "jpeg: frame header is damaged";
    return header;
  }
  header.height = static_cast<int>(height);
  header.width = static_cast<int>(width);
  header.components = static_cast<int>(count);
  header.format = sampling(in, at + 8, header.components);
  header.why = not_native(marker, precision, header);
  header.status = header.why.empty() ? kOk : kForeign;
  return header;
}

}  // namespace

Header probe_jpeg(Bytes bytes) {
  Reader in(bytes, true);
  size_t at = 2;
  while (in.u8(at) == 0xFF && in.good) {
    while (in.good && in.u8(at) == 0xFF) ++at;  // any number of fill bytes may precede a marker
    const uint32_t marker = in.u8(at++);
    if (jpeg::is_frame(marker)) {
      Header header = frame(in, at, marker);
      if (header.status != kOk) return header;
      // Of the whole file: no verdict depends on a crop
      const std::string why = jpeg::why_uncertain(bytes);
      if (why.empty()) return header;
      header.status = kForeign;
      header.why = "jpeg: " + why;
      return header;
    }
    const bool ends = marker == 0xD9 || marker == 0xDA || !has_length(marker);
    const uint32_t length = in.u16(at);
    if (ends || !in.good || length < 2) break;
    at += length;
  }
  Header header;
  header.format = "jpeg";
  header.why = "jpeg: no frame header";
  return header;
}

Header probe(Bytes bytes) {
  Header header;
  if (bytes.empty()) {
    header.why = "empty file";
  } else if (bytes.size() >= 3 && bytes[0] == 0xFF && bytes[1] == 0xD8 && bytes[2] == 0xFF) {
    header = probe_jpeg(bytes);
  } else if (probe_other(bytes, header)) {
    header.why = header.format + ": not a JPEG";
  } else {
    header.why = "unknown format";
  }
  return header;
}

}  // namespace fl
