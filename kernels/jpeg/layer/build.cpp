// A JPEG's scan to the runs of a layer, an MCU row at a time.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>

#include "jpeg/codes.h"
#include "jpeg/coding.h"
#include "jpeg/layer/layer.h"
#include "jpeg/probe.h"
#include "jpeg/region_scan.h"

namespace fl::jpeg::layer {
namespace {

const char kRange[] = "not covered: a coefficient beyond what encoders of 8 bits make";

void put(std::vector<uint8_t>& to, uint64_t value, int bytes) {
  for (int n = 0; n < bytes; ++n) to.push_back(static_cast<uint8_t>(value >> 8 * n));
}

// A value n + 1 or -(n + 1), or a step n or -n - 1: its n.
int rest_of(int value, bool step) {
  if (step) return value < 0 ? -value - 1 : value;
  return std::abs(value) - 1;
}

// Bits of the widest, sign included; 0 for none.
int width_of(const int* values, int count, bool steps) {
  int width = 0;
  for (int n = 0; n < count; ++n) {
    const auto rest = static_cast<unsigned>(rest_of(values[n], steps));
    if (steps && rest == 0 && values[n] == 0) continue;
    width = std::max(width, static_cast<int>(std::bit_width(rest)) + 1);
  }
  return is_width(width) ? width : width + 1;  // may still be none
}

void pack(std::vector<uint8_t>& to, const int* values, int count, int width, bool steps) {
  uint64_t bits = 0;
  int held = 0;
  for (int n = 0; n < count; ++n) {
    const auto rest = static_cast<uint64_t>(rest_of(values[n], steps));
    const uint64_t sign = width > 0 && values[n] < 0 ? uint64_t{1} << (width - 1) : 0;
    bits |= (rest | sign) << held;
    for (held += width; held >= 8; held -= 8, bits >>= 8) to.push_back(static_cast<uint8_t>(bits));
  }
  if (held > 0) to.push_back(static_cast<uint8_t>(bits));
}

// One block's part of a run.
struct Shape {
  uint64_t mask = 0;  // from coefficient 1 on
  int count = 0, mask_bytes = 0, first_width = 0, other_width = 0;
  std::array<int, kBlockValues> values{};

  explicit Shape(const int16_t* block) {
    for (int k = 1; k < kBlockValues; ++k) {
      if (block[k] == 0) continue;
      mask |= uint64_t{1} << (k - 1);
      values[count++] = block[k];
    }
    mask_bytes = (static_cast<int>(std::bit_width(mask)) + 7) / 8;
    const int first = std::min(count, kFirst);
    first_width = width_of(values.data(), first, false);
    other_width = width_of(values.data() + first, count - first, false);
  }

  bool fits() const { return is_width(first_width) && is_width(other_width); }
};

bool put_dc(std::vector<uint8_t>& to, const int16_t* blocks, int count) {
  std::array<int, kRun> steps{};
  for (int b = 1; b < count; ++b)
    steps[b - 1] = blocks[b * kBlockValues] - blocks[(b - 1) * kBlockValues];
  const int width = width_of(steps.data(), count - 1, true);
  if (!is_width(width)) return false;
  put(to, static_cast<uint16_t>(blocks[0]), 2);
  to.push_back(static_cast<uint8_t>(width));
  pack(to, steps.data(), count - 1, width, true);
  return true;
}

// `count` blocks, 64 values each. False: one of them does not fit.
bool put_run(std::vector<uint8_t>& to, const int16_t* blocks, int count) {
  if (!put_dc(to, blocks, count)) return false;
  std::vector<Shape> shapes;
  for (int b = 0; b < count; ++b) shapes.emplace_back(blocks + b * kBlockValues);
  if (!std::all_of(shapes.begin(), shapes.end(), [](const Shape& s) { return s.fits(); }))
    return false;
  for (const Shape& s : shapes)
    to.push_back(static_cast<uint8_t>(s.first_width | s.other_width << 4));
  for (int b = 0; b < count; b += 2) {
    const int second = b + 1 < count ? shapes[b + 1].mask_bytes : 0;
    to.push_back(static_cast<uint8_t>(shapes[b].mask_bytes | second << 4));
  }
  for (const Shape& s : shapes) put(to, s.mask, s.mask_bytes);
  for (const Shape& s : shapes) {
    const int first = std::min(s.count, kFirst);
    pack(to, s.values.data(), first, s.first_width, false);
    pack(to, s.values.data() + first, s.count - first, s.other_width, false);
  }
  return true;
}

// The blocks of one MCU row, by component and block row.
class RowSink final : public BlockSink {
 public:
  explicit RowSink(const Frame& frame) : frame_(frame) {
    for (int c = 0; c < frame.components; ++c)
      blocks_[c].resize(size_t(frame.mcu_columns) * frame.component[c].blocks() * kBlockValues);
  }

  McuColumns wanted(int) const override { return {0, frame_.mcu_columns}; }

  bool take(int, int column, int count, int16_t* blocks) override {
    for (int mcu = column; mcu < column + count; ++mcu)
      for (int c = 0; c < frame_.components; ++c) {
        const Component& part = frame_.component[c];
        for (int b = 0; b < part.blocks(); ++b, blocks += kBlockStep)
          std::copy_n(blocks, kBlockValues, place(c, b / part.h, mcu * part.h + b % part.h));
      }
    clear_blocks(blocks - ptrdiff_t{count} * frame_.mcu_blocks * kBlockStep,
                 count * frame_.mcu_blocks);
    return true;
  }

  // Whether an encoder of 8 bits can have made all blocks: readers do not ask again.
  bool plausible() const {
    for (int c = 0; c < frame_.components; ++c) {
      const auto* const quant =
          reinterpret_cast<const int16_t*>(frame_.quant[frame_.component[c].quant].data());
      for (size_t at = 0; at < blocks_[c].size(); at += kBlockValues)
        if (!plausible_block(&blocks_[c][at], quant)) return false;
    }
    return true;
  }

  // The row as it is stored; empty: a coefficient does not fit.
  std::vector<uint8_t> pack() {
    std::vector<uint8_t> lengths, runs;
    for (int c = 0; c < frame_.components; ++c) {
      const int across = blocks_across(frame_, frame_.component[c]);
      for (int v = 0; v < frame_.component[c].v; ++v)
        for (int column = 0; column < across; column += kRun) {
          const size_t before = runs.size();
          if (!put_run(runs, place(c, v, column), std::min(kRun, across - column))) return {};
          put(lengths, runs.size() - before, kLength);
        }
    }
    lengths.insert(lengths.end(), runs.begin(), runs.end());
    return lengths;
  }

 private:
  int16_t* place(int c, int down, int across) {
    const int all = blocks_across(frame_, frame_.component[c]);
    return blocks_[c].data() + (size_t(down) * all + across) * kBlockValues;
  }

  const Frame& frame_;
  std::array<std::vector<int16_t>, kMaxComponents> blocks_;
};

// The markers that parse_frame() looks at, up to the scan.
std::vector<uint8_t> header_of(Bytes bytes, const Frame& frame) {
  std::vector<uint8_t> out{0xFF, kSoi};
  for (size_t at = 2; at < frame.scan;) {
    while (bytes[at] == 0xFF) ++at;
    const uint32_t marker = bytes[at];
    const size_t length = 1 + (size_t{bytes[at + 1]} << 8 | bytes[at + 2]);
    const bool says_nothing = marker == kCom || marker == kDri ||
                              (marker > kApp0 && marker <= kApp15 && marker != kApp14);
    if (!says_nothing) {
      out.push_back(0xFF);
      out.insert(out.end(), bytes.begin() + at, bytes.begin() + at + length);
    }
    at += length;
  }
  return out;
}

// All rows of the scan; not empty: why not.
std::string pack_rows(Bytes bytes, const Frame& frame, cpu::Target target,
                      std::vector<uint8_t>& entries, std::vector<uint8_t>& rows) {
  Workspace workspace;
  workspace.tables.prepare(frame, bytes.size() - frame.scan);
  const Tiles2d all{0, frame.mcu_rows, 0, frame.mcu_columns};
  Scan scan(bytes, frame, nullptr, all, workspace, target);
  RowSink sink(frame);
  for (int row = 0; row < frame.mcu_rows; ++row) {
    if (std::string why = scan.decode(row, row + 1, sink); !why.empty()) return why;
    const std::vector<uint8_t> packed = sink.plausible() ? sink.pack() : std::vector<uint8_t>{};
    if (packed.empty()) return kRange;
    rows.insert(rows.end(), packed.begin(), packed.end());
    if (rows.size() > std::numeric_limits<uint32_t>::max()) return "not covered: too large";
    put(entries, seek::hash(packed), kRowHash);
    put(entries, rows.size(), 4);
  }
  return {};
}

// Loaders take a layer for its JPEG, so what Pillow must be asked about has none.
std::string left_to_pillow(Bytes bytes) {
  const Header header = probe(bytes);
  return header.status == kOk ? "" : "not covered: " + header.why;
}

}  // namespace

Built build(Bytes bytes, const uint64_t* file_hash, cpu::Target target) {
  Frame frame;
  std::vector<uint8_t> entries, rows, out;
  std::string why = parse_frame(bytes, frame);
  if (why.empty() && !reaches_end(bytes)) why = "damaged: no end of the image";
  if (why.empty()) why = left_to_pillow(bytes);
  if (why.empty()) why = pack_rows(bytes, frame, target, entries, rows);
  if (!why.empty()) return {{}, std::move(why)};
  const std::vector<uint8_t> header = header_of(bytes, frame);
  out.assign(kMagic, kMagic + 4);
  put(out, kVersion, 2);
  put(out, static_cast<uint64_t>(frame.mcu_rows), 2);
  put(out, bytes.size(), 8);
  put(out, file_hash != nullptr ? *file_hash : seek::hash(bytes), 8);
  put(out, header.size(), 4);
  out.insert(out.end(), header.begin(), header.end());
  out.insert(out.end(), entries.begin(), entries.end());
  put(out, seek::hash(out), kSeal);
  out.insert(out.end(), rows.begin(), rows.end());
  return {std::move(out), {}};
}

}  // namespace fl::jpeg::layer
