// The parts of kTunedPixels that have their own files.
#pragma once

#include "jpeg/pixels.h"

namespace fl::jpeg::tuned {

void prepare(const uint16_t* quant, Quantiser& out);
bool idct_blocks(const Blocks& blocks, const Quantiser& quant, const Tiles& out);
void idct_ended(const Blocks& blocks, const uint8_t* ends, const Quantiser& quant,
                const Tiles& out);
bool idct_4x4(const Blocks& blocks, const Quantiser& quant, const Tiles& out);
bool idct_2x2(const Blocks& blocks, const Quantiser& quant, const Tiles& out);
bool idct_1x1(const Blocks& blocks, const Quantiser& quant, const Tiles& out);

}  // namespace fl::jpeg::tuned
