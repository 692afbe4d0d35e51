// Decoding as ITU-T T.81, annex G, tells it: symbol by symbol, coefficient by coefficient.
//
// Stricter than libjpeg where that writes behind a band, or counts zeros beyond it.
#include "jpeg/progressive_blocks.h"

namespace fl::jpeg::scalar {
namespace {

// One block's way through the bits.
class Taker {
 public:
  explicit Taker(Feed& feed) : feed_(feed) {}

  bool begin() { return feed_.more(feed_.window); }
  ScanSymbol symbol(const ScanTable& table) {
    feed_.window.fill();
    const ScanSymbol out = table.slow(feed_.window.bits);
    feed_.window.take(static_cast<uint64_t>(out.length));
    return out;
  }
  bool bit() {
    feed_.window.fill();
    const bool out = feed_.window.bits >> 63 != 0;
    feed_.window.take(1);
    return out;
  }

 private:
  Feed& feed_;
};

void put(int16_t* block, uint64_t& known, int at, int value) {
  known |= uint64_t{1} << at;
  if (block != nullptr) block[at] = static_cast<int16_t>(value);
}

bool first(const Band& band, int16_t* block, uint64_t& known, uint32_t& ended, Taker& take) {
  for (int at = band.first; at <= band.last;) {
    const ScanSymbol symbol = take.symbol(*band.table);
    if (symbol.kind == Kind::kEnd) {
      ended = static_cast<uint32_t>(symbol.value) - 1;
      return true;
    }
    at += symbol.advance;
    if (symbol.kind == Kind::kNone || at > band.last + 1) return false;
    if (symbol.kind == Kind::kValue) put(block, known, at - 1, symbol.value * (1 << band.low));
  }
  return true;
}

// T.81 G.1.2.3: a coefficient that has a value already takes one bit, whether it grows.
void correct(const Band& band, int16_t* block, int at, Taker& take) {
  const bool grows = take.bit();
  if (!grows || block == nullptr) return;
  const int step = 1 << band.low;
  block[at] = static_cast<int16_t>(block[at] + (block[at] < 0 ? -step : step));
}

// Passes `zeros` coefficients that have no value, and all before the next of them; at: which that
// is. False: the band has not as many.
bool pass(const Band& band, int16_t* block, uint64_t known, int zeros, int& at, Taker& take) {
  for (; at <= band.last; ++at) {
    if ((known >> at & 1) != 0)
      correct(band, block, at, take);
    else if (zeros-- == 0)
      return true;
  }
  return false;
}

bool refine(const Band& band, int16_t* block, uint64_t& known, uint32_t& ended, Taker& take) {
  const uint64_t before = known;
  int at = band.first;
  while (ended == 0 && at <= band.last) {
    const ScanSymbol symbol = take.symbol(*band.table);
    if (symbol.kind == Kind::kNone) return false;
    if (symbol.kind == Kind::kEnd) {
      ended = static_cast<uint32_t>(symbol.value);
      break;
    }
    if (!pass(band, block, before, symbol.advance - 1, at, take)) return false;
    if (symbol.kind == Kind::kValue) put(block, known, at, symbol.value * (1 << band.low));
    ++at;
  }
  if (ended == 0) return true;
  for (; at <= band.last; ++at)
    if ((before >> at & 1) != 0) correct(band, block, at, take);
  --ended;
  return true;
}

int16_t* block_of(const Run& run, int n) {
  return run.blocks == nullptr ? nullptr : run.blocks + n * kBlockValues;
}

}  // namespace

bool decode_first(const Band& band, const Run& run, uint32_t& ended, Feed& feed) {
  Taker take(feed);
  for (int n = 0; n < run.count; ++n) {
    if (ended > 0) {
      --ended;
      continue;
    }
    if (!take.begin() || !first(band, block_of(run, n), run.known[n], ended, take)) return false;
  }
  return take.begin();
}

bool decode_refining(const Band& band, const Run& run, uint32_t& ended, Feed& feed) {
  Taker take(feed);
  for (int n = 0; n < run.count; ++n)
    if (!take.begin() || !refine(band, block_of(run, n), run.known[n], ended, take)) return false;
  return take.begin();
}

}  // namespace fl::jpeg::scalar
