// Coefficient layers: runs of any bits, whole and damaged; blocks that end early; then regions by layers of streams.
#include <algorithm>
#include <bit>
#include <cstring>

#include "check.h"
#include "jpeg/layer/layer.h"
#include "jpeg/layer/run.h"
#include "jpeg/pixels.h"
#include "stream.h"

namespace fl::check {
namespace {

namespace layers = jpeg::layer;

int any_width(Random& random) { return random.pick({0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12}); }

void put_random(Random& random, std::vector<uint8_t>& to, int bytes) {
  for (int n = 0; n < bytes; ++n) to.push_back(static_cast<uint8_t>(random.next()));
}

// Parts that fit, with anything in them.
std::vector<uint8_t> any_run(Random& random, int blocks) {
  std::vector<uint8_t> run, sizes((blocks + 1) / 2), masks, values;
  put_random(random, run, 2);
  run.push_back(static_cast<uint8_t>(any_width(random)));
  put_random(random, run, layers::bytes_of(blocks - 1, run[2]));
  for (int b = 0; b < blocks; ++b) {
    const int first = any_width(random), others = any_width(random), bytes = random.between(0, layers::kMostMask);
    run.push_back(static_cast<uint8_t>(first | others << 4));
    sizes[b / 2] = static_cast<uint8_t>(sizes[b / 2] | bytes << b % 2 * 4);
    uint64_t mask = random.next() & random.next();
    if (bytes < 8) mask &= (uint64_t{1} << 8 * bytes) - 1;
    mask &= ~uint64_t{0} >> 1;
    for (int n = 0; n < bytes; ++n) masks.push_back(static_cast<uint8_t>(mask >> 8 * n));
    put_random(random, values, layers::value_bytes(std::popcount(mask), first, others));
  }
  for (const auto* part : {&sizes, &masks, &values}) run.insert(run.end(), part->begin(), part->end());
  return run;
}

void one_run(Check& check, Random& random) {
  const int blocks = random.between(1, layers::kRun), first = random.between(0, blocks - 1);
  const layers::Wanted wanted{blocks, first, random.between(first + 1, blocks)};
  std::vector<uint8_t> run = any_run(random, blocks);
  const int damage = random.between(0, 5);
  if (damage == 0) run[random.between(0, static_cast<int64_t>(run.size()) - 1)] ^= 1 << random.between(0, 7);
  if (damage == 1) run.pop_back();
  const size_t size = run.size();
  run.resize(size + layers::kOverread);
  const layers::Run twice[2] = {{{run.data(), size}, wanted}, {{run.data(), size}, wanted}};
  alignas(64) int16_t want[2 * layers::kRun * kBlockValues], got[2 * layers::kRun * kBlockValues];
  uint8_t ends[3 * layers::kRun] = {}, too[3 * layers::kRun] = {};
  const bool good = layers::scalar::decode_runs(twice, want, ends);
  check.equal("verdict", good, layers::tuned::decode_runs(twice, got, too));
  if (!good) return;
  const int count = 2 * wanted.count();
  check.equal("ends", ends, too, count);
  check.equal("blocks", want, got, count * kBlockValues * sizeof(int16_t));
}

// Blocks that end early.
void one_row(Check& check, Random& random) {
  const int count = random.between(1, 17), most = random.pick({1, 8, 40, 255});
  const ptrdiff_t stride = count * kBlockSize;
  const size_t used = size_t{kBlockValues} * sizeof(int16_t) * count;
  Bytes scalar_blocks(used, 0), tuned_blocks(used, 0), scalar(stride * kBlockSize), tuned(stride * kBlockSize);
  auto *a = reinterpret_cast<int16_t*>(scalar_blocks.data()), *b = reinterpret_cast<int16_t*>(tuned_blocks.data());
  std::vector<uint8_t> ends(count);
  for (int n = 0; n < count; ++n) {
    const int end = random.one_in(4) ? 1 : random.between(1, random.pick({10, 16, 64})), high = random.pick({1, 6, 200});
    ends[n] = static_cast<uint8_t>(end);
    for (int k = 0; k < end; ++k) a[n * kBlockValues + k] = static_cast<int16_t>(random.between(-high, high));
  }
  std::memcpy(b, a, used);
  uint16_t quant[kBlockValues];
  for (uint16_t& value : quant) value = static_cast<uint16_t>(random.between(1, most));
  jpeg::Quantiser of_scalar, of_tuned;
  jpeg::kScalarPixels.prepare(quant, of_scalar);
  jpeg::kTunedPixels.prepare(quant, of_tuned);
  const jpeg::Blocks one{a, kBlockValues, count}, other{b, kBlockValues, count};
  jpeg::kScalarPixels.idct_ended(one, ends.data(), of_scalar, {scalar.data(), stride});
  jpeg::kTunedPixels.idct_ended(other, ends.data(), of_tuned, {tuned.data(), stride});
  check.equal("samples", scalar.data(), tuned.data(), scalar.size());
}

void one_layer(Check& check, Random& random) {
  const bool grey = random.one_in(3), halved = random.one_in(2);
  std::vector<std::pair<int, int>> factors{{halved ? 2 : 1, random.one_in(2) ? 2 : 1}, {1, 1}, {1, 1}};
  if (grey) factors = {{1, 1}};
  const Stream stream{random.between(1, 90), random.between(1, 300), factors, random.pick({1, 4, 16}),
                      random.one_in(2), random.one_in(3) ? random.between(1, 20) : 0};
  const std::vector<uint8_t> file = encode(stream, random);
  const jpeg::Built built = layers::build(file, nullptr, cpu::Target::kScalar),
                    too = layers::build(file, nullptr, cpu::Target::kBest);
  check.equal("layer: " + built.why + too.why, built.index.size(), too.index.size());
  check.equal("layer", built.index.data(), too.index.data(), built.index.size());
  for (const int scale : {1, 1, 2, 4, 8}) {
    if (built.index.empty()) return;
    layers::Layer layer;
    jpeg::Frame frame;
    check.equal("opens", true, layer.open(built.index, frame).empty());
    jpeg::shrink(frame, scale);
    const int top = random.between(0, frame.height - 1), left = random.between(0, frame.width - 1);
    const Region region{top, left, random.between(1, frame.height - top), random.between(1, frame.width - left)};
    static jpeg::Workspace scalar, tuned;
    const auto want = layers::decode(layer, frame, region, scalar, cpu::Target::kScalar),
               got = layers::decode(layer, frame, region, tuned, cpu::Target::kBest);
    check.equal("decoded: " + want.error + got.error, want.ok(), got.ok());
    for (int y = 0; want.ok() && y < region.height; ++y)
      check.equal("pixels", want.image.row(y), got.image.row(y), static_cast<size_t>(region.width) * kChannels);
  }
}

}  // namespace

void check_layers() {
  Check check("coefficient layers");
  Random random(10);
  for (int n = 0; n < 4000; ++n) one_run(check, random);
  for (int n = 0; n < 2000; ++n) one_row(check, random);
  for (int n = 0; n < 200; ++n) one_layer(check, random);
}

}  // namespace fl::check
