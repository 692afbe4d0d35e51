// Blocks in the scan's order: rows of one component, or MCUs of several (DC only). Those that the
// region does not need are passed over: of AC only their masks are kept, of DC the sum.
//
// A scan ends where the region needs nothing more of it. Only where that is the scan's own end is
// what follows looked at: nothing but a marker, as in libjpeg, which warns of other bytes.
#include "jpeg/progressive_scan.h"

#include <algorithm>
#include <limits>

#include "jpeg/codes.h"

namespace fl::jpeg {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

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
    for (int n = 0; n < scan.count; ++n)
      if (scan.tables[n] != 0) tables_[n].make(codes_at(bytes, scan.tables[n]), role, scan.low);
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
    sums_ = {};
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

  bool rows() {
    const Grid& grid = coefficients_.of(scan_.components[0]);
    const int last = std::min(grid.bottom, grid.down) - 1,
              right = std::min(grid.right, grid.across);
    for (int row = 0; row <= last; ++row) {
      const int end = row < last ? grid.across : right;
      const int from = row < grid.top ? end : std::min(grid.left, end),
                to = row < grid.top ? end : right;
      if (!piece(grid, row, 0, from, false) || !piece(grid, row, from, to, true) ||
          !piece(grid, row, to, end, false))
        return false;
    }
    return last < grid.down - 1 || right < grid.across || ends();
  }

  // Blocks begin..end-1 of a row.
  bool piece(const Grid& grid, int row, int begin, int end, bool wanted) {
    while (begin < end) {
      if (until_restart_ == 0 && !restart()) return false;
      const int count = static_cast<int>(std::min<int64_t>(end - begin, until_restart_));
      int16_t* const blocks = wanted ? grid.block(row, begin) : nullptr;
      const Run run{blocks, grid.history(row, begin), count};
      const bool good = scan_.dc()      ? dc_run(0, blocks, count)
                        : scan_.refines ? refining_(band_, run, ended_, feed_)
                                        : first_(band_, run, ended_, feed_);
      if (!good) return false;
      if (until_restart_ != kNever) until_restart_ -= count;
      begin += count;
    }
    return true;
  }

  bool mcus() {
    const Grid& any = coefficients_.of(scan_.components[0]);
    const Component& part = frame_.component[scan_.components[0]];
    const int bottom = any.bottom / part.v, right = any.right / part.h;
    for (int row = 0; row < bottom; ++row) {
      const int end = row < bottom - 1 ? frame_.mcu_columns : right;
      for (int column = 0; column < end; ++column) {
        if (until_restart_ == 0 && !restart()) return false;
        if (!mcu(row, column)) return false;
        if (until_restart_ != kNever) --until_restart_;
      }
    }
    return bottom < frame_.mcu_rows || right < frame_.mcu_columns || ends();
  }

  bool mcu(int row, int column) {
    for (int n = 0; n < scan_.count; ++n) {
      const Component& part = frame_.component[scan_.components[n]];
      const Grid& grid = coefficients_.of(scan_.components[n]);
      const bool wanted = grid.keeps(row * part.v, column * part.h);
      for (int v = 0; v < part.v; ++v) {
        int16_t* const blocks = wanted ? grid.block(row * part.v + v, column * part.h) : nullptr;
        if (!dc_run(n, blocks, part.h)) return false;
      }
    }
    return true;
  }

  // DC of blocks side by side, of the scan's n-th component. blocks: null if nobody wants them.
  bool dc_run(int n, int16_t* blocks, int count) {
    const int step = blocks == nullptr ? 0 : kBlockValues;
    int16_t nobody = 0;
    int16_t* to = blocks == nullptr ? &nobody : blocks;
    Window window = feed_.window;
    bool good = true;
    for (int left = count; left > 0 && good; --left, to += step) {
      good = !feed_.low(window) || feed_.refill(window);
      window.fill();
      if (scan_.refines)
        bit(window, *to);
      else
        good &= difference(tables_[n], window, sums_[n], *to);
    }
    good = good && (!feed_.low(window) || feed_.refill(window));
    feed_.window = window;
    return good;
  }

  // T.81 G.1.2.1.2, of two's complement.
  void bit(Window& window, int16_t& dc) const {
    dc = static_cast<int16_t>(dc | static_cast<int>(window.bits >> 63) << scan_.low);
    window.take(1);
  }

  // T.81 G.1.2.1.1. False: no such code, or a sum that needs more than 16 bits.
  bool difference(const ScanTable& table, Window& window, int& sum, int16_t& dc) const {
    const ScanSymbol symbol = table.symbol(window.bits);
    window.take(static_cast<uint64_t>(symbol.length));
    sum += symbol.value;
    dc = static_cast<int16_t>(sum * (1 << scan_.low));
    const int most = kMostDc >> scan_.low;
    return symbol.kind == Kind::kValue && sum >= -most && sum <= most;
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
  std::array<int, kMaxComponents> sums_{};  // DC of the block before, by number in the scan
  uint32_t ended_ = 0;                      // blocks whose band is at its end
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
