// From a region of pixels to the MCUs that it needs, and from blocks to planes of samples. A plane
// holds the tiles of one strip and the MCU row above it. Blocks are transformed straight to their
// place in it.
#include "jpeg/region_tiles.h"

#include <algorithm>

namespace fl::jpeg {
namespace {

bool looks_down(const Component& part) {
  return part.upsampling == Upsampling::kH2V2 || part.upsampling == Upsampling::kH1V2;
}

bool looks_across(const Component& part) {
  return part.upsampling == Upsampling::kH2V2 || part.upsampling == Upsampling::kH2V1;
}

// Samples that pixels begin..end-1 need, in MCUs of `size` samples; grows first..last-1.
void cover(int begin, int end, int ratio, bool neighbours, int samples, int size, int& first,
           int& last) {
  const int low = std::max(begin / ratio - neighbours, 0),
            high = std::min((end - 1) / ratio + neighbours, samples - 1);
  first = std::min(first, low / size);
  last = std::max(last, high / size + 1);
}

constexpr size_t aligned(size_t bytes) { return (bytes + kPadding - 1) / kPadding * kPadding; }

}  // namespace

bool smooth_down(const Frame& frame) {
  const auto* parts = frame.component.data();
  return std::any_of(parts, parts + frame.components, looks_down);
}

Tiles2d tiles_of(const Frame& frame, const Region& region) {
  Tiles2d out{frame.mcu_rows, 0, frame.mcu_columns, 0};
  for (int c = 0; c < frame.components; ++c) {
    const Component& part = frame.component[c];
    cover(region.top, region.top + region.height, part.down, looks_down(part), part.height,
          part.v * part.block, out.top, out.bottom);
    cover(region.left, region.left + region.width, part.across, looks_across(part), part.width,
          part.h * part.block, out.left, out.right);
  }
  return out;
}

size_t Planes::row_bytes(const Frame& frame, const Tiles2d& tiles) {
  size_t sum = 0;
  for (int c = 0; c < frame.components; ++c) {
    const Component& part = frame.component[c];
    sum += aligned(size_t(tiles.right - tiles.left) * part.h * part.block) * part.v * part.block;
  }
  return sum;
}

Planes::Planes(const Frame& frame, const Tiles2d& tiles, int rows, Scratch& memory,
               cpu::Target target)
    : frame_(frame), tiles_(tiles), ops_(pixel_ops(target)), base_(tiles.top) {
  uint8_t* at = memory.reserve(row_bytes(frame, tiles) * (rows + 1));
  for (int c = 0; c < frame.components; ++c) {
    const Component& part = frame.component[c];
    Plane& plane = planes_[c];
    plane.samples_per_mcu = part.h * part.block;
    plane.rows_per_mcu = part.v * part.block;
    plane.left = tiles.left * plane.samples_per_mcu;
    plane.data = at;
    plane.stride =
        static_cast<ptrdiff_t>(aligned(size_t(tiles.right - tiles.left) * plane.samples_per_mcu));
    at += plane.stride * plane.rows_per_mcu * (rows + 1);
    ops_.prepare(frame.quant[part.quant].data(), quantisers_[c]);
  }
}

// Upsampling looks up by a row of samples, so the last MCU row of the strip before moves to the
// planes' start.
void Planes::begin_strip(int row) {
  const int before = std::max(row - 1, tiles_.top);
  for (int c = 0; c < frame_.components; ++c) {
    Plane& plane = planes_[c];
    const uint8_t* from = plane.row((before - base_) * plane.rows_per_mcu);
    if (before != base_) std::copy_n(from, plane.stride * plane.rows_per_mcu, plane.data);
  }
  base_ = before;
}

McuColumns Planes::wanted(int row) const {
  if (row < tiles_.top || row >= tiles_.bottom) return {};
  return {tiles_.left, tiles_.right};
}

// Blocks outside the tiles are thrown away, those inside transformed. All are zeros afterwards, as
// BlockSink asks.
bool Planes::take(int row, int column, int count, int16_t* blocks) {
  const int skip = std::clamp(tiles_.left - column, 0, count),
            end = std::clamp(tiles_.right - column, 0, count);
  const int step = frame_.mcu_blocks * kBlockStep;
  if (row < tiles_.top || row >= tiles_.bottom || skip >= end) {
    clear_blocks(blocks, count * frame_.mcu_blocks);
    return true;
  }
  clear_blocks(blocks, skip * frame_.mcu_blocks);
  clear_blocks(blocks + end * step, (count - end) * frame_.mcu_blocks);
  int16_t* first = blocks + skip * step;
  for (int c = 0; c < frame_.components; ++c) {
    if (!transform(c, row, column + skip, end - skip, first)) return false;
    first += frame_.component[c].blocks() * kBlockStep;
  }
  return true;
}

// The blocks of one component, a row of blocks at a time.
bool Planes::transform(int component, int row, int column, int count, int16_t* blocks) {
  const Component& part = frame_.component[component];
  const Plane& plane = planes_[component];
  const int step = frame_.mcu_blocks * kBlockStep;
  uint8_t* to = plane.row((row - base_) * plane.rows_per_mcu) +
                (column - tiles_.left) * ptrdiff_t{plane.samples_per_mcu};
  for (int v = 0; v < part.v; ++v, blocks += part.h * kBlockStep, to += part.block * plane.stride) {
    const Blocks row_of_blocks{blocks, step, count * part.h, part.h, kBlockStep};
    if (!ops_.transform(part.block)(row_of_blocks, quantisers_[component], {to, plane.stride}))
      return false;
  }
  return true;
}

bool Planes::take_ended(int component, int row, int16_t* blocks, const uint8_t* ends) {
  const Component& part = frame_.component[component];
  const Plane& plane = planes_[component];
  const int count = (tiles_.right - tiles_.left) * part.h;
  if (part.block != kBlockSize) return take_rows(component, row, blocks);
  uint8_t* to = plane.row((row - base_) * plane.rows_per_mcu);
  for (int v = 0; v < part.v; ++v, to += kBlockSize * plane.stride)
    ops_.idct_ended({blocks + v * count * kBlockValues, kBlockValues, count}, ends + v * count,
                    quantisers_[component], {to, plane.stride});
  return true;
}

bool Planes::take_rows(int component, int row, int16_t* blocks) {
  const Component& part = frame_.component[component];
  const Plane& plane = planes_[component];
  const int count = (tiles_.right - tiles_.left) * part.h;
  uint8_t* to = plane.row((row - base_) * plane.rows_per_mcu);
  for (int v = 0; v < part.v; ++v, blocks += count * kBlockValues, to += part.block * plane.stride)
    if (!ops_.transform(part.block)({blocks, kBlockValues, count}, quantisers_[component],
                                    {to, plane.stride}))
      return false;
  return true;
}

}  // namespace fl::jpeg
