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

// Every lookup that begins with a code of the table, as one symbol.
void fill_single(const Canonical& codes, Strides& out) {
  out.fill({});
  for (int length = 1; length <= kStrideBits; ++length) {
    const int first = static_cast<int>(codes.limit[length - 1] >> (16 - length)), spare = kStrideBits - length;
    const int end = static_cast<int>(codes.limit[length] >> (16 - length));
    for (int code = first; code < end; ++code) {
      const int symbol = codes.symbols[code + codes.offset[length]], advance = ac_advance(symbol), bits = symbol & 15;
      if (advance == 0 || length + bits > kMaxStride) continue;
      const int most = kBlockValues - (bits == 0 ? 1 : advance);  // zeros without a value may be more than a block has
      const Stride one{static_cast<uint8_t>(length + bits), static_cast<uint8_t>(advance), static_cast<uint8_t>(most),
                       static_cast<uint8_t>(length)};
      std::fill_n(&out[code << spare], 1 << spare, one);
    }
  }
}

// A value and what follows it, if all of that one's code can be seen.
Stride both(const Stride& first, const Stride& second) {
  const int length = first.length + second.length;
  const bool fits = first.length + second.code <= kStrideBits && length <= kMaxStride && second.most > first.advance;
  if (!fits) return first;
  return {static_cast<uint8_t>(length), static_cast<uint8_t>(first.advance + second.advance),
          static_cast<uint8_t>(second.most - first.advance), first.code};
}

void fill_strides(const Canonical& codes, Strides& out) {
  Strides single;
  fill_single(codes, single);
  out = single;
  constexpr int kCount = 1 << kStrideBits;
  for (int at = 0; at < kCount;) {
    const Stride& first = single[at];
    const int span = first.code == 0 ? 1 : kCount >> first.code;                // lookups that begin with this code
    const int inner = first.length < kStrideBits ? kCount >> first.length : 1;  // … and with one of its values
    if (first.length > first.code && inner > 1) {
      for (int n = 0; n < inner; ++n) out[at + n] = both(first, single[n << first.length]);
      for (int to = at + inner; to < at + span; to += inner) std::copy_n(&out[at], inner, &out[to]);
    }
    at += span;
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

Tables::Tables() : dc_(kMaxComponents), ac_(kMaxComponents), strides_(kMaxComponents) {}

void Tables::prepare(const Frame& frame) {
  strides_made_.fill(false);
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

const Strides& Tables::strides(int component) {
  const int which = ac_of_[component];
  if (!strides_made_[which]) fill_strides(ac_[which].slow, strides_[which]);
  strides_made_[which] = true;
  return strides_[which];
}

}  // namespace fl::jpeg
