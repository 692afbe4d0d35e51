// One walk over the file's markers. The header was read by parse_progressive; here its Huffman
// tables and restart intervals count, since scans may change both.
//
// Strict, because of two promises. A scan that nobody needs to its end is not decoded there, so no
// byte behind that point may change what libjpeg-turbo makes of the rows before: its only fatal
// error in coded bytes, a DC that leaves 32 bits, must be impossible. And what scans leave open,
// each version of libjpeg-turbo smooths in its own way.
#include "jpeg/progressive_scans.h"

#include <algorithm>

#include "jpeg/codes.h"
#include "jpeg/coding.h"
#include "jpeg/huffman.h"

namespace fl::jpeg {
namespace {

constexpr int kMostLow = 13;  // T.81 B.2.3
constexpr int kNotYet = -1;   // no bit of a coefficient is known

std::string damaged(size_t at, const std::string& why) {
  return "damaged at byte " + std::to_string(at) + ": " + why;
}

class ScanWalk {
 public:
  ScanWalk(Bytes bytes, const Frame& frame, std::vector<ProgressiveScan>& scans)
      : bytes_(bytes), in_(bytes, true), frame_(frame), scans_(scans) {
    for (auto& known : known_) known.fill(kNotYet);
  }

  std::string read() {
    scans_.clear();
    for (size_t at = 2;;) {
      if (in_.u8(at) != 0xFF) return damaged(at, "not a marker");
      while (in_.good && in_.u8(at) == 0xFF) ++at;
      const uint32_t marker = in_.u8(at++), length = in_.u16(at);
      if (marker == kEoi) return complete();
      if (!in_.good || length < 2 || length > in_.size() - at)
        return damaged(at, "segment longer than the file");
      if (std::string why = segment(marker, at + 2, at + length); !why.empty()) return why;
      at += length;
      if (marker != kSos) continue;
      scans_.back().begin = at;
      at = scans_.back().end = end_of_scan(bytes_, at);
    }
  }

 private:
  std::string segment(uint32_t marker, size_t at, size_t end) {
    switch (marker) {
      case kDht:
        return dht(at, end);
      case kDri:
        if (end - at != 2) return damaged(at, "restart interval");
        interval_ = static_cast<int>(in_.u16(at));
        return {};
      case kSos:
        return sos(at, end);
      default:
        break;
    }
    const bool plain = marker == kCom || (marker > kApp0 && marker <= kApp15 && marker != kApp14);
    return scans_.empty() || plain ? "" : "not covered: markers between its scans";
  }

  std::string dht(size_t at, size_t end) {
    Codes codes;
    while (at < end) {
      const uint32_t head = in_.u8(at++);
      if (head >> 4 > 1 || (head & 15) >= kMaxTables) return damaged(at, "Huffman table number");
      (head >> 4 != 0 ? ac_ : dc_)[head & 15] = at;
      if (!read_codes(in_, at, end, codes)) return damaged(at, "Huffman table too short");
    }
    return {};
  }

  // T.81 B.2.3 and G.1.1.1.
  std::string sos(size_t at, size_t end) {
    const auto count = static_cast<int>(in_.u8(at));
    if (count < 1 || count > frame_.components || end - at != 4 + 2 * static_cast<size_t>(count))
      return damaged(at, "scan header");
    if (scans_.size() == kMaxProgressiveScans)
      return "not covered: more than " + std::to_string(kMaxProgressiveScans) + " scans";
    ProgressiveScan scan;
    scan.count = count;
    scan.restart_interval = interval_;
    const size_t tail = at + 1 + 2 * static_cast<size_t>(count);
    scan.first = static_cast<int>(in_.u8(tail));
    scan.last = static_cast<int>(in_.u8(tail + 1));
    const auto high = static_cast<int>(in_.u8(tail + 2) >> 4);
    scan.low = static_cast<int>(in_.u8(tail + 2) & 15);
    scan.refines = high != 0;
    const bool band = scan.dc() ? scan.last == 0
                                : scan.first <= scan.last && scan.last < kBlockValues && count == 1;
    if (!band || scan.low > kMostLow || (scan.refines && scan.low != high - 1))
      return damaged(tail, "progression");
    for (int n = 0, next = 0; n < count; ++n) {
      const size_t from = at + 1 + 2 * static_cast<size_t>(n);
      while (next < frame_.components && frame_.component[next].id != in_.u8(from)) ++next;
      if (next == frame_.components) return "not covered: components in another order";
      scan.components[n] = next++;
      if (std::string why = part(scan, n, high, in_.u8(from + 1)); !why.empty()) return why;
    }
    scans_.push_back(scan);
    return {};
  }

  // The scan's n-th component: in its turn, and with its table.
  std::string part(ProgressiveScan& scan, int n, int high, uint32_t numbers) {
    auto& known = known_[scan.components[n]];
    if (!scan.dc() && known[0] == kNotYet) return "not covered: AC before DC";
    for (int k = scan.first; k <= scan.last; ++k) {
      if (known[k] != (scan.refines ? high : kNotYet)) return "not covered: scans in another order";
      known[k] = scan.low;
    }
    if (scan.dc() && scan.refines) return {};  // bits without codes
    const uint32_t number = scan.dc() ? numbers >> 4 : numbers & 15;
    const size_t table = number < kMaxTables ? (scan.dc() ? dc_ : ac_)[number] : 0;
    if (table == 0) return "not covered: Huffman table missing";
    const Codes codes = codes_at(bytes_, table);
    if (!valid_codes(codes, scan.dc())) return "not covered: Huffman table has too many codes";
    scan.tables[n] = table;
    return scan.dc() && !fits(codes, frame_.component[scan.components[n]])
               ? "not covered: DC may leave 32 bits"
               : "";
  }

  // Whether any sum of DC differences does, whatever the bits are.
  bool fits(const Codes& codes, const Component& part) const {
    int count = 0;
    for (const uint8_t of_length : codes.counts) count += of_length;
    const auto* symbols = codes.symbols.data();
    const int bits = count == 0 ? 0 : *std::max_element(symbols, symbols + count);
    const int64_t blocks = int64_t{frame_.mcu_rows} * frame_.mcu_columns * part.blocks();
    return blocks << bits < int64_t{1} << 31;
  }

  std::string complete() const {
    for (int c = 0; c < frame_.components; ++c)
      for (const int bit : known_[c])
        if (bit != 0) return "not covered: a progressive file without all its scans";
    return {};
  }

  const Bytes bytes_;
  Reader in_;
  const Frame& frame_;
  std::vector<ProgressiveScan>& scans_;
  std::array<size_t, kMaxTables> dc_{}, ac_{};  // bytes where they stand; 0: there is none
  int interval_ = 0;
  // The lowest bit of each coefficient that scans have coded so far
  std::array<std::array<int, kBlockValues>, kMaxComponents> known_;
};

}  // namespace

std::string read_scans(Bytes bytes, const Frame& frame, std::vector<ProgressiveScan>& scans) {
  return ScanWalk(bytes, frame, scans).read();
}

Codes codes_at(Bytes bytes, size_t at) {
  Reader in(bytes, true);
  Codes codes;
  read_codes(in, at, bytes.size(), codes);
  return codes;
}

}  // namespace fl::jpeg
