// The part of kTunedPixels that has its own file.
#pragma once

#include "jpeg/pixels.h"

namespace fl::jpeg::tuned {

void prepare(const uint16_t* quant, Quantiser& out);
bool idct_blocks(const Blocks& blocks, const Quantiser& quant, const Tiles& out);

}  // namespace fl::jpeg::tuned
