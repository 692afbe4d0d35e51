// Random words below a 32-bit key that is itself a draw and stands in a record: what needs many
// numbers (noise, a user's function) carries one. rng.keyed_uniforms has the same words.
#pragma once

#include "body/philox.h"

namespace fl {

struct Keyed {
  static constexpr uint32_t kOp = (1 << 15) - 2;  // rng.KEYED_OP

  uint32_t key;

  // The op number is one that no transform has, so keyed words meet none of the draws that made the
  // key.
  FL_HD Philox words(uint64_t block) const {
    return Draw{key, 0, block >> 16, 0, kOp}.words(static_cast<uint32_t>(block & 0xFFFF));
  }
};

// Levels of noise, 0..4095: number i is the upper 12 bits of half word i of the key's words, lower
// half first. Tables say what a level is: only integers are drawn, so that every machine has the
// same noise.
struct NoiseLevels {
  static constexpr int kCount = 4096;
  static constexpr int kPerBlock = 8;

  Keyed keyed;
  uint64_t block = ~uint64_t{0};  // of `words`
  Philox words{};

  FL_HD int at(uint64_t number) {
    if (number / kPerBlock != block) {
      block = number / kPerBlock;
      words = keyed.words(block);
    }
    const uint32_t word = words.word[number % kPerBlock / 2];
    return static_cast<int>((number % 2 == 0 ? word & 0xFFFF : word >> 16) >> 4);
  }
};

}  // namespace fl
