// Are blocks ones that an encoder of 8-bit images can have made? Beyond that libjpeg-turbo's 16-bit sums overflow and
// its pixels depend on the machine, so that there is no right result.
#pragma once

#include "jpeg/frame.h"

namespace fl::jpeg {

// The sum of absolute dequantised coefficients of one block up to which nothing can overflow: pass 1 of the transform
// gives at most 4 * 11363 / 8192 = 5.55 times its column's sum (body/idct.h), and pass 2 adds up two of these.
constexpr int kMaxBlockSum = 5900;

// count blocks, `step` int16 apart; quant in zigzag order. The same verdict from both.
namespace scalar {
bool plausible(const int16_t* blocks, int64_t step, int count, const uint16_t* quant);
}
namespace tuned {
bool plausible(const int16_t* blocks, int64_t step, int count, const uint16_t* quant);
}

}  // namespace fl::jpeg
