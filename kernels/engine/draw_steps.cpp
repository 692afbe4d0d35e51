// The steps on whole registers, and Philox on many samples at once, compiled for each instruction
// set by Highway. The loops are plain C++, which compilers make vectors of; nothing is contracted,
// so that every instruction set gives the same bits.
#include <algorithm>
#include <cmath>

#include "body/philox.h"
#include "engine/draws.h"
#include "simd/vectors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/draw_steps.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace fl::draws::HWY_NAMESPACE {

// Python's and NumPy's %: the sign of b.
HWY_INLINE double modulo(double a, double b) {
  const double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

void Elementwise(Code code, const double* HWY_RESTRICT x, const double* HWY_RESTRICT y,
                 const double* HWY_RESTRICT z, double* HWY_RESTRICT out, int n) {
  switch (code) {
#define FL_STEP(name, result)                                     \
  case Code::k_##name:                                            \
    for (int i = 0; i < n; ++i) {                                 \
      [[maybe_unused]] const double a = x[i], b = y[i], c = z[i]; \
      out[i] = result;                                            \
    }                                                             \
    return;
    FL_DRAW_STEPS(FL_STEP)
#undef FL_STEP
    default:
      return;
  }
}

struct Words {
  alignas(64) uint64_t of[4][kLanes];  // 32 bits each
};

void Rounds(Words& words, uint32_t k0, uint32_t k1) {
  constexpr uint64_t kLow = 0xFFFFFFFF;
  for (int round = 0; round < Philox::kRounds; ++round) {
    for (int i = 0; i < kLanes; ++i) {
      const uint64_t p0 = Philox::kMul0 * (words.of[0][i] & kLow),
                     p1 = Philox::kMul1 * (words.of[2][i] & kLow);
      words.of[0][i] = (p1 >> 32) ^ words.of[1][i] ^ k0;
      words.of[2][i] = (p0 >> 32) ^ words.of[3][i] ^ k1;
      words.of[1][i] = p1 & kLow;
      words.of[3][i] = p0 & kLow;
    }
    k0 += Philox::kWeyl0;
    k1 += Philox::kWeyl1;
  }
}

void Uniforms(const Keys& keys, int64_t first, int n, uint32_t op, uint32_t block, double* out) {
  Words words{};
  for (int i = 0; i < n; ++i) {
    const auto sample = static_cast<uint64_t>(keys.samples[first + i]);
    words.of[0][i] = block | op << 16;
    words.of[1][i] = sample & 0xFFFFFFFF;
    words.of[2][i] = sample >> 32 | static_cast<uint64_t>(keys.occurrences[first + i]) << 16;
    words.of[3][i] = keys.epoch;
  }
  Rounds(words, static_cast<uint32_t>(keys.seed), static_cast<uint32_t>(keys.seed >> 32));
  for (int k = 0; k < 4; ++k)
    for (int i = 0; i < n; ++i)
      out[k * kLanes + i] = to_unit(static_cast<uint32_t>(words.of[k][i]));
}

}  // namespace fl::draws::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fl::draws {

HWY_EXPORT(Elementwise);
HWY_EXPORT(Uniforms);

void elementwise(Code code, const double* x, const double* y, const double* z, double* out, int n) {
  HWY_DYNAMIC_DISPATCH(Elementwise)(code, x, y, z, out, n);
}

void uniforms(const Keys& keys, int64_t first, int n, uint32_t op, uint32_t block, double* out) {
  HWY_DYNAMIC_DISPATCH(Uniforms)(keys, first, n, op, block, out);
}

}  // namespace fl::draws
#endif  // HWY_ONCE
