// Blocks in the scan's order: rows of one component, or MCUs of several (DC only). Those that the
// region does not need are passed over: of AC only their masks are kept, of DC the sum.
//
// A scan ends where the region needs nothing more of it. Only where that is the scan's own end is
// what follows looked at: nothing but a marker, as in libjpeg, which warns of other bytes.
#include "jpeg/progressive_scan.h"

#include <algorithm>
#include <limits>

#include "jpeg/codes.h"
#include "jpeg/progressive_dc.h"

namespace fl::jpeg {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

struct Span {
  int begin, end;
};

class ScanDecoder {
 public:
  ScanDecoder(Bytes bytes, const Frame& frame, const ProgressiveScan& scan,
              const Coefficients& coefficients, ScanTables& tables, Feed& feed, cpu::Target target)
      : bytes_(bytes),
        frame_(frame),
        scan_(scan),
        coefficients_(coefficients),
        tables_(tables),
        feed_(feed),
        refining_(target == cpu::Target::kScalar ? scalar::decode_refining
                                                 : tuned::decode_refining),
        first_(target == cpu::Target::kScalar ? scalar::decode_first : tuned::decode_first) {
    const Role role = scan.dc() ? Role::kDc : scan.refines ? Role::kRefine : Role::kFirst;
    for (int n = 0; n < scan.count; ++n) {
      if (scan.tables[n] != 0) tables_[n].make(codes_at(bytes, scan.tables[n]), role, scan.low);
      parts_[n].table = &tables_[n];
      if (scan.count == 1) continue;
      parts_[n].across = frame.component[scan.components[n]].h;
      parts_[n].down = frame.component[scan.components[n]].v;
    }
    band_ = {scan.first, scan.last, scan.low, &tables_[0]};
  }

  bool decode() {
    begin(scan_.begin);
    return scan_.count == 1 ? rows() : mcus();
  }

  size_t where() const { return feed_.marker(); }

 private:
  void begin(size_t at) {
    feed_.start(bytes_, at, scan_.end);
    until_restart_ = scan_.restart_interval == 0 ? kNever : scan_.restart_interval;
    for (DcPart& part : parts_) part.sum = 0;
    ended_ = 0;
  }

  // T.81 G.1.2.2 and F.2.2.4: all that is predicted begins anew behind the marker that is due.
  bool restart() {
    if (!feed_.ends()) return false;
    size_t at = feed_.marker();
    while (at < scan_.end && bytes_[at] == 0xFF) ++at;
    if (at >= scan_.end || uint32_t{bytes_[at]} != kRst0 + restarts_++ % 8) return false;
    begin(at + 1);
    return true;
  }

  // Fill bytes may precede the marker.
  bool ends() {
    if (!feed_.ends()) return false;
    const auto *from = bytes_.data() + feed_.marker(), *to = bytes_.data() + scan_.end;
    return std::all_of(from, to, [](uint8_t byte) { return byte == 0xFF; });
  }

  // One component: its own blocks, without those that fill up the last MCU.
  bool rows() {
    const Grid& grid = coefficients_.of(scan_.components[0]);
    const Span down{grid.top, std::min(grid.bottom, grid.down)},
        across{grid.left, std::min(grid.right, grid.across)};
    return all(down, across, grid.across) &&
           (down.end < grid.down || across.end < grid.across || ends());
  }

  bool mcus() {
    const Grid& any = coefficients_.of(scan_.components[0]);
    const Component& part = frame_.component[scan_.components[0]];
    const Span down{any.top / part.v, any.bottom / part.v},
        across{any.left / part.h, any.right / part.h};
    return all(down, across, frame_.mcu_columns) &&
           (down.end < frame_.mcu_rows || across.end < frame_.mcu_columns || ends());
  }

  // Rows from the first one to the last that is wanted, and of that no more than is wanted.
  bool all(const Span& down, const Span& across, int columns) {
    for (int row = 0; row < down.end; ++row) {
      const int end = row == down.end - 1 ? across.end : columns;
      const bool any = row >= down.begin;
      const int from = any ? across.begin : end, to = any ? across.end : end;
      if (!piece(row, 0, from, false) || !piece(row, from, to, true) || !piece(row, to, end, false))
        return false;
    }
    return true;
  }

  // MCUs begin..end-1 of a row.
  bool piece(int row, int begin, int end, bool wanted) {
    while (begin < end) {
      if (until_restart_ == 0 && !restart()) return false;
      const int count = static_cast<int>(std::min<int64_t>(end - begin, until_restart_));
      if (!(scan_.dc() ? dc(row, begin, count, wanted) : ac(row, begin, count, wanted)))
        return false;
      if (until_restart_ != kNever) until_restart_ -= count;
      begin += count;
    }
    return true;
  }

  bool ac(int row, int column, int count, bool wanted) {
    const Grid& grid = coefficients_.of(scan_.components[0]);
    const Run run{wanted ? grid.block(row, column) : nullptr, grid.history(row, column), count};
    return scan_.refines ? refining_(band_, run, ended_, feed_) : first_(band_, run, ended_, feed_);
  }

  bool dc(int row, int column, int count, bool wanted) {
    for (int n = 0; n < scan_.count; ++n) {
      const Grid& grid = coefficients_.of(scan_.components[n]);
      DcPart& part = parts_[n];
      part.to = wanted ? grid.block(row * part.down, column * part.across) : nullptr;
      part.line = ptrdiff_t{grid.right - grid.left} * kBlockValues;
    }
    return decode_dc(std::span(parts_).first(scan_.count), scan_.refines, scan_.low, count, feed_);
  }

  const Bytes bytes_;
  const Frame& frame_;
  const ProgressiveScan& scan_;
  const Coefficients& coefficients_;
  ScanTables& tables_;
  Feed& feed_;
  const decltype(&tuned::decode_refining) refining_, first_;

  Band band_;
  int64_t until_restart_ = kNever;  // MCUs
  uint32_t restarts_ = 0;
  std::array<DcPart, kMaxComponents> parts_{};  // by number in the scan
  uint32_t ended_ = 0;                          // blocks whose band is at its end
};

}  // namespace

std::string decode_scan(Bytes bytes, const Frame& frame, const ProgressiveScan& scan,
                        const Coefficients& coefficients, ScanTables& tables, Feed& feed,
                        cpu::Target target) {
  ScanDecoder decoder(bytes, frame, scan, coefficients, tables, feed, target);
  if (decoder.decode()) return {};
  return "damaged near byte " + std::to_string(decoder.where()) + ": no valid blocks";
}

}  // namespace fl::jpeg
