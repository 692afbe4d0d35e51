// The steps of jpeg/pixels.h written plainly: what the tuned versions are compared with.
//
// Loops over body/idct.h, idct_reduced.h, upsample.h and ycc.h. The tuned steps use them where a
// row is too narrow for vectors, and at borders.
#include <algorithm>

#include "body/ycc.h"
#include "jpeg/pixels.h"

namespace fl::jpeg {
namespace {

void prepare(const uint16_t* quant, Quantiser& out) {
  for (int n = 0; n < kBlockValues; ++n)
    out.values[n] = out.zigzag[n] = static_cast<int16_t>(quant[n]);
}

bool idct_blocks(const Blocks& blocks, const Quantiser& quant, const Tiles& out) {
  bool good = true;
  BlockWalk walk(blocks);
  for (int n = 0; n < blocks.count; ++n) {
    int16_t* block = walk.next();
    good &= plausible_block(block, quant.values);
    idct_block(block, quant.values, out.first + n * kBlockSize, out.stride);
    std::fill_n(block, kBlockValues, int16_t{0});
  }
  return good;
}

void idct_ended(const Blocks& blocks, const uint8_t* /*ends*/, const Quantiser& quant,
                const Tiles& out) {
  idct_blocks(blocks, quant, out);
}

template <int kSize>
bool idct_to(const Blocks& blocks, const Quantiser& quant, const Tiles& out) {
  bool good = true;
  BlockWalk walk(blocks);
  for (int n = 0; n < blocks.count; ++n) {
    int16_t* block = walk.next();
    good &= plausible_block(block, quant.zigzag);
    idct_reduced<kSize>(block, quant.zigzag, out.first + n * kSize, out.stride);
    std::fill_n(block, kBlockValues, int16_t{0});
  }
  return good;
}

bool idct_1x1(const Blocks& blocks, const Quantiser& quant, const Tiles& out) {
  bool good = true;
  BlockWalk walk(blocks);
  for (int n = 0; n < blocks.count; ++n) {
    int16_t* block = walk.next();
    const int32_t dc = block[0] * static_cast<uint16_t>(quant.zigzag[0]);
    good &= plausible_mean(dc);
    out.first[n] = idct_mean(dc);
    std::fill_n(block, kBlockValues, int16_t{0});
  }
  return good;
}

void upsample_h2v1(const uint8_t* in, const Columns& c, uint8_t* out) {
  const int first = c.begin / 2;
  for (int x = c.begin; x < c.end; ++x)
    *out++ = blend_h2v1(in[x / 2 - first], in[neighbour_sample(x, c.samples) - first], x % 2 == 1);
}

void upsample_h2v2(const uint8_t* near, const uint8_t* far, const Columns& c, uint8_t* out) {
  const int first = c.begin / 2;
  const auto sum = [&](int sample) { return 3 * near[sample - first] + far[sample - first]; };
  for (int x = c.begin; x < c.end; ++x)
    *out++ = blend_h2v2(sum(x / 2), sum(neighbour_sample(x, c.samples)), x % 2 == 1);
}

void upsample_h1v2(const uint8_t* near, const uint8_t* far, bool below, int width, uint8_t* out) {
  for (int x = 0; x < width; ++x) out[x] = blend_h1v2(near[x], far[x], below);
}

void rgb_row(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, uint8_t* out, int width) {
  for (int x = 0; x < width; ++x, out += kChannels) {
    const Rgb pixel = ycc_to_rgb(y[x], cb[x], cr[x]);
    out[0] = pixel.r;
    out[1] = pixel.g;
    out[2] = pixel.b;
  }
}

void interleave_row(const uint8_t* r, const uint8_t* g, const uint8_t* b, uint8_t* out, int width) {
  for (int x = 0; x < width; ++x, out += kChannels) {
    out[0] = r[x];
    out[1] = g[x];
    out[2] = b[x];
  }
}

void grey_row(const uint8_t* y, uint8_t* out, int width) { interleave_row(y, y, y, out, width); }

}  // namespace

const PixelOps kScalarPixels = {prepare,  idct_blocks,    idct_to<4>,    idct_to<2>,
                                idct_1x1, upsample_h2v1,  upsample_h2v2, upsample_h1v2,
                                rgb_row,  interleave_row, grey_row,      idct_ended};

void repeat_samples(const uint8_t* in, int times, int begin, int end, uint8_t* out) {
  const int first = begin / times;
  for (int x = begin; x < end; ++x) *out++ = in[x / times - first];
}

}  // namespace fl::jpeg
