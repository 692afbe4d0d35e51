// Planes of samples to RGB rows: upsampling and colour.
#pragma once

#include "jpeg/region_tiles.h"

namespace fl::jpeg {

// The planes must hold the samples of row y and of its neighbours.
class Rows {
 public:
  Rows(const Frame& frame, const Region& region, const Planes& planes, Scratch& lines,
       cpu::Target target);

  // Row y of the image, the region's columns.
  void make(int y, uint8_t* out) const;

 private:
  const uint8_t* component_line(int component, int y) const;

  const Frame& frame_;
  const Region region_;
  const Planes& planes_;
  const PixelOps& ops_;
  uint8_t* lines_;     // one per component
  const size_t step_;  // bytes from line to line
};

}  // namespace fl::jpeg
