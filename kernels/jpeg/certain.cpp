// Strict: Pillow is asked about a few files too many. This checks lengths, markers and their order;
// parse_frame checks what they say.
#include "jpeg/certain.h"

#include <algorithm>

#include "base/reader.h"
#include "jpeg/applications.h"
#include "jpeg/codes.h"
#include "jpeg/coding.h"
#include "jpeg/markers.h"

namespace fl::jpeg {
namespace {

constexpr int kBlockSide = 8;  // px

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// One walk from the start marker on. Every index is checked by Reader or against the segment's end.
class Walk {
 public:
  explicit Walk(std::span<const uint8_t> bytes) : bytes_(bytes), in_(bytes, true) {}

  std::string why() {
    if (in_.u8(0) != 0xFF || in_.u8(1) != kSoi) return "no start marker";
    for (uint32_t marker = 0; marker != kSos;) {
      if (in_.u8(at_) != 0xFF) return "bytes between its segments";
      // Any number of fill bytes may precede a marker
      while (in_.good && in_.u8(at_) == 0xFF) ++at_;
      marker = in_.u8(at_++);
      const uint32_t length = in_.u16(at_);
      if (!in_.good || length < 2 || length > bytes_.size() - at_)
        return "a segment longer than the file";
      if (!segment(marker, at_ + 2, at_ + length)) return "an unusual segment in the header";
      at_ += length;
    }
    if (several_) return reaches_end(bytes_) ? "" : kEndless;
    return scan();
  }

 private:
  static constexpr const char* kEndless = "ends without an end marker";

  bool segment(uint32_t marker, size_t at, size_t end) {
    switch (marker) {
      case kSof0:
      case kSof1:
      case kSof2:
        return frame(marker, at, end);
      case kDqt:
        return tables(at, end);
      case kDri:
        interval_ = in_.u16(at);
        return end - at == 2;
      case kSos:
        several_ |= in_.u8(at) != components_;
        return components_ != 0 && end - at == 4 + 2 * size_t{in_.u8(at)};
      case kDht:
      case kCom:
        return true;
      default:
        break;
    }
    return marker >= kApp0 && marker <= kApp15 &&
           applications_.take(marker, bytes_.subspan(at, end - at));
  }

  // T.81 B.2.2: precision, height, width, count, then id, sampling, table of each component.
  bool frame(uint32_t marker, size_t at, size_t end) {
    if (components_ != 0 || end - at < 6 || end - at != 6 + 3 * size_t{in_.u8(at + 5)})
      return false;
    several_ = marker == kSof2;
    components_ = in_.u8(at + 5);
    int64_t down = 1, across = 1;
    // One component is not interleaved
    for (size_t part = at + 6; components_ > 1 && part < end; part += 3) {
      across = std::max(across, int64_t{in_.u8(part + 1) >> 4});
      down = std::max(down, int64_t{in_.u8(part + 1) & 15});
    }
    mcus_ = ceil_div(in_.u16(at + 1), down * kBlockSide) *
            ceil_div(in_.u16(at + 3), across * kBlockSide);
    return components_ != 0 && mcus_ != 0;
  }

  // T.81 B.2.4.1: precision and number, then 64 values of 1 or 2 bytes.
  bool tables(size_t at, size_t end) {
    while (at < end) {
      const uint32_t wide = in_.u8(at) >> 4;
      const size_t size = 1 + 64 * size_t{wide + 1};
      if (wide > 1 || end - at < size) return false;
      at += size;
    }
    return true;
  }

  // T.81 E.1.4 and E.2.4: restart markers count from RST0 to RST7 and begin again. The last
  // interval has none behind it.
  std::string scan() {
    const int64_t due = interval_ == 0 ? 0 : ceil_div(mcus_, interval_) - 1;
    const uint8_t *at = bytes_.data() + at_, *const end = bytes_.data() + bytes_.size();
    for (int64_t restarts = 0;; ++restarts, at += 2) {
      at = next_marker(at, end);
      while (end - at > 2 && at[1] == 0xFF) ++at;  // fill bytes
      if (end - at < 2) return kEndless;
      if (at[1] == kEoi) return restarts == due ? "" : "restart markers missing";
      if (restarts == due || at[1] != kRst0 + restarts % 8)
        return "a marker in its scan that does not belong there";
    }
  }

  const std::span<const uint8_t> bytes_;
  Reader in_;
  size_t at_ = 2;
  Applications applications_;
  uint32_t components_ = 0, interval_ = 0;
  int64_t mcus_ = 0;
  bool several_ = false;  // scans
};

}  // namespace

std::string why_uncertain(std::span<const uint8_t> bytes) { return Walk(bytes).why(); }

}  // namespace fl::jpeg
