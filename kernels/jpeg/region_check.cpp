#include "jpeg/region_check.h"

#include <algorithm>
#include <cstdlib>

#include "cpu/vectors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "jpeg/region_check.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace fl::jpeg::HWY_NAMESPACE {
#if FL_NO_VECTORS

bool Plausible(const int16_t* blocks, int64_t step, int count, const uint16_t* quant) {
  return scalar::plausible(blocks, step, count, quant);
}

#else
namespace hn = hwy::HWY_NAMESPACE;

constexpr hn::CappedTag<int16_t, kBlockValues> kD16;
constexpr hn::RepartitionToWide<decltype(kD16)> kD32;

// Blocks with a large sum are rare and looked at again.
bool Plausible(const int16_t* blocks, int64_t step, int count, const uint16_t* quant) {
  const auto* factors = reinterpret_cast<const int16_t*>(quant);  // at most kMaxQuant
  for (int n = 0; n < count; ++n) {
    const int16_t* block = blocks + n * step;
    auto even = hn::Zero(kD32), odd = hn::Zero(kD32);
    for (size_t i = 0; i < kBlockValues; i += hn::Lanes(kD16)) {
      const auto values = hn::Abs(hn::LoadU(kD16, block + i)), by = hn::LoadU(kD16, factors + i);
      even = hn::ReorderWidenMulAccumulate(kD32, values, by, even, odd);
    }
    const int sum = hn::GetLane(hn::SumOfLanes(kD32, hn::Add(even, odd)));
    if (sum > kMaxBlockSum && !scalar::plausible(block, step, 1, quant)) return false;
  }
  return true;
}

#endif  // FL_NO_VECTORS
}  // namespace fl::jpeg::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fl::jpeg {

// Columns n and n + 4 are the ones that pass 2 adds up.
bool scalar::plausible(const int16_t* blocks, int64_t step, int count, const uint16_t* quant) {
  for (int n = 0; n < count; ++n) {
    const int16_t* block = blocks + n * step;
    std::array<int, kBlockSize / 2> sums{};
    for (int i = 0; i < kBlockValues; ++i)
      sums[zigzag_to_natural(i) % (kBlockSize / 2)] += std::abs(block[i]) * quant[i];
    if (*std::max_element(sums.begin(), sums.end()) > kMaxBlockSum) return false;
  }
  return true;
}

HWY_EXPORT(Plausible);

bool tuned::plausible(const int16_t* blocks, int64_t step, int count, const uint16_t* quant) {
  return HWY_DYNAMIC_DISPATCH(Plausible)(blocks, step, count, quant);
}

}  // namespace fl::jpeg
#endif
