// Which way a JPEG is coded: by parse_frame where that takes it, else by the kind of its frame
// header (ITU-T T.81, table B.1). And whether its markers lead to its end. Nothing is decoded,
// nothing outside the bytes is read.
#include "jpeg/coding.h"

#include "base/image.h"
#include "base/reader.h"
#include "jpeg/codes.h"
#include "jpeg/markers.h"

namespace fl::jpeg {
namespace {

// T.81 B.2.2: length, precision, height, width, count.
bool is_covered(Reader& in, size_t at) {
  const uint32_t precision = in.u8(at + 2), height = in.u16(at + 3), width = in.u16(at + 5),
                 count = in.u8(at + 7);
  return in.good && precision == 8 && (count == 1 || count == 3) &&
         int64_t{height} * width <= kMaxPixels;
}

// Of a file that parse_frame does not take.
Coding by_frame(Reader& in, size_t at, uint32_t marker, const std::string& why) {
  if (!is_covered(in, at)) return Coding::kOther;
  if (marker == kSof2) return Coding::kProgressive;
  if (marker == kSof9 || marker == kSof10) return Coding::kArithmetic;
  return why == kSeveralScans ? Coding::kScans : Coding::kOther;
}

}  // namespace

const char* name(Coding coding) {
  constexpr const char* kNames[] = {"baseline",    "restart-marked", "multi-scan",
                                    "progressive", "arithmetic",     "other"};
  return kNames[static_cast<int>(coding)];
}

Coding coding_of(Bytes bytes) {
  Frame frame;
  const std::string why = parse_frame(bytes, frame);
  if (why.empty()) return frame.restart_interval == 0 ? Coding::kBaseline : Coding::kRestarts;
  Reader in(bytes, true);
  if (in.u8(0) != 0xFF || in.u8(1) != 0xD8) return Coding::kOther;
  for (size_t at = 2; in.u8(at) == 0xFF;) {
    while (in.good && in.u8(at) == 0xFF) ++at;  // any number of fill bytes may precede a marker
    const uint32_t marker = in.u8(at++), length = in.u16(at);
    if (!in.good || length < 2) break;
    if (is_frame(marker)) return by_frame(in, at, marker, why);
    at += length;
  }
  return Coding::kOther;
}

size_t end_of_scan(Bytes bytes, size_t at) {
  const uint8_t *marker = bytes.data() + at, *const end = bytes.data() + bytes.size();
  while ((marker = next_marker(marker, end)) != end) {
    const bool fill = marker[1] == 0xFF;
    if (!fill && (marker[1] < kRst0 || marker[1] > kRst7)) break;
    marker += fill ? 1 : 2;
  }
  return static_cast<size_t>(marker - bytes.data());
}

// Every pass of the loop moves on by two bytes at least, so any input ends.
bool reaches_end(Bytes bytes) {
  Reader in(bytes, true);
  int scans = 0;
  for (size_t at = 2; in.u8(at) == 0xFF;) {
    while (in.good && in.u8(at) == 0xFF) ++at;
    const uint32_t marker = in.u8(at++);
    if (marker == kEoi) return in.good && scans > 0;
    const uint32_t length = in.u16(at);
    if (!in.good || marker == 0 || length < 2) return false;
    at += length;
    if (marker != kSos) continue;
    ++scans;
    at = end_of_scan(bytes, at);
  }
  return false;
}

}  // namespace fl::jpeg
