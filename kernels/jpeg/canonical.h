// Huffman codes in their plain canonical form, and the symbols that they stand for (ITU-T T.81,
// annex F). The specification's decoder; the fast one asks here for what its tables do not have.
#pragma once

#include <array>
#include <cstdint>

#include "jpeg/frame.h"

namespace fl::jpeg {

// What 8-bit images can need (T.81 tables F.1 and F.2); streams that say more are refused.
constexpr int kMaxDcBits = 11, kMaxAcBits = 10;
constexpr int kMaxSymbolBits = 16 + kMaxDcBits;  // code and value
constexpr int kRunOf16 = 0xF0, kEndOfBlock = 0x00;

// By length, left-justified in 16 bits.
struct Canonical {
  std::array<int32_t, 17> limit{};  // [length]: codes below it have at most this length
  // [length]: code (right-justified) + offset = its number among the symbols
  std::array<int32_t, 17> offset{};
  std::array<uint8_t, 256> symbols{};

  explicit Canonical(const Codes& codes = {});
};

struct Code {
  int length = 0;  // 0: no such code
  int symbol = 0;
};

// Without a branch for each length: which one it is, nobody can guess. T.81 F.2.2.3, DECODE. Codes
// of one length follow each other, and longer ones are larger when both are left-justified (annex
// C). So the length is the number of limits that the bits reach.
inline Code find_code(const Canonical& table, uint64_t bits) {
  const auto top = static_cast<int32_t>(bits >> 48);
  int length = 1;
  for (int longer = 1; longer < 16; ++longer) length += top >= table.limit[longer];
  if (top >= table.limit[16]) return {};
  return {length, table.symbols[(top >> (16 - length)) + table.offset[length]]};
}

// F.2.2.1, EXTEND: values of n bits are 2^(n-1) .. 2^n - 1 and, if their first bit is 0, the
// negative ones.
inline int value_behind(uint64_t bits, int code_length, int value_bits) {
  if (value_bits == 0) return 0;
  const uint64_t from = bits << code_length;
  return static_cast<int>(from >> (64 - value_bits)) -
         (from >> 63 != 0 ? 0 : (1 << value_bits) - 1);
}

// Coefficients that a symbol stands for, its value included; 0: what 8-bit images cannot need.
inline int ac_advance(int symbol) {
  const int run = symbol >> 4, bits = symbol & 15;
  if (symbol == kEndOfBlock) return kBlockValues;
  if (symbol == kRunOf16) return 16;
  return bits == 0 || bits > kMaxAcBits ? 0 : run + 1;
}

// One decoded symbol: what it says about the stream and about the block.
struct Symbol {
  int length = 0;  // bits, code and value; 0: no such code, or one that 8-bit images cannot need
  // Coefficients that are done with it, the value's own included; a whole block for its end
  int advance = 0;
  int value = 0;  // of the last of these; 0: nothing to store
};

// bits: the next bits of the stream, the first one on top; kMaxSymbolBits of them count.
inline Symbol decode_dc(const Canonical& table, uint64_t bits) {
  const Code code = find_code(table, bits);
  if (code.length == 0 || code.symbol > kMaxDcBits) return {};
  return {code.length + code.symbol, 1, value_behind(bits, code.length, code.symbol)};
}

// T.81 F.2.2.2: run and size of one coefficient, 16 zeros, or the end of the block.
inline Symbol decode_ac(const Canonical& table, uint64_t bits) {
  const Code code = find_code(table, bits);
  const int advance = ac_advance(code.symbol), value_bits = code.symbol & 15;
  if (code.length == 0 || advance == 0) return {};
  return {code.length + value_bits, advance, value_behind(bits, code.length, value_bits)};
}

}  // namespace fl::jpeg
