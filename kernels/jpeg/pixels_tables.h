// How the tuned IDCT lays out a block: which coefficient goes to which lane. All of it is known to
// the compiler.
#pragma once

#include <cstdint>

#include "body/idct.h"
#include "body/idct_reduced.h"

namespace fl::jpeg {

// Columns (and rows) in the lanes of 16 bytes
constexpr int kOrder[4] = {0, 2, 1, 3};
constexpr int kPairs[4][2] = {{0, 2}, {4, 6}, {1, 3}, {5, 7}};  // rows (and columns) in one lane
constexpr int kSteps = 14;
constexpr int kFirstStep[5] = {0, 3, 7, 11, kSteps};  // of each pair

// Zigzag order is undone by byte shuffles. Coefficients 8g..8g+7 are group g; each step takes one
// group for columns 0..3 and one for columns 4..7. Groups that follow each other are one load.
constexpr int kGroups[kSteps][2] = {{0, 1}, {2, 3}, {1, 5},          //
                                    {4, 5}, {5, 6}, {1, 4}, {2, 7},  //
                                    {1, 2}, {2, 3}, {0, 5}, {3, 6},  //
                                    {4, 5}, {6, 7}, {2, 6}};

// The inverse of body/idct.h's table; for the compiler only.
constexpr int natural_to_zigzag(int at) {
  int n = 0;
  while (zigzag_to_natural(n) != at) ++n;
  return n;
}

// The coefficient (its number in the stream) in 16-bit lane i of a pair's 16 bytes for one half of
// the columns.
constexpr int wanted(int pair, int half, int i) {
  return natural_to_zigzag(kPairs[pair][i % 2] * kBlockSize + half * 4 + kOrder[i / 2]);
}

struct alignas(64) Shuffles {
  uint8_t bytes[kSteps][32];  // columns 0..3, then 4..7
};

constexpr Shuffles make_shuffles() {
  Shuffles out{};
  for (int pair = 0; pair < 4; ++pair)
    for (int step = kFirstStep[pair]; step < kFirstStep[pair + 1]; ++step)
      for (int i = 0; i < 16; ++i) {
        const int half = i / 8, n = wanted(pair, half, i % 8);
        for (int byte = 0; byte < 2; ++byte)
          out.bytes[step][2 * i + byte] =
              static_cast<uint8_t>(n / 8 == kGroups[step][half] ? n % 8 * 2 + byte : 128);
      }
  return out;
}

constexpr bool complete(const Shuffles& shuffles) {  // does each lane come from exactly one step?
  for (int pair = 0; pair < 4; ++pair)
    for (int i = 0; i < 32; ++i) {
      int sources = 0;
      for (int step = kFirstStep[pair]; step < kFirstStep[pair + 1]; ++step)
        sources += shuffles.bytes[step][i] < 128;
      if (sources != 1) return false;
    }
  return true;
}

constexpr Shuffles kShuffles = make_shuffles();
static_assert(complete(kShuffles));

// The same for blocks that end within their first three groups: of each group, the bytes for both
// halves of a pair.
constexpr int kShortGroups = 3;
struct alignas(64) ShortShuffles {
  uint8_t bytes[4][kShortGroups][32];
};

constexpr ShortShuffles make_short_shuffles() {
  ShortShuffles out{};
  for (int pair = 0; pair < 4; ++pair)
    for (int group = 0; group < kShortGroups; ++group)
      for (int i = 0; i < 32; ++i) {
        const int n = wanted(pair, i / 16, i / 2 % 8);
        out.bytes[pair][group][i] = static_cast<uint8_t>(n / 8 == group ? n % 8 * 2 + i % 2 : 128);
      }
  return out;
}

constexpr ShortShuffles kShortShuffles = make_short_shuffles();

// The same for 64-byte vectors, which can be indexed across: two pairs each, columns 0..7 of both.
struct alignas(64) Indices {
  uint16_t lanes[2][32];
};

constexpr Indices make_indices() {
  Indices out{};
  for (int pair = 0; pair < 4; ++pair)
    for (int i = 0; i < 16; ++i)
      out.lanes[pair / 2][pair % 2 * 16 + i] = static_cast<uint16_t>(wanted(pair, i / 8, i % 8));
  return out;
}

constexpr Indices kIndices = make_indices();

// Back to rows where bytes can be taken from two 64-byte vectors: columns 0..3 of all rows (in
// kOrder) of two blocks, and columns 4..7, become rows 0..3 (then 4..7) of both blocks side by
// side.
struct alignas(64) RowIndices {
  uint8_t from[2][64];
};

constexpr RowIndices make_row_indices() {
  RowIndices out{};
  for (int i = 0; i < 128; ++i) {
    const int half = i / 64, row = i / 16 % 4, block = i / 8 % 2, column = i % 8;
    // KOrder is its own inverse
    const int byte = (block * 2 + half) * 16 + column % 4 * 4 + kOrder[row];
    out.from[half][i % 64] = static_cast<uint8_t>(column / 4 * 64 + byte);
  }
  return out;
}

constexpr RowIndices kRowIndices = make_row_indices();

// 4 columns of 4 rows (in kOrder) to 4 rows of 4 columns.
alignas(16) constexpr uint8_t kTurn[16] = {0, 4, 8, 12, 2, 6, 10, 14, 1, 5, 9, 13, 3, 7, 11, 15};

// The factors of both passes, each pair of them in all lanes of 32 bits. Defined elsewhere, so that
// compilers load whole vectors: they would build each anew from a number, or from one of two.
template <int kLines>
struct alignas(64) LaneFactors {
  int16_t even[kLines][2][32];
  int16_t odd[kLines][2][32];
};

template <int kLines, class Factors>
constexpr LaneFactors<kLines> in_lanes(const Factors& by) {
  LaneFactors<kLines> out{};
  for (int j = 0; j < kLines; ++j)
    for (int n = 0; n < 2 * 32; ++n) {
      out.even[j][n / 32][n % 32] = by.even[j][n / 32 * 2 + n % 2];
      out.odd[j][n / 32][n % 32] = by.odd[j][n / 32 * 2 + n % 2];
    }
  return out;
}

extern const LaneFactors<4> kFactors;
extern const LaneFactors<2> kFactorsTo4;
extern const LaneFactors<1> kFactorsTo2;

alignas(64) constexpr int16_t kDcOnly[32] = {-1};  // a mask

}  // namespace fl::jpeg
