// What the host works out for one image, so that the device only follows numbers. All of it is
// checked or made here: sizes and offsets fit their types, tables are valid, regions lie in the
// image, segments in their bytes. What the device has to find out by itself is whether the coded
// bytes are the index's; it flags what is not.
//
// Runs in a worker thread without the GIL. Memory is bounded by the limits in device_plan.h.
#include "gpu/device_plan.h"

#include <algorithm>

#include "body/resize.h"
#include "jpeg/indexed_rows.h"

namespace fl::jpeg {
namespace {

constexpr int64_t kAlign = 256;  // bytes

int64_t aligned(int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

// Tables of a kind by their number in the file; components with equal ones share them. False: too
// many.
bool add_tables(const std::array<Codes, kMaxTables>& codes, const Frame& frame,
                int Component::*which, std::array<int, kMaxComponents>& number, DevicePlan& out) {
  for (int c = 0; c < frame.components; ++c) {
    const int own = frame.component[c].*which;
    int same = 0;
    while (frame.component[same].*which != own) ++same;
    if (same < c) {
      number[c] = number[same];
      continue;
    }
    if (out.tables.size() == block::kHuffmanTables) return false;
    const Canonical canonical(codes[own]);
    number[c] = static_cast<int>(out.tables.size());
    block::DecodeTable& table = out.tables.emplace_back();
    std::copy(canonical.limit.begin(), canonical.limit.end(), table.limit);
    std::copy(canonical.offset.begin(), canonical.offset.end(), table.offset);
    std::copy(canonical.symbols.begin(), canonical.symbols.end(), table.symbols);
  }
  return true;
}

// Quantisation tables are turned: on the device a thread takes a column of coefficients, which lie
// together.
void fill_part(const Frame& frame, int c, const Tiles2d& tiles, int first_block,
               block::DecodePart& out) {
  const Component& part = frame.component[c];
  out.first_block = first_block;
  out.blocks_across = (tiles.right - tiles.left) * part.h;
  out.top = tiles.top * part.v * kBlockSize;
  out.left = tiles.left * part.h * kBlockSize;
  out.height = part.height;
  out.width = part.width;
  out.across = part.across;
  out.down = part.down;
  out.upsampling = part.upsampling;
  for (int n = 0; n < kBlockValues; ++n) {
    const int at = zigzag_to_natural(n);
    out.quant[at % kBlockSize * kBlockSize + at / kBlockSize] = frame.quant[part.quant][n];
  }
}

// Components, tables and the blocks of an MCU. False: too many tables.
bool fill_parts(const Frame& frame, const Tiles2d& tiles, DevicePlan& out) {
  std::array<int, kMaxComponents> dc{}, ac{};
  if (!add_tables(frame.dc, frame, &Component::dc, dc, out) ||
      !add_tables(frame.ac, frame, &Component::ac, ac, out))
    return false;
  block::DecodeImage& image = out.image;
  block::McuBlock* to = image.mcu;
  for (int c = 0; c < frame.components; ++c) {
    const Component& part = frame.component[c];
    block::DecodePart& its = image.part[c];
    fill_part(frame, c, tiles, image.block_count, its);
    for (int v = 0; v < part.v; ++v)
      for (int h = 0; h < part.h; ++h)
        *to++ = {its.first_block + v * its.blocks_across + h,
                 part.v * its.blocks_across,
                 part.h,
                 static_cast<int16_t>(c),
                 static_cast<int16_t>(dc[c]),
                 static_cast<int16_t>(ac[c]),
                 0};
    image.block_count += its.blocks_across * part.v * image.tile_rows;
  }
  image.table_count = static_cast<int32_t>(out.tables.size());
  return true;
}

// Copies and picks become one weight of 1 (2^22), so the device has one code for all. Weights lie
// tap by tap: neighbouring threads read neighbouring words.
void add_axis(const cpu::Axis& axis, std::vector<int32_t>& numbers, block::DecodeAxis& out) {
  const bool weighs = axis.kind == cpu::Axis::Kind::kWeigh,
             picks = axis.kind == cpu::Axis::Kind::kPick;
  const int count = axis.count, taps = weighs ? axis.taps : 1;
  const auto first = static_cast<int32_t>(numbers.size());
  out = {first, first + count, taps, count, axis.end - axis.begin, axis.offset};
  numbers.resize(numbers.size() + static_cast<size_t>(count) * (taps + 1));
  int32_t *sources = &numbers[first], *weights = sources + count;
  for (int i = 0; i < count; ++i) {
    const bool outside = picks && axis.first[i] == cpu::Axis::kOutside;
    sources[i] = outside ? 0 : weighs || picks ? axis.first[i] : i;
    if (!weighs) weights[i] = outside ? 0 : 1 << kWeightBits;
    for (int k = 0; weighs && k < taps; ++k)
      weights[static_cast<size_t>(k) * count + i] = axis.weights[static_cast<size_t>(i) * taps + k];
  }
}

int64_t numbers_of(const cpu::Axis& axis) {
  return int64_t{axis.count} * (1 + (axis.kind == cpu::Axis::Kind::kWeigh ? axis.taps : 1));
}

// Sizes before any memory is taken. False: too large.
bool measure(const Frame& frame, const Tiles2d& tiles, const cpu::CropPlan& crop, DevicePlan& out) {
  const Region& region = crop.source;
  const int64_t mcus = int64_t{tiles.bottom - tiles.top} * (tiles.right - tiles.left);
  const int64_t samples = mcus * frame.mcu_blocks * kBlockValues;
  const int64_t pixels = int64_t{region.height} * region.width * kChannels;
  const int64_t between = (crop.rows_first ? int64_t{crop.rows.count} * region.width
                                           : int64_t{region.height} * crop.columns.count) *
                          kChannels;
  out.blocks = aligned(std::max(samples * 2, pixels));
  out.planes = aligned(std::max(samples, between));
  return out.scratch() + 4 * (numbers_of(crop.rows) + numbers_of(crop.columns)) <= kMostDeviceBytes;
}

// Bits count from the image's own coded bytes; `shift` is between the row's memory and these.
block::DecodeSegment on_device(const Segment& from, const Tiles2d& tiles, int64_t shift) {
  block::DecodeSegment out{};
  out.bit = static_cast<uint32_t>(static_cast<int64_t>(from.begin) + shift);
  out.end = static_cast<uint32_t>(static_cast<int64_t>(from.end) + shift);
  std::copy(from.dc.begin(), from.dc.end(), out.dc);
  std::copy(from.dc_end.begin(), from.dc_end.end(), out.dc_end);
  out.row = static_cast<int16_t>(from.row - tiles.top);
  out.column = static_cast<int16_t>(from.column - tiles.left);
  out.count = static_cast<int16_t>(from.count);
  out.open = from.open ? 1 : 0;
  return out;
}

// Row by row through memory that stays in cache; of each only the bytes of its segments are kept.
// Segments of a row lie in one piece; bytes before and behind the region are left out.
std::string load_segments(const IndexedRows& rows, const Tiles2d& tiles, Workspace& workspace,
                          DevicePlan& out) {
  for (int row = tiles.top; row < tiles.bottom; ++row) {
    const size_t room = rows.room(row, row + 1);
    if (room == 0) return "index refused: rows out of order";
    uint8_t* const coded = workspace.coded.reserve(room + kOverrun);
    uint8_t* to = coded;
    workspace.segments.clear();
    if (!rows.load(row, coded, to, workspace.segments))
      return "index refused: row " + std::to_string(row) + " is elsewhere";
    const uint64_t from = workspace.segments.front().begin / 8,
                   end = (workspace.segments.back().end + 7) / 8;
    const int64_t shift = 8 * (static_cast<int64_t>(out.coded.size()) - static_cast<int64_t>(from));
    for (const Segment& segment : workspace.segments)
      out.segments.push_back(on_device(segment, tiles, shift));
    if (out.coded.size() + (end - from) > kMostCodedBytes)
      return "not covered: too many bytes for the device";
    out.coded.insert(out.coded.end(), coded + from, coded + end);
  }
  std::sort(out.segments.begin(), out.segments.end(),
            [](const auto& a, const auto& b) { return a.end - a.bit > b.end - b.bit; });
  return {};
}

}  // namespace

std::string plan_device(Bytes bytes, const Frame& frame, const SeekIndex& index,
                        const cpu::CropPlan& crop, Workspace& workspace, DevicePlan& out) {
  out = {};
  const Region& region = crop.source;
  if (region.empty()) return "not covered: nothing of the image is seen";
  if (region.height > frame.height - region.top || region.width > frame.width - region.left ||
      region.top < 0 || region.left < 0)
    return "not covered: region outside the image";
  const Tiles2d tiles = tiles_of(frame, region);
  if (!measure(frame, tiles, crop, out)) return "not covered: too many pixels for the device";
  block::DecodeImage& image = out.image;
  image.tile_rows = tiles.bottom - tiles.top;
  image.tile_columns = tiles.right - tiles.left;
  image.parts = frame.components;
  image.mcu_blocks = frame.mcu_blocks;
  image.ycc = frame.ycc ? 1 : 0;
  image.top = region.top;
  image.left = region.left;
  image.height = region.height;
  image.width = region.width;
  image.rows_first = crop.rows_first ? 1 : 0;
  if (!fill_parts(frame, tiles, out)) return "not covered: too many Huffman tables for the device";
  add_axis(crop.rows, out.numbers, image.rows);
  add_axis(crop.columns, out.numbers, image.columns);
  return load_segments({bytes, frame, index, tiles, cpu::Target::kBest}, tiles, workspace, out);
}

}  // namespace fl::jpeg
