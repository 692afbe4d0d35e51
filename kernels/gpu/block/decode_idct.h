// Coefficients to samples: 8 threads a block, a column each, then a row each; body/idct.h's steps.
//
// Coefficients lie column by column, so pass 1 reads a column as one load of 16 bytes. Pass 2 reads
// rows that pass 1 has left in shared memory. Plausibility is judged as plausible_block does, by
// sums of two columns.
#pragma once

#include <cstring>

#include "gpu/block/decode.h"
#include "gpu/block/threads.h"

namespace fl::block {

struct IdctState {
  // So that several blocks' rows are in different banks
  static constexpr int kStep = kBlockValues + kBlockSize;

  int16_t rows[kIdctBlocks * kStep];
  int32_t sums[kIdctBlocks * kBlockSize];  // of absolute values, by column
};

FL_HD int part_of(const DecodeImage& image, int block) {
  int part = 0;
  for (int c = 1; c < image.parts; ++c) part += block >= image.part[c].first_block ? 1 : 0;
  return part;
}

// Pass 1 of one column: 8 coefficients that lie together.
FL_HD void idct_column(const int16_t* coefficients, const uint16_t* quant, int16_t* rows,
                       int32_t* sum) {
  int16_t in[kBlockSize];
  int32_t sums[kBlockSize];
  std::memcpy(in, __builtin_assume_aligned(coefficients, 2 * kBlockSize), sizeof in);
  int32_t total = 0;
  for (int y = 0; y < kBlockSize; ++y) {
    total += (in[y] < 0 ? -in[y] : in[y]) * static_cast<int32_t>(quant[y]);
    in[y] = dequantise(in[y], static_cast<int16_t>(quant[y]));
  }
  idct_line(in, idct::kRound1, sums);
  for (int y = 0; y < kBlockSize; ++y) rows[y * kBlockSize] = clip16(sums[y] >> idct::kShift1);
  *sum = total;
}

// Pass 2 of one row.
FL_HD void idct_row(const int16_t* row, uint8_t* out) {
  int16_t in[kBlockSize];
  int32_t sums[kBlockSize];
  uint8_t samples[kBlockSize];
  for (int x = 0; x < kBlockSize; ++x) in[x] = row[x];
  idct_line(in, idct::kRound2, sums);
  for (int x = 0; x < kBlockSize; ++x) samples[x] = clip_sample(sums[x] >> idct::kShift2);
  std::memcpy(__builtin_assume_aligned(out, kBlockSize), samples, kBlockSize);
}

// Where the block's samples go: planes lie row by row, 8 rows of a block are apart by the plane's
// width.
FL_HD uint8_t* tile_of(const DecodeImage& image, uint8_t* planes, int block) {
  const DecodePart& part = image.part[part_of(image, block)];
  const int at = block - part.first_block, across = part.blocks_across;
  return planes +
         (static_cast<int64_t>(part.first_block) + static_cast<int64_t>(at / across) * across) *
             kBlockValues +
         at % across * kBlockSize;
}

// Blocks first..first+count-1 of an image; count up to kIdctBlocks.
template <class Threads>
FL_HD void idct_group(const Threads& threads, const DecodeBatch& batch, int number, int first,
                      int count, IdctState* state) {
  const DecodeImage* image = batch.images + number;
  const int16_t* blocks = batch.blocks(*image) + static_cast<int64_t>(first) * kBlockValues;
  uint8_t* planes = batch.planes(*image);
  uint32_t* flag = batch.flags + number;
  each(threads, count * kBlockSize, [=](int i) {
    const int n = i / kBlockSize, x = i % kBlockSize;
    const uint16_t* quant = image->part[part_of(*image, first + n)].quant;
    idct_column(blocks + i * kBlockSize, quant + x * kBlockSize,
                state->rows + n * IdctState::kStep + x, state->sums + i);
  });
  each(threads, count * kBlockSize, [=](int i) {
    const int n = i / kBlockSize, y = i % kBlockSize;
    const DecodePart& part = image->part[part_of(*image, first + n)];
    idct_row(state->rows + n * IdctState::kStep + y * kBlockSize,
             tile_of(*image, planes, first + n) +
                 static_cast<int64_t>(y) * part.blocks_across * kBlockSize);
    const int32_t* sums = state->sums + n * kBlockSize;
    if (y < kBlockSize / 2 && sums[y] + sums[y + kBlockSize / 2] > kMaxBlockSum)
      atomic_or(flag, kBadBlock);
  });
}

}  // namespace fl::block
