// From coefficients to RGB rows: IDCT, upsampling, colour. Same signatures for the scalar and for
// the tuned version, the same bits for every input; bodies in body/idct.h, body/idct_reduced.h,
// body/upsample.h, body/ycc.h.
//
// Nothing is read or written beyond what is named here: no padding is needed. Outputs must not
// overlap inputs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "body/idct.h"
#include "body/idct_reduced.h"
#include "body/upsample.h"
#include "pixels/resize.h"

namespace fl::jpeg {

// The blocks of one component that lie side by side, as the entropy decoder leaves them: MCU by
// MCU, interleaved with others. Distances in int16 values, multiples of 32.
struct Blocks {
  int16_t* first;  // 64 coefficients in zigzag order, DC not a difference; 64-byte aligned
  ptrdiff_t mcu;   // from an MCU's first to the next MCU's
  int count;
  int across = 1;      // blocks of one MCU
  ptrdiff_t step = 0;  // from one of them to the next
};

// One block after the other.
class BlockWalk {
 public:
  explicit BlockWalk(const Blocks& blocks)
      : blocks_(blocks), at_(blocks.first), left_(blocks.across) {}
  int16_t* next() {
    int16_t* const now = at_;
    const bool last = --left_ == 0;
    at_ += last ? blocks_.mcu - (blocks_.across - 1) * blocks_.step : blocks_.step;
    left_ = last ? blocks_.across : left_;
    return now;
  }

 private:
  const Blocks& blocks_;
  int16_t* at_;
  int left_;  // of the MCU
};

// A quantiser in the layout of whoever made it: one of the PixelOps, on one set of instructions.
struct alignas(64) Quantiser {
  int16_t values[2 * kBlockValues];
  int16_t zigzag[kBlockValues];
};

// Where tiles go, side by side: 8x8 samples, or fewer where the transform is a reduced one.
struct Tiles {
  uint8_t* first;
  ptrdiff_t stride;  // bytes from row to row
};

// Pixels begin..end-1 of an output row that is upsampled two to one; begin < end.
struct Columns {
  int begin, end;  // px of the image
  int samples;     // the component's true width (not padded to blocks), so that the edge is known
};

// The steps of decoding, in order. Upsampling is given rows of samples from the one that pixel
// `begin` lies in on (sample begin / 2); it also reads the sample before it and the one after pixel
// end - 1's, if the component has them. A table of functions, so that tests can run any step on any
// instruction set.
struct PixelOps {
  // Once per table: 64 values in zigzag order.
  void (*prepare)(const uint16_t* quant, Quantiser& out);
  // Dequantise, transform, clip; then set the blocks to zero, as the entropy decoder needs them.
  // False: some block is not plausible.
  using Transform = bool (*)(const Blocks& blocks, const Quantiser& quant, const Tiles& out);
  Transform idct_blocks;
  Transform idct_4x4, idct_2x2, idct_1x1;  // blocks to fewer samples
  Transform transform(int size) const {    // of tiles: 8, 4, 2 or 1
    return size == kBlockSize ? idct_blocks
           : size == 4        ? idct_4x4
           : size == 2        ? idct_2x2
                              : idct_1x1;
  }

  // out: end - begin values. near: the row of samples that the output row lies in; far: near's
  // neighbour, far_row(y) away, or near itself at the top and the bottom of the image (last true
  // row of samples).
  void (*upsample_h2v1)(const uint8_t* in, const Columns& columns, uint8_t* out);
  void (*upsample_h2v2)(const uint8_t* near, const uint8_t* far, const Columns& columns,
                        uint8_t* out);
  void (*upsample_h1v2)(const uint8_t* near, const uint8_t* far, bool below, int width,
                        uint8_t* out);

  // width pixels of 3 bytes.
  void (*rgb_row)(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, uint8_t* out, int width);
  void (*interleave_row)(const uint8_t* r, const uint8_t* g, const uint8_t* b, uint8_t* out,
                         int width);
  void (*grey_row)(const uint8_t* y, uint8_t* out, int width);

  // idct_blocks of blocks without a gap between them, each with zeros from value `ends` on, 1..65.
  // Whether they are plausible is not asked, and what they are afterwards not said.
  void (*idct_ended)(const Blocks& blocks, const uint8_t* ends, const Quantiser& quant,
                     const Tiles& out);
};

extern const PixelOps kScalarPixels;
extern const PixelOps kTunedPixels;

inline const PixelOps& pixel_ops(cpu::Target target) {
  return target == cpu::Target::kScalar ? kScalarPixels : kTunedPixels;
}

// Every other ratio: each sample `times` times. in: the sample that pixel begin lies in, begin /
// times.
void repeat_samples(const uint8_t* in, int times, int begin, int end, uint8_t* out);

}  // namespace fl::jpeg
