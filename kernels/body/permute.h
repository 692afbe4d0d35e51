// The order of an epoch without a table: a keyed permutation of 0..n-1, O(1) per element whatever n
// is.
//
// A balanced Feistel network on the smallest even number of bits that holds n, walked until the
// value is below n (cycle walking; Black and Rogaway 2002). The round function is the finaliser of
// SplitMix64 (Steele et al. 2014, variant 13 of Stafford): every input bit moves every output bit.
#pragma once

#include <cstdint>

#include "body/philox.h"

namespace fl {

class Permutation {
 public:
  static constexpr uint32_t kOp = (1 << 15) - 1;  // rng.SHUFFLE_OP: whose words the keys are
  static constexpr int kRounds = 6;

  // n: 1 to 2^62.
  FL_HD Permutation(uint64_t n, uint64_t seed, uint32_t epoch) : n_(n), half_(1) {
    while ((n - 1) >> half_ >> half_ != 0) ++half_;
    const Draw draw{seed, epoch, 0, 0, kOp};
    const Philox first = draw.words(0), second = draw.words(1);
    for (int i = 0; i < 4; ++i) keys_[i] = first.word[i];
    for (int i = 4; i < kRounds; ++i) keys_[i] = second.word[i - 4];
  }

  // position and the result: below n. Ends, since the network is a bijection on at most four times
  // n values; on average after four rounds at most.
  FL_HD uint64_t operator()(uint64_t position) const {
    uint64_t value = position;
    do value = network(value);
    while (value >= n_);
    return value;
  }

 private:
  // A Feistel round can be undone whatever its function is, so this is a bijection.
  FL_HD uint64_t network(uint64_t value) const {
    const uint64_t mask = (uint64_t{1} << half_) - 1;
    uint64_t left = value >> half_, right = value & mask;
    for (const uint64_t key : keys_) {
      const uint64_t next = left ^ (mix64(right + (key << 32)) & mask);
      left = right;
      right = next;
    }
    return (left << half_) | right;
  }

  static FL_HD uint64_t mix64(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
  }

  uint64_t n_;
  int half_;  // bits of each side
  uint64_t keys_[kRounds];
};

}  // namespace fl
