// The filters in vector code (Highway), bit-equal to the scalar ones below.
//
// A pixel needs the one before it, so a vector holds the bytes of one pixel; only the filter "up"
// takes whole vectors. Where a pixel has 3 or 6 bytes, the vector's last ones belong to the next
// pixel: they are read, and not written.
#include <cstdlib>
#include <cstring>

#include "png/rows.h"
#include "simd/vectors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "png/unfilter.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "simd/vector_ops.h"

HWY_BEFORE_NAMESPACE();
namespace fl::png::HWY_NAMESPACE {
#if FL_NO_VECTORS

void Unfilter(uint8_t filter, uint8_t* row, const uint8_t* above, size_t bytes, int step) {
  scalar::unfilter(filter, row, above, bytes, step);
}

#else

using namespace fl::HWY_NAMESPACE;

void up(uint8_t* row, const uint8_t* above, size_t bytes) {
  const size_t lanes = hn::Lanes(kD8);
  size_t i = 0;
  for (; i + lanes <= bytes; i += lanes)
    hn::StoreU(hn::Add(hn::LoadU(kD8, row + i), hn::LoadU(kD8, above + i)), kD8, row + i);
  for (; i < bytes; ++i) row[i] = static_cast<uint8_t>(row[i] + above[i]);
}

// The bytes of one pixel, kStep, in a vector of kLanes.
template <int kStep, int kLanes>
struct Chain {
  static constexpr hn::FixedTag<uint8_t, kLanes> kBytes{};
  static constexpr hn::FixedTag<int16_t, kLanes> kWide{};
  using Values = hn::Vec<decltype(kBytes)>;
  using Wide = hn::Vec<decltype(kWide)>;

  static HWY_INLINE void store(Values values, uint8_t* to) {
    if constexpr (kStep == kLanes) {
      hn::StoreU(values, kBytes, to);
    } else {
      uint8_t all[kLanes];
      hn::StoreU(values, kBytes, all);
      std::memcpy(to, all, kStep);
    }
  }

  static void sub(uint8_t* row, size_t bytes) {
    Values left = hn::Zero(kBytes);
    for (size_t i = 0; i < bytes; i += kStep) {
      left = hn::Add(left, hn::LoadU(kBytes, row + i));
      store(left, row + i);
    }
  }

  // Of the sum's half, rounded down: Highway's average rounds up.
  static void average(uint8_t* row, const uint8_t* above, size_t bytes) {
    const Values one = hn::Set(kBytes, 1);
    Values left = hn::Zero(kBytes);
    for (size_t i = 0; i < bytes; i += kStep) {
      const Values over = hn::LoadU(kBytes, above + i);
      const Values odd = hn::And(hn::Xor(left, over), one);
      const Values half = hn::Sub(hn::AverageRound(left, over), odd);
      left = hn::Add(hn::LoadU(kBytes, row + i), half);
      store(left, row + i);
    }
  }

  static HWY_INLINE Wide wide(const uint8_t* at) {
    return hn::PromoteTo(kWide, hn::LoadU(kBytes, at));
  }

  static void nearest_of(uint8_t* row, const uint8_t* above, size_t bytes) {
    const Wide byte = hn::Set(kWide, 255);
    Wide left = hn::Zero(kWide), corner = hn::Zero(kWide);
    for (size_t i = 0; i < bytes; i += kStep) {
      const Wide over = wide(above + i);
      const Wide by_left = hn::Sub(over, corner), by_over = hn::Sub(left, corner);
      const Wide far_corner = hn::Abs(hn::Add(by_left, by_over));
      const Wide far_left = hn::Abs(by_left), far_over = hn::Abs(by_over);
      const Wide nearest = hn::Min(far_corner, hn::Min(far_left, far_over));
      const Wide guess =
          hn::IfThenElse(hn::Eq(nearest, far_left), left,
                         hn::IfThenElse(hn::Eq(nearest, far_over), over, corner));
      left = hn::And(hn::Add(wide(row + i), guess), byte);
      corner = over;
      store(hn::DemoteTo(kBytes, left), row + i);
    }
  }

  static void run(uint8_t filter, uint8_t* row, const uint8_t* above, size_t bytes) {
    if (filter == 1) sub(row, bytes);
    if (filter == 3) average(row, above, bytes);
    if (filter == 4) nearest_of(row, above, bytes);
  }
};

void Unfilter(uint8_t filter, uint8_t* row, const uint8_t* above, size_t bytes, int step) {
  if (filter == 0) return;
  if (filter == 2) return up(row, above, bytes);
  switch (step) {
    case 2:
      return Chain<2, 2>::run(filter, row, above, bytes);
    case 3:
      return Chain<3, 4>::run(filter, row, above, bytes);
    case 4:
      return Chain<4, 4>::run(filter, row, above, bytes);
    case 6:
      return Chain<6, 8>::run(filter, row, above, bytes);
    case 8:
      return Chain<8, 8>::run(filter, row, above, bytes);
    default:
      return scalar::unfilter(filter, row, above, bytes, step);
  }
}

#endif  // FL_NO_VECTORS
}  // namespace fl::png::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fl::png {
namespace {

// 9.4: the neighbour that is nearest to left + above - corner; the first of equals, in this order.
int nearest(int left, int above, int corner) {
  const int far_left = std::abs(above - corner), far_above = std::abs(left - corner);
  const int far_corner = std::abs(left + above - 2 * corner);
  if (far_left <= far_above && far_left <= far_corner) return left;
  return far_above <= far_corner ? above : corner;
}

}  // namespace

void scalar::unfilter(uint8_t filter, uint8_t* row, const uint8_t* above, size_t bytes, int step) {
  const auto before = static_cast<size_t>(step);
  for (size_t i = 0; i < bytes; ++i) {
    const int left = i < before ? 0 : row[i - before], over = above[i];
    const int corner = i < before ? 0 : above[i - before];
    const int guesses[] = {0, left, over, (left + over) / 2, nearest(left, over, corner)};
    row[i] = static_cast<uint8_t>(row[i] + guesses[filter]);
  }
}

HWY_EXPORT(Unfilter);

void unfilter(uint8_t filter, uint8_t* row, const uint8_t* above, size_t bytes, int step) {
  HWY_DYNAMIC_DISPATCH(Unfilter)(filter, row, above, bytes, step);
}

}  // namespace fl::png
#endif
