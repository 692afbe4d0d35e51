// Huffman tables (ITU-T T.81, annex C): the check, the plain canonical form, and the lookup tables of the fast decoder.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "jpeg/frame.h"

namespace fl::jpeg {

// What 8-bit images can need (T.81 tables F.1 and F.2); streams that say more are refused.
constexpr int kMaxDcBits = 11, kMaxAcBits = 10;
constexpr int kMaxSymbolBits = 16 + kMaxDcBits;  // code and value
constexpr int kRunOf16 = 0xF0, kEndOfBlock = 0x00;

// No more codes than fit, none of all ones, no DC symbol above 15: what libjpeg asks for.
bool valid_codes(const Codes& codes, bool dc);

// Annex F: the canonical codes by length, left-justified in 16 bits.
struct Canonical {
  std::array<uint32_t, 17> limit{};  // [length]: codes below it have at most this length
  std::array<int32_t, 17> offset{};  // [length]: code (right-justified) + offset = its place among the symbols
  std::array<uint8_t, 256> symbols{};

  explicit Canonical(const Codes& codes = {});
};

// One decoded symbol: what it says about the stream and about the block.
struct Symbol {
  int length = 0;   // bits, code and value; 0: no such code, or one that 8-bit images cannot need
  int advance = 0;  // coefficients that are done with it, the value's own included; a whole block for its end
  int value = 0;    // of the last of these; 0: nothing to store
};

// bits: the next bits of the stream, the first one on top; kMaxSymbolBits of them count.
Symbol decode_dc(const Canonical& table, uint64_t bits);
Symbol decode_ac(const Canonical& table, uint64_t bits);

// The fast decoder looks up this many bits at once.
constexpr int kLookupBits = 10;
constexpr uint8_t kSlow = 0x80;
constexpr int kMaxEntryBits = 19;  // so that three of them fit in what one load gives

// A place in the lanes' blocks (entropy_tuned.cpp) is 128 * block + coefficients done; bit 6 means "block is over".
struct Entry {
  uint8_t length;   // bits of code and value
  uint8_t advance;  // places; kSlow: not in the table
  uint16_t bias;    // value: (bits >> (64 - length)) + bias, in 16 bits
};

struct Lookup {
  uint64_t mask = 0;  // to be set in the place first: a DC symbol begins a new block
  Canonical slow;
  alignas(64) std::array<Entry, 1 << kLookupBits> entries;
};

// Passing over coefficients looks up this many bits at once, and takes up to two symbols at a time.
constexpr int kStrideBits = 11;
constexpr int kMaxStride = 18;  // bits, so that three of them fit in a full Window

// One AC symbol, or two of which the first does not end the block.
struct Stride {
  uint8_t length = 0;   // bits of codes and values
  uint8_t advance = 0;  // coefficients; a whole block for its end
  uint8_t most =
      0;  // the most coefficients before it with which it is right; 0: not in the table, for a block has its DC
  uint8_t code = 0;  // bits of the first code
};

using Strides = std::array<Stride, 1 << kStrideBits>;

// A frame's tables, for the slow and for the fast decoder, by component.
class Tables {
 public:
  Tables();
  void prepare(const Frame& frame);

  const Lookup& dc(int component) const { return dc_[dc_of_[component]]; }
  const Lookup& ac(int component) const { return ac_[ac_of_[component]]; }
  const Strides& strides(int component);  // of its AC symbols; made when they are first asked for

 private:
  std::vector<Lookup> dc_, ac_;
  std::vector<Strides> strides_;
  std::array<int, kMaxComponents> dc_of_{}, ac_of_{};  // components with equal tables share them
  std::array<bool, kMaxComponents> strides_made_{};
};

}  // namespace fl::jpeg
