// The reduced transforms in plain code that compilers vectorise, bit-equal to body/idct_reduced.h.
#include "jpeg/pixels_tuned.h"

namespace fl::jpeg::tuned {

bool idct_4x4(const Blocks& blocks, const Quantiser& quant, const Tiles& out) {
  return kScalarPixels.idct_4x4(blocks, quant, out);
}

bool idct_2x2(const Blocks& blocks, const Quantiser& quant, const Tiles& out) {
  return kScalarPixels.idct_2x2(blocks, quant, out);
}

bool idct_1x1(const Blocks& blocks, const Quantiser& quant, const Tiles& out) {
  return kScalarPixels.idct_1x1(blocks, quant, out);
}

}  // namespace fl::jpeg::tuned
