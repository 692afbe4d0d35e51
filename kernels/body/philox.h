// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC
// 2011): a pure function from counter and key to four random words.
#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace fl {

struct Philox {
  static constexpr uint32_t kMul0 = 0xD2511F53, kMul1 = 0xCD9E8D57;    // Random123 philox.h
  static constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;  // golden ratio, sqrt(3) - 1
  static constexpr int kRounds = 10;

  uint32_t word[4];

  static FL_HD Philox words(uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3, uint32_t k0,
                            uint32_t k1) {
    for (int round = 0; round < kRounds; ++round) {
      const uint64_t p0 = static_cast<uint64_t>(kMul0) * c0, p1 = static_cast<uint64_t>(kMul1) * c2;
      const uint32_t n0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0,
                     n2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
      c1 = static_cast<uint32_t>(p1);
      c3 = static_cast<uint32_t>(p0);
      c0 = n0;
      c2 = n2;
      k0 += kWeyl0;
      k1 += kWeyl1;
    }
    return {{c0, c1, c2, c3}};
  }
};

// Where one draw stands: everything that its value may depend on.
struct Draw {
  uint64_t seed;
  uint32_t epoch;
  uint64_t sample;      // < 2^48
  uint32_t occurrence;  // < 2^16: nth time that the sample appears in this epoch
  uint32_t op;          // < 2^16

  // Draws 4 * block .. 4 * block + 3 of this op; block < 2^16.
  FL_HD Philox words(uint32_t block) const {
    return Philox::words(block | op << 16, static_cast<uint32_t>(sample),
                         static_cast<uint32_t>(sample >> 32) | occurrence << 16, epoch,
                         static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32));
  }
};

// A multiple of 2^-32 in [0, 1): exact in double.
FL_HD double to_unit(uint32_t word) { return word * (1.0 / 4294967296.0); }

}  // namespace fl
