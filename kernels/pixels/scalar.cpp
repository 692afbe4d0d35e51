// The passes of a resize written plainly: what the tuned versions are compared with.
#include <algorithm>

#include "body/resize.h"
#include "pixels/passes.h"

namespace fl::cpu::scalar {

// A row's last pixels may have fewer sources than taps: what is missing would weigh 0 and is not
// read.
void horizontal(const Image& in, const Axis& axis, const Pixels& out) {
  for (int y = 0; y < in.height; ++y) {
    for (int x = 0; x < axis.count; ++x) {
      const uint8_t* values = in.row(y) + axis.first[x] * kChannels;
      const int32_t* weights = &axis.weights[static_cast<size_t>(x) * axis.taps];
      // The rest are zeros that make the length even
      const int taps = std::min(axis.taps, in.width - axis.first[x]);
      for (int c = 0; c < kChannels; ++c)
        out.row(y)[x * kChannels + c] = weigh(values + c, kChannels, weights, taps);
    }
  }
}

void vertical_row(const uint8_t* in, ptrdiff_t stride, const Axis& axis, int row, uint8_t* out,
                  int bytes) {
  const int32_t* weights = &axis.weights[static_cast<size_t>(row) * axis.taps];
  const int taps = std::min(axis.taps, axis.end - axis.begin - axis.first[row]);
  const uint8_t* values = in + axis.first[row] * stride;
  for (int i = 0; i < bytes; ++i) out[i] = weigh(values + i, stride, weights, taps);
}

}  // namespace fl::cpu::scalar
