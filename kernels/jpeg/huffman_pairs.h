// Entries of the lookup tables as numbers, all fields at once, which is several times as fast; and
// two symbols to one entry.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "jpeg/huffman.h"

namespace fl::jpeg {

constexpr int kLookups = 1 << kLookupBits;
constexpr int kLengthMask = 63, kValueAt = 24, kBiasAt = 32;
static_assert(std::endian::native == std::endian::little);

using Numbers = std::array<uint64_t, kLookups>;

inline uint64_t number(const Entry& entry) { return std::bit_cast<uint64_t>(entry); }

// What stands behind a symbol of 1, 2, … bits: `singles`, as lookups see them of which that much
// has been taken.
class Seconds {
 public:
  explicit Seconds(const Numbers& singles) {
    const uint64_t* from = singles.data();
    for (int taken = 1; taken < kLookupBits; ++taken) {
      uint64_t* const to = all_.data() + start(taken);
      for (int n = 0; n < kLookups >> taken; ++n) to[n] = from[2 * n];
      from = to;
    }
  }
  // One for each value of the bits that are left.
  const uint64_t* behind(int taken) const { return all_.data() + start(taken); }

 private:
  static int start(int taken) { return kLookups - (2 * kLookups >> taken); }

  alignas(64) Numbers all_;
};

// out: two symbols where a lookup of `firsts` tells them, else the first alone. A single's value
// says how many bits another symbol must leave of a lookup to have it behind itself.
void make_pairs(const Numbers& firsts, const Seconds& seconds, std::array<Entry, kLookups>& out);

}  // namespace fl::jpeg
