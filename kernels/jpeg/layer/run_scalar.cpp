// The specification: number after number, block after block.
#include <algorithm>
#include <bit>

#include "jpeg/layer/run.h"

namespace fl::jpeg::layer::scalar {
namespace {

// A packed number: its sign, and what is below it.
struct Number {
  bool negative = false;
  int rest = 0;

  int value() const { return negative ? -rest - 1 : rest + 1; }
  int step() const { return negative ? -rest - 1 : rest; }
};

Number number_at(const uint8_t* group, int index, int width) {
  Number out;
  for (int n = 0; n < width; ++n) {
    const int bit = index * width + n;
    const int set = group[bit / 8] >> bit % 8 & 1;
    if (n == width - 1)
      out.negative = set != 0;
    else
      out.rest |= set << n;
  }
  return out;
}

uint64_t mask_at(const uint8_t* from, int bytes) {
  uint64_t mask = 0;
  for (int n = 0; n < bytes; ++n) mask |= uint64_t{from[n]} << 8 * n;
  return mask << 1;  // bit 0: the DC, which is always there
}

void put_block(uint64_t mask, const uint8_t* values, int first_width, int other_width,
               int16_t* out) {
  int index = 0;
  for (int k = 1; k < kBlockValues; ++k) {
    if ((mask >> k & 1) == 0) continue;
    const Number number = index < kFirst
                              ? number_at(values, index, first_width)
                              : number_at(values + first_width, index - kFirst, other_width);
    out[k] = static_cast<int16_t>(number.value());
    ++index;
  }
}

bool decode_run(Bytes run, const Wanted& wanted, int16_t* out, uint8_t* ends) {
  Parts parts;
  if (!find_parts(run, wanted.blocks, parts)) return false;
  auto dc = static_cast<uint16_t>(run[0] | run[1] << 8);
  for (int b = 0; b < wanted.last; ++b) {
    if (b > 0)
      dc = static_cast<uint16_t>(dc + number_at(run.data() + kDcHead, b - 1, run[2]).step());
    const int first_width = run[parts.widths + b] & 15, other_width = run[parts.widths + b] >> 4;
    const int mask_bytes = run[parts.sizes + b / 2] >> 4 * (b % 2) & 15;
    if (!is_width(first_width) || !is_width(other_width) || mask_bytes > kMostMask) return false;
    const uint64_t mask = mask_at(run.data() + parts.masks, mask_bytes);
    parts.masks += mask_bytes;
    const size_t size = value_bytes(std::popcount(mask), first_width, other_width);
    if (size > run.size() - parts.values) return false;
    if (b >= wanted.first) {
      int16_t* const block = out + (b - wanted.first) * kBlockValues;
      std::fill_n(block, kBlockValues, int16_t{0});
      block[0] = static_cast<int16_t>(dc);
      ends[b - wanted.first] = static_cast<uint8_t>(8 * mask_bytes + 1);
      put_block(mask, run.data() + parts.values, first_width, other_width, block);
    }
    parts.values += size;
  }
  return wanted.last < wanted.blocks || parts.values == run.size();
}

}  // namespace

bool decode_runs(Runs runs, int16_t* out, uint8_t* ends) {
  for (const auto& [bytes, wanted] : runs) {
    if (!decode_run(bytes, wanted, out, ends)) return false;
    out += wanted.count() * kBlockValues;
    ends += wanted.count();
  }
  return true;
}

}  // namespace fl::jpeg::layer::scalar
