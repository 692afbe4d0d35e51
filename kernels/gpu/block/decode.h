// A batch of JPEG regions as a device decodes them: one buffer that the host packs
// (gpu/device_plan.h), one of scratch memory, and the crops that come out, uint8 [count, height,
// width, 3]. Everything here was checked by the host, except for what only decoding can prove: that
// the coded bytes are those the index speaks of. A device flags what is not.
#pragma once

#include <cstdint>

#include "base/host_device.h"
#include "body/idct.h"
#include "body/upsample.h"

namespace fl::block {

constexpr int kParts = 3;          // components of an image
constexpr int kMcuBlocks = 10;     // of all components together
constexpr int kHuffmanTables = 4;  // of one image, DC and AC together
constexpr int kDecodeLanes = 128;  // segments that a block of threads takes, one each
constexpr int kIdctBlocks = 32;    // that a block of threads takes at a time, 8 threads each
// Bytes behind the coded ones: a lying segment reads less than two blocks too far
constexpr int kCodedPadding = 512;

// Why an image's pixels do not count.
constexpr uint32_t kBadSegment = 1;  // does not end where the next one begins
constexpr uint32_t kBadBlock = 2;    // not what an encoder of 8-bit images makes (plausible_block)

// MCUs that follow each other in a row and are decoded by one thread.
struct DecodeSegment {
  uint32_t bit, end;  // of the image's coded bytes: where it begins, where it must end
  int16_t dc[kParts], dc_end[kParts];
  // MCU, from the first of the tiles on; columns before and behind them are decoded, not kept
  int16_t row, column;
  int16_t count;  // MCUs
  int16_t open;   // 1: it must only not pass its end
};

// The canonical codes by length (jpeg/huffman.h, Canonical).
struct DecodeTable {
  uint32_t limit[17];
  int32_t offset[17];
  uint8_t symbols[256];
};

// One block of an MCU: of MCU (row, column) it is the image's block first + row * down + column *
// across.
struct McuBlock {
  int32_t first, down, across;
  int16_t part, dc, ac;  // component; numbers of its tables
  int16_t unused;
};

// A component: blocks and samples of the tiles. Blocks lie row by row, and so do the samples of its
// plane.
struct DecodePart {
  int32_t first_block;    // of the image's; where its plane begins is 64 bytes times that
  int32_t blocks_across;  // in a row of blocks
  int32_t top, left;      // samples before the tiles
  int32_t height, width;  // samples that belong to the image
  int32_t across, down;   // px per sample
  Upsampling upsampling;
  uint16_t quant[kBlockValues];  // column by column, as coefficients are on the device
};

// One direction of a resize: weights int32 [taps, count] by tap, and first source [count], less
// than size.
struct DecodeAxis {
  int32_t first, weights;  // offsets among the image's numbers
  int32_t taps, count;
  int32_t size;    // source px
  int32_t offset;  // px of the output before its first
};

struct DecodeImage {
  int64_t position;  // of its crop in the output
  int64_t coded;     // byte of the buffer, a multiple of 4
  int64_t segments;  // number of its first
  int64_t numbers;   // the same, of its axes' numbers
  // Bytes of the scratch memory: coefficients, later the region's px; samples, later a pass
  int64_t blocks, planes;
  int32_t tables, table_count;      // the first one's number
  int32_t block_count;              // of all components
  int32_t tile_rows, tile_columns;  // MCUs
  int32_t parts, mcu_blocks;
  int32_t ycc;                       // 1: three components are Y, Cb, Cr
  int32_t top, left, height, width;  // region, px
  int32_t rows_first;
  DecodeAxis rows, columns;
  McuBlock mcu[kMcuBlocks];
  DecodePart part[kParts];
};

// Up to kDecodeLanes segments of one image.
struct DecodeGroup {
  int32_t image, first, count;
};

// What the buffer begins with: where its parts are, in bytes, and how large what is made of them.
struct DecodeHeader {
  int64_t images, groups, segments, tables, numbers, bytes;
  int64_t scratch;  // bytes
  int32_t image_count, group_count;
  int32_t height, width;  // of the output, px
  // Of an image: 8x8 blocks, px, px between the passes
  int32_t most_blocks, most_region, most_between;
  int32_t unused;
};

// The buffer's parts, in the device's memory or in the host's.
struct DecodeBatch {
  const DecodeImage* images;
  const DecodeGroup* groups;
  const DecodeSegment* segments;
  const DecodeTable* tables;
  const int32_t* numbers;
  const uint8_t* data;
  uint8_t* scratch;
  uint8_t* out;
  uint32_t* flags;    // one per image; 0 to begin with
  int height, width;  // of the output, px

  // data, scratch: at multiples of 16.
  FL_HD DecodeBatch(const DecodeHeader& header, const uint8_t* data, uint8_t* scratch, uint8_t* out,
                    uint32_t* flags)
      : images(reinterpret_cast<const DecodeImage*>(data + header.images)),
        groups(reinterpret_cast<const DecodeGroup*>(data + header.groups)),
        segments(reinterpret_cast<const DecodeSegment*>(data + header.segments)),
        tables(reinterpret_cast<const DecodeTable*>(data + header.tables)),
        numbers(reinterpret_cast<const int32_t*>(data + header.numbers)),
        data(data),
        scratch(scratch),
        out(out),
        flags(flags),
        height(header.height),
        width(header.width) {}

  FL_HD int16_t* blocks(const DecodeImage& image) const {
    return reinterpret_cast<int16_t*>(scratch + image.blocks);
  }
  FL_HD uint8_t* planes(const DecodeImage& image) const { return scratch + image.planes; }
  FL_HD uint8_t* region(const DecodeImage& image) const { return scratch + image.blocks; }
  FL_HD uint8_t* between(const DecodeImage& image) const { return scratch + image.planes; }
};

// The phases of a block of threads wait for each other; images go through four launches, since each
// needs all of what the one before has made: entropy (decode_entropy.h), IDCT (decode_idct.h),
// colour, two passes (decode_pixels.h).

}  // namespace fl::block
