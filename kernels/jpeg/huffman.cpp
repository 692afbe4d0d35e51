#include "jpeg/huffman.h"

#include <algorithm>

namespace fl::jpeg {
namespace {

constexpr int kSize = 1 << kLookupBits;
constexpr int kEndAdvance = 64, kDcAdvance = 2;

// T.81 F.2.2.1, EXTEND: values of n bits are 2^(n-1) .. 2^n - 1 and, if their first bit is 0, the negative ones.
int extend(uint64_t value, int bits) {
  const int positive = static_cast<int>(value);
  return bits == 0 || value >> (bits - 1) != 0 ? positive : positive - (1 << bits) + 1;
}

struct Code {
  int length = 0;  // 0: no such code
  int symbol = 0;
};

Code find(const Canonical& table, uint64_t bits) {
  const auto top = static_cast<uint32_t>(bits >> 48);
  constexpr int kLong = kLookupBits - 1;  // most of those who ask here: too long for the lookup
  for (int length = top < table.limit[kLong] ? 1 : kLong + 1; length <= 16; ++length)
    if (top < table.limit[length])
      return {length, table.symbols[static_cast<int>(top >> (16 - length)) + table.offset[length]]};
  return {};
}

int value_of(uint64_t bits, int code_length, int value_bits) {
  return value_bits == 0 ? 0 : extend(bits << code_length >> (64 - value_bits), value_bits);
}

// All lookups that begin with one code: first those of negative values, then of positive ones (EXTEND).
void put_code(Lookup& out, int code, int length, int value_bits, int advance) {
  const int count = kSize >> length, total = length + value_bits;
  const auto positive = static_cast<uint16_t>(-(code << value_bits));
  const auto negative = static_cast<uint16_t>(positive - (1 << value_bits) + 1);
  Entry entry{static_cast<uint8_t>(total), static_cast<uint8_t>(advance), negative};
  Entry* to = &out.entries[code << (kLookupBits - length)];
  std::fill_n(to, count / 2, entry);
  entry.bias = positive;
  std::fill_n(to + count / 2, count - count / 2, entry);
}

// 0: not for the table.
int ac_advance(int symbol) {
  const int run = symbol >> 4, bits = symbol & 15;
  if (symbol == kEndOfBlock) return kEndAdvance;
  if (symbol == kRunOf16) return 16;
  return bits == 0 || bits > kMaxAcBits ? 0 : run + 1;
}

void fill_lookup(const Codes& codes, bool dc, Lookup& out) {
  out.mask = dc ? 2 * kBlockValues - 1 : 0;
  out.slow = Canonical(codes);
  out.entries.fill({0, kSlow, 0});
  int code = 0, index = 0;
  for (int length = 1; length <= kLookupBits; ++length, code <<= 1) {
    for (int n = 0; n < codes.counts[length]; ++n, ++code, ++index) {
      const int symbol = codes.symbols[index], value_bits = dc ? symbol : symbol & 15;
      const int advance = dc ? (symbol > kMaxDcBits ? 0 : kDcAdvance) : ac_advance(symbol);
      const bool known = length + (value_bits > 0) <= kLookupBits && length + value_bits <= kMaxEntryBits;
      if (known && advance != 0) put_code(out, code, length, value_bits, advance);
    }
  }
}

}  // namespace

bool valid_codes(const Codes& codes, bool dc) {
  uint32_t next = 0;
  int count = 0;
  for (int length = 1; length <= 16; ++length, next <<= 1) {
    next += codes.counts[length];
    count += codes.counts[length];
    if (codes.counts[length] != 0 && next >= 1u << length) return false;
  }
  const auto* symbols = codes.symbols.data();
  return count <= 256 && (!dc || std::all_of(symbols, symbols + count, [](uint8_t symbol) { return symbol <= 15; }));
}

Canonical::Canonical(const Codes& codes) : symbols(codes.symbols) {
  int code = 0, index = 0;
  for (int length = 1; length <= 16; ++length, code <<= 1) {
    offset[length] = index - code;
    code += codes.counts[length];
    index += codes.counts[length];
    limit[length] = static_cast<uint32_t>(code) << (16 - length);
  }
}

Symbol decode_dc(const Canonical& table, uint64_t bits) {
  const Code code = find(table, bits);
  if (code.length == 0 || code.symbol > kMaxDcBits) return {};
  return {code.length + code.symbol, 1, value_of(bits, code.length, code.symbol)};
}

Symbol decode_ac(const Canonical& table, uint64_t bits) {
  const Code code = find(table, bits);
  const int advance = ac_advance(code.symbol), value_bits = code.symbol & 15;
  if (code.length == 0 || advance == 0) return {};
  return {code.length + value_bits, advance, value_of(bits, code.length, value_bits)};
}

Tables::Tables() : dc_(kMaxComponents), ac_(kMaxComponents) {}

void Tables::prepare(const Frame& frame) {
  for (int c = 0; c < frame.components; ++c) {
    const Component& part = frame.component[c];
    dc_of_[c] = ac_of_[c] = c;
    for (int before = c - 1; before >= 0; --before) {
      const Component& other = frame.component[before];
      if (other.dc == part.dc) dc_of_[c] = before;
      if (other.ac == part.ac) ac_of_[c] = before;
    }
    if (dc_of_[c] == c) fill_lookup(frame.dc[part.dc], true, dc_[c]);
    if (ac_of_[c] == c) fill_lookup(frame.ac[part.ac], false, ac_[c]);
  }
}

}  // namespace fl::jpeg
