// Which tiles a region needs, and the planes of samples that they become, a strip of MCU rows at a
// time.
#pragma once

#include "base/image.h"
#include "base/scratch.h"
#include "jpeg/entropy.h"
#include "jpeg/pixels.h"

namespace fl::jpeg {

// MCUs: rows top..bottom-1, columns left..right-1.
struct Tiles2d {
  int top = 0, bottom = 0, left = 0, right = 0;
};

// With the neighbours that smooth upsampling looks at.
Tiles2d tiles_of(const Frame& frame, const Region& region);

// Does any component's upsampling look at rows above and below?
bool smooth_down(const Frame& frame);

struct Plane {
  // Sample (row 0 of the strip's first MCU row, first column of the tiles)
  uint8_t* data = nullptr;
  ptrdiff_t stride = 0;  // bytes
  int rows_per_mcu = 0, samples_per_mcu = 0;
  int left = 0;  // sample of the image that column 0 is

  uint8_t* row(int y) const { return data + y * stride; }
};

class Planes final : public BlockSink {
 public:
  // Room for `rows` MCU rows at a time and the one before.
  Planes(const Frame& frame, const Tiles2d& tiles, int rows, Scratch& memory, cpu::Target target);

  void begin_strip(int row);  // keeps the MCU row before, if it was there
  McuColumns wanted(int row) const override;
  bool take(int row, int column, int count, int16_t* blocks) override;

  // One component's blocks of an MCU row, all of the tiles' columns row by row, without a
  // gap. Zeros afterwards. False: some block is not plausible.
  bool take_rows(int component, int row, int16_t* blocks);

  // The same by a layer; ends: of each block, as layer/run.h has it. What the blocks are afterwards
  // is not said.
  bool take_ended(int component, int row, int16_t* blocks, const uint8_t* ends);

  // The samples of a component's row y (of the whole component), from its column plane(c).left on.
  const uint8_t* line(int component, int y) const {
    return planes_[component].row(y - base_ * planes_[component].rows_per_mcu);
  }
  const Plane& plane(int component) const { return planes_[component]; }

  static size_t row_bytes(const Frame& frame, const Tiles2d& tiles);  // of one MCU row

 private:
  bool transform(int component, int row, int column, int count, int16_t* blocks);

  const Frame& frame_;
  const Tiles2d tiles_;
  const PixelOps& ops_;
  std::array<Plane, kMaxComponents> planes_;
  std::array<Quantiser, kMaxComponents> quantisers_;
  int base_ = 0;  // MCU row that the planes begin with
};

}  // namespace fl::jpeg
