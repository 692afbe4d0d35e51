// Each code's meaning is written down once, in `meaning`; lookups are filled from it.
#include "jpeg/progressive_tables.h"

#include <algorithm>

namespace fl::jpeg {
namespace {

constexpr int kMostValueBits =
    14;  // with those below that other scans code: int16 has room for one more
constexpr int kBitsMask = 15;

}  // namespace

// All but the value. T.81 F.1.2.1, G.1.2.2 and G.1.2.3.
ScanSymbol ScanTable::meaning(int code_length, int symbol) const {
  const int run = symbol >> 4, bits = symbol & kBitsMask;
  if (role_ == Role::kDc) {
    const bool known = symbol <= kMaxDcBits;
    return {known ? Kind::kValue : Kind::kNone, code_length + symbol, 0, 0};
  }
  if (symbol == kRunOf16) return {Kind::kZeros, code_length, 16, 0};
  if (bits == 0) return {Kind::kEnd, code_length + run, 0, 0};
  const bool known =
      role_ == Role::kRefine ? bits == 1 : bits <= kMaxAcBits && bits + low_ <= kMostValueBits;
  return {known ? Kind::kValue : Kind::kNone, code_length + bits, run + 1, 0};
}

ScanSymbol ScanTable::slow(uint64_t bits) const {
  const Code code = find_code(canonical_, bits);
  if (code.length == 0) return {};
  ScanSymbol out = meaning(code.length, code.symbol);
  const int behind = out.length - code.length;
  if (out.kind == Kind::kValue) out.value = value_behind(bits, code.length, behind);
  if (out.kind == Kind::kEnd)  // T.81 table G.1: 2^run and as many more as the bits say
    out.value =
        (1 << behind) + (behind == 0 ? 0 : static_cast<int>(bits << code.length >> (64 - behind)));
  return out;
}

ScanEntry ScanTable::slow_entry(uint64_t bits) const {
  const ScanSymbol symbol = slow(bits);
  if (symbol.kind == Kind::kNone) return {1, 0, Kind::kNone, 0};
  ScanEntry out{static_cast<uint8_t>(symbol.length), static_cast<uint8_t>(symbol.advance),
                symbol.kind, 0};
  out.bias = symbol.value - value(out, bits);
  return out;
}

// All lookups that begin with one code. Of a value, the sign must be among the bits that are looked
// up: first those of negative ones, then of positive ones (EXTEND).
void ScanTable::put(int code, int length, int symbol) {
  const ScanSymbol means = meaning(length, symbol);
  const int behind = means.length - length, count = 1 << (kLookupBits - length);
  ScanEntry* const to = &entries_[static_cast<size_t>(code) << (kLookupBits - length)];
  ScanEntry entry{static_cast<uint8_t>(means.length), static_cast<uint8_t>(means.advance),
                  means.kind, -(code << behind)};
  if (means.kind == Kind::kValue && behind > 0) {
    if (length == kLookupBits) return;
    std::fill_n(to + count / 2, count / 2, entry);
    entry.bias += 1 - (1 << behind);
    std::fill_n(to, count / 2, entry);
    return;
  }
  if (means.kind == Kind::kEnd) entry.bias += 1 << behind;
  std::fill_n(to, count, entry);
}

void ScanTable::make(const Codes& codes, Role role, int low) {
  role_ = role;
  low_ = low;
  canonical_ = Canonical(codes);
  entries_.fill({1, 0, Kind::kSlow, 0});
  for (int length = 1; length <= kLookupBits; ++length) {
    const int first = canonical_.limit[length - 1] >> (16 - length),
              end = canonical_.limit[length] >> (16 - length);
    for (int code = first; code < end; ++code)
      put(code, length, canonical_.symbols[code + canonical_.offset[length]]);
  }
}

}  // namespace fl::jpeg
