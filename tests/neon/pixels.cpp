// From coefficients to RGB: the steps of jpeg/pixels.h. Nothing may be touched beyond what they are given.
#include <algorithm>
#include <cstring>

#include "check.h"
#include "jpeg/pixels.h"

namespace fl::check {
namespace {

using jpeg::kScalarPixels, jpeg::kTunedPixels;

int16_t coefficient(Random& random, int kind) {
  switch (kind) {
    case 0:  // whatever fits
      return static_cast<int16_t>(random.between(-32768, 32767));
    case 1:
      return random.pick<int16_t>({-32768, 32767});
    case 2:  // sparse, as in photographs
      return static_cast<int16_t>(random.one_in(8) ? random.between(-60, 60) : 0);
    case 3:  // on both sides of what is plausible
      return static_cast<int16_t>(random.between(-40, 40));
    case 4:  // whatever a stream can say
      return static_cast<int16_t>(random.between(-1023, 1023));
    default:  // nothing but DC
      return 0;
  }
}

// hostile: also what no stream can say.
void fill_blocks(Random& random, int16_t* values, int count, ptrdiff_t step, bool hostile) {
  for (int n = 0; n < count; ++n) {
    const int kind = random.between(hostile ? 0 : 2, 6);
    int16_t* block = values + n * step;
    for (int i = 0; i < kBlockValues; ++i) block[i] = coefficient(random, kind);
    if (kind == 4 || kind == 5) block[0] = static_cast<int16_t>(random.between(-32767, 32767) >> random.between(0, 9));
    if (kind == 6) block[random.between(0, kBlockValues - 1)] = static_cast<int16_t>(random.between(-1023, 1023));
  }
}

void one_run(Check& check, Random& random) {
  const bool hostile = random.one_in(2);
  const int count = random.between(1, 9), most = random.pick({1, 8, 40, 255, hostile ? 65535 : 16383});
  const ptrdiff_t step = random.pick({64, 128, 384}), stride = count * kBlockSize;
  const size_t used = ((count - 1) * step + kBlockValues) * sizeof(int16_t);  // a multiple of 64: stays aligned
  Bytes scalar_blocks(used, 0), tuned_blocks(used, 0), scalar(stride * kBlockSize), tuned(stride * kBlockSize);
  auto *a = reinterpret_cast<int16_t*>(scalar_blocks.data()), *b = reinterpret_cast<int16_t*>(tuned_blocks.data());
  fill_blocks(random, a, count, step, hostile);
  std::memcpy(b, a, used);
  uint16_t quant[kBlockValues];
  for (uint16_t& value : quant) value = static_cast<uint16_t>(random.between(1, most));
  jpeg::Quantiser of_scalar, of_tuned;
  kScalarPixels.prepare(quant, of_scalar);
  kTunedPixels.prepare(quant, of_tuned);
  const bool plausible = kScalarPixels.idct_blocks({a, step, count}, of_scalar, {scalar.data(), stride});
  const bool too = kTunedPixels.idct_blocks({b, step, count}, of_tuned, {tuned.data(), stride});
  const std::string what = std::to_string(count) + " blocks, quantisers up to " + std::to_string(most);
  check.equal(what, scalar.data(), tuned.data(), scalar.size());
  if (!hostile) check.equal(what + ": plausible", plausible, too);
  check.equal(what + ": what is left", a, b, used);
}

// Row `near` and its neighbour, as far as columns begin..end-1 need them.
void one_upsampling(Check& check, Random& random) {
  const int samples = random.between(1, 140), begin = random.between(0, 2 * samples - 1);
  const jpeg::Columns columns{begin, random.between(begin + 1, 2 * samples), samples};
  const size_t pixels = columns.end - columns.begin;
  Bytes near(samples), far(samples), scalar(pixels), tuned(pixels);
  fill(random, near.data(), samples);
  fill(random, far.data(), samples);
  const std::string what =
      std::to_string(begin) + ".." + std::to_string(columns.end) + " of " + std::to_string(samples) + " samples";
  const uint8_t *own = near.data() + begin / 2, *other = far.data() + begin / 2;
  kScalarPixels.upsample_h2v1(own, columns, scalar.data());
  kTunedPixels.upsample_h2v1(own, columns, tuned.data());
  check.equal("h2v1, " + what, scalar.data(), tuned.data(), pixels);
  kScalarPixels.upsample_h2v2(own, other, columns, scalar.data());
  kTunedPixels.upsample_h2v2(own, other, columns, tuned.data());
  check.equal("h2v2, " + what, scalar.data(), tuned.data(), pixels);
  Bytes line(samples), tuned_line(samples);
  const bool below = random.one_in(2);
  kScalarPixels.upsample_h1v2(near.data(), far.data(), below, samples, line.data());
  kTunedPixels.upsample_h1v2(near.data(), far.data(), below, samples, tuned_line.data());
  check.equal("h1v2, " + what, line.data(), tuned_line.data(), samples);
}

void one_width(Check& check, Random& random, int width) {
  const size_t bytes = static_cast<size_t>(width) * kChannels;
  Bytes a(width), b(width), c(width), scalar(bytes), tuned(bytes);
  for (Bytes* row : {&a, &b, &c}) fill(random, row->data(), width);
  const std::string what = std::to_string(width) + " px";
  kScalarPixels.rgb_row(a.data(), b.data(), c.data(), scalar.data(), width);
  kTunedPixels.rgb_row(a.data(), b.data(), c.data(), tuned.data(), width);
  check.equal("rgb, " + what, scalar.data(), tuned.data(), bytes);
  kScalarPixels.interleave_row(a.data(), b.data(), c.data(), scalar.data(), width);
  kTunedPixels.interleave_row(a.data(), b.data(), c.data(), tuned.data(), width);
  check.equal("interleave, " + what, scalar.data(), tuned.data(), bytes);
  kScalarPixels.grey_row(a.data(), scalar.data(), width);
  kTunedPixels.grey_row(a.data(), tuned.data(), width);
  check.equal("grey, " + what, scalar.data(), tuned.data(), bytes);
}

// All 65,536 pairs of Cb and Cr with one Y.
void every_chroma(Check& check, int luma) {
  constexpr int kPairs = 1 << 16;
  Bytes y(kPairs, static_cast<uint8_t>(luma)), cb(kPairs), cr(kPairs), scalar(kPairs * kChannels), tuned(scalar.size());
  for (int i = 0; i < kPairs; ++i) {
    cb.data()[i] = static_cast<uint8_t>(i >> 8);
    cr.data()[i] = static_cast<uint8_t>(i);
  }
  kScalarPixels.rgb_row(y.data(), cb.data(), cr.data(), scalar.data(), kPairs);
  kTunedPixels.rgb_row(y.data(), cb.data(), cr.data(), tuned.data(), kPairs);
  check.equal("every colour with Y " + std::to_string(luma), scalar.data(), tuned.data(), scalar.size());
}

}  // namespace

void check_idct() {
  Check check("IDCT");
  Random random(4);
  for (int n = 0; n < 4000; ++n) one_run(check, random);
}

void check_upsampling() {
  Check check("upsampling");
  Random random(5);
  for (int n = 0; n < 4000; ++n) one_upsampling(check, random);
}

void check_colour() {
  Check check("colour rows");
  Random random(6);
  for (int width = 1; width <= 140; ++width) one_width(check, random, width);
  for (int luma = 0; luma <= 255; luma += 5) every_chroma(check, luma);
}

}  // namespace fl::check
