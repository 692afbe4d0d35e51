// Nothing in a layer is believed: sizes and hashes are checked before what they cover is used, the
// header by the parser of JPEGs, runs while they are decoded.
#include "jpeg/layer/layer.h"

#include <algorithm>

#include "base/reader.h"
#include "jpeg/layer/run.h"
#include "jpeg/region_strips.h"

namespace fl::jpeg::layer {
namespace {

const char kRefused[] = "index refused: ";

constexpr size_t kCacheLine = 64;  // bytes

// Of planes. A layer gives its rows one by one as fast as many at once, so that strips are short.
constexpr size_t kStripBytes = 32 << 10;

// Blocks first..last-1 of a component's block row.
struct Across {
  int first = 0, last = 0, all = 0;
};

// The runs of one MCU row, one after the other.
class RowRuns {
 public:
  RowRuns(Bytes row, const Frame& frame, cpu::Target target)
      : row_(row), at_(size_t{kLength} * runs_of(frame)), decode_(run_decoder(target)) {}

  // The next block row. False: damaged.
  bool decode(const Across& across, int16_t* out, uint8_t* ends) {
    std::array<Run, kTogether> runs;
    size_t held = 0;
    for (int begin = 0; begin < across.all; begin += kRun) {
      const size_t length = row_[next_] | row_[next_ + 1] << 8, from = at_;
      next_ += kLength;
      at_ += length;
      if (at_ > row_.size()) return false;
      const int blocks = std::min(kRun, across.all - begin),
                first = std::clamp(across.first - begin, 0, blocks),
                last = std::clamp(across.last - begin, 0, blocks);
      if (first < last) runs[held++] = {row_.subspan(from, length), {blocks, first, last}};
      if (held < kTogether && begin + kRun < across.all) continue;
      if (!decode_({runs.data(), held}, out, ends)) return false;
      for (; held > 0; --held) {
        out += runs[held - 1].wanted.count() * kBlockValues;
        ends += runs[held - 1].wanted.count();
      }
    }
    return true;
  }

  bool ended() const { return at_ == row_.size(); }

 private:
  const Bytes row_;
  size_t next_ = 0, at_;  // bytes: of the next run's length, of the run
  decltype(run_decoder({})) const decode_;
};

// Row after row of a layer into the planes of a strip.
class Filler {
 public:
  Filler(const Layer& layer, const Frame& frame, const Tiles2d& tiles, Workspace& workspace,
         cpu::Target target)
      : layer_(layer), frame_(frame), tiles_(tiles), workspace_(workspace), target_(target) {
    int most = 0;
    for (int c = 0; c < frame.components; ++c)
      most = std::max(most, (tiles.right - tiles.left) * frame.component[c].blocks());
    const size_t bytes = size_t(most) * kBlockValues * sizeof(int16_t);
    uint8_t* const memory = workspace.coefficients.reserve(bytes + 2 * kPadding + most);
    blocks_ = reinterpret_cast<int16_t*>(memory);
    ends_ = memory + bytes + kPadding;
    static_assert(kPadding >= kRun);
  }

  std::string fill(int row, int end, Planes* planes) {
    for (; row < end; ++row) {
      Bytes bytes;
      if (!layer_.row(row, bytes) || bytes.size() < size_t{kLength} * runs_of(frame_))
        return damaged(row);
      if (row + 1 < end) fetch_ahead(bytes);
      RowRuns runs(readable(bytes), frame_, target_);
      for (int c = 0; c < frame_.components; ++c)
        if (!component(runs, c) ||
            (planes != nullptr && !planes->take_ended(c, row, blocks_, ends_)))
          return damaged(row);
      if (!runs.ended()) return damaged(row);
    }
    return {};
  }

 private:
  // The next row, while this one is decoded: its checksum would wait for memory. It is about as
  // long as this one.
  void fetch_ahead(Bytes row) const {
    const uint8_t* const next = row.data() + row.size();
    const size_t size = std::min(row.size(), layer_.behind(row));
    for (size_t at = 0; at < size; at += kCacheLine) __builtin_prefetch(next + at);
  }

  static std::string damaged(int row) {
    return kRefused + ("row " + std::to_string(row)) + " of the layer is damaged";
  }

  bool component(RowRuns& runs, int c) {
    const Component& part = frame_.component[c];
    const Across across{tiles_.left * part.h, tiles_.right * part.h, blocks_across(frame_, part)};
    const int count = across.last - across.first;
    for (int v = 0; v < part.v; ++v)
      if (!runs.decode(across, blocks_ + v * count * kBlockValues, ends_ + v * count)) return false;
    return true;
  }

  // Vectors read past the end of a run: so of the layer's last rows there is a copy with room.
  Bytes readable(Bytes bytes) {
    if (layer_.behind(bytes) >= kOverread) return bytes;
    uint8_t* const copy = workspace_.coded.reserve(bytes.size() + kOverread);
    std::copy(bytes.begin(), bytes.end(), copy);
    std::fill_n(copy + bytes.size(), kOverread, uint8_t{0});
    return {copy, bytes.size()};
  }

  const Layer& layer_;
  const Frame& frame_;
  const Tiles2d tiles_;
  Workspace& workspace_;
  const cpu::Target target_;
  int16_t* blocks_;  // of a component's block rows in one MCU row
  uint8_t* ends_;    // of these blocks
};

}  // namespace

bool is_layer(Bytes bytes) {
  return bytes.size() >= 4 && std::equal(kMagic, kMagic + 4, bytes.begin());
}

bool is_known(Bytes bytes) {
  return is_layer(bytes) && bytes.size() > 5 && (bytes[4] | bytes[5] << 8) == kVersion;
}

std::string Layer::open(Bytes bytes, Frame& frame) {
  bytes_ = bytes;
  Reader in(bytes, false);
  if (!is_known(bytes)) return "not a layer of this version";
  const uint64_t rows = in.u16(6), header = in.u32(24);
  const uint64_t head = kFixed + header + rows * kRowEntry;
  if (!in.good || head + kSeal > bytes.size()) return "layer too short";
  if (seek::hash(bytes.first(head)) != u64_at(&bytes[head])) return "layer damaged";
  if (std::string why = parse_frame(bytes.subspan(kFixed, header), frame); !why.empty())
    return "layer's header: " + why;
  frame.restart_interval = 0;
  if (uint64_t(frame.mcu_rows) != rows) return "layer of another geometry";
  entries_ = kFixed + header;
  rows_ = bytes.subspan(head + kSeal);
  if (rows_.size() != Reader(bytes, false).u32(head - kRowEntry + kRowHash))
    return "layer of a wrong size";
  return {};
}

bool Layer::is_of(size_t size, uint64_t hash) const {
  return u64_at(&bytes_[8]) == size && u64_at(&bytes_[16]) == hash;
}

bool Layer::row(int row, Bytes& out) const {
  Reader in(bytes_, false);
  const size_t entry = entries_ + row * kRowEntry;
  const size_t begin = row == 0 ? 0 : in.u32(entry - kRowEntry + kRowHash),
               end = in.u32(entry + kRowHash);
  if (begin > end || end > rows_.size()) return false;
  out = rows_.subspan(begin, end - begin);
  return seek::hash(out) == u64_at(&bytes_[entry]);
}

bool Layer::intact() const {
  for (size_t row = 0, at = entries_; at + kRowEntry + kSeal <= bytes_.size() - rows_.size();
       ++row, at += kRowEntry)
    if (Bytes bytes; !this->row(static_cast<int>(row), bytes)) return false;
  return true;
}

std::string fill(const Layer& layer, const Frame& frame, const Tiles2d& tiles, int row, int end,
                 Planes* planes, Workspace& workspace, cpu::Target target) {
  return Filler(layer, frame, tiles, workspace, target).fill(row, end, planes);
}

Decoded decode(const Layer& layer, const Frame& frame, const Region& region, Workspace& workspace,
               cpu::Target target) {
  if (!inside(region, frame)) return {{}, "not covered: region outside the image"};
  Strips strips(frame, region, workspace, target, kStripBytes);
  Filler filler(layer, frame, strips.tiles(), workspace, target);
  return strips.make(
      [&filler](int row, int end, Planes& planes) { return filler.fill(row, end, &planes); });
}

}  // namespace fl::jpeg::layer
