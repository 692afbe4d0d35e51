// One Huffman table of a progressive scan: what each code says, and a lookup of 10 bits that gives
// code and value at once.
#pragma once

#include <array>
#include <cstdint>

#include "jpeg/canonical.h"
#include "jpeg/huffman.h"

namespace fl::jpeg {

// What a scan's codes mean: DC differences; runs and values; runs and signs (T.81 G.1.2).
enum class Role { kDc, kFirst, kRefine };

// kValue: `advance` coefficients, the last of which is `value` (in a refining scan, of those
// without one so far). kZeros: as many without a value. kEnd: this and the next value - 1 blocks
// have no more. kNone: no such code, or one that 8-bit images cannot need. kSlow: not in the
// lookup.
enum class Kind : uint8_t { kValue, kZeros, kEnd, kNone, kSlow };

struct ScanSymbol {
  Kind kind = Kind::kNone;
  int length = 0;   // bits, code and value
  int advance = 0;  // coefficients
  int value = 0;
};

struct ScanEntry {
  uint8_t length;
  uint8_t advance;
  Kind kind;
  int32_t bias;  // value: (bits >> (64 - length)) + bias
};

class ScanTable {
 public:
  // low: the lowest bit that the scan codes; a value must fit in 15 bits once it is shifted up.
  void make(const Codes& codes, Role role, int low);

  // Without the lookup. bits: the next ones of the stream, the first on top.
  ScanSymbol slow(uint64_t bits) const;

  const ScanEntry& look_up(uint64_t bits) const { return entries_[bits >> (64 - kLookupBits)]; }
  static int value(const ScanEntry& entry, uint64_t bits) {
    return static_cast<int>(bits >> (64 - entry.length)) + entry.bias;
  }

  // What `slow` says, as an entry of just these bits.
  ScanEntry slow_entry(uint64_t bits) const;
  ScanEntry entry(uint64_t bits) const {
    const ScanEntry found = look_up(bits);
    return __builtin_expect(found.kind == Kind::kSlow, 0) ? slow_entry(bits) : found;
  }

 private:
  ScanSymbol meaning(int code_length, int symbol) const;
  void put(int code, int length, int symbol);

  Role role_ = Role::kDc;
  int low_ = 0;
  Canonical canonical_;
  std::array<ScanEntry, 1 << kLookupBits> entries_;
};

// Of one scan's components; reused from scan to scan.
using ScanTables = std::array<ScanTable, kMaxComponents>;

}  // namespace fl::jpeg
