// Nearest affine maps in fixed point: which px of a row come from inside is solved, the rest is
// copying. Vector code (Highway) finds the offsets.
#include <algorithm>
#include <cstring>

#include "augment/tuned.h"
#include "simd/vectors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "augment/tuned_fixed.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace fl::augment::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// `count` px from positions x, y on, all inside. Four bytes each: the fourth is the next one's
// first, or padding.
void CopyPixels(const Image& in, const FixedMap& map, int64_t x, int64_t y, int64_t count,
                uint8_t* to) {
  const hn::ScalableTag<int32_t> d;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(d));
  const auto right = static_cast<int32_t>(map.x_right), down = static_cast<int32_t>(map.y_right);
  const auto lanes = hn::Iota(d, 0);
  auto at_x = hn::Add(hn::Set(d, static_cast<int32_t>(x)), hn::Mul(lanes, hn::Set(d, right)));
  auto at_y = hn::Add(hn::Set(d, static_cast<int32_t>(y)), hn::Mul(lanes, hn::Set(d, down)));
  // Unsigned: the last vector may reach outside, and wrap; its lanes there are not used.
  const auto step_x = hn::Set(d, static_cast<int32_t>(static_cast<uint32_t>(right) * kLanes)),
             step_y = hn::Set(d, static_cast<int32_t>(static_cast<uint32_t>(down) * kLanes));
  const auto stride = hn::Set(d, static_cast<int32_t>(in.stride));
  for (int64_t k = 0; k < count; k += kLanes, to += kLanes * kChannels) {
    const auto column = hn::ShiftRight<kFixedBits>(at_x), line = hn::ShiftRight<kFixedBits>(at_y);
    alignas(64) int32_t offsets[kLanes];
    hn::Store(hn::Add(hn::Mul(line, stride), hn::Add(column, hn::Add(column, column))), d, offsets);
    at_x = hn::Add(at_x, step_x);
    at_y = hn::Add(at_y, step_y);
    if (k + kLanes <= count)
      for (int i = 0; i < kLanes; ++i)
        std::memcpy(to + i * kChannels, in.data + offsets[i], kChannels + 1);
    else
      for (int i = 0; i < count - k; ++i)
        std::memcpy(to + i * kChannels, in.data + offsets[i], kChannels + 1);
  }
}

}  // namespace fl::augment::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fl::augment {
namespace {

HWY_EXPORT(CopyPixels);

struct Span {
  int64_t begin, end;  // end <= begin: empty
};

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

// Steps k with 0 <= at + k * step < limit. Solved in whole numbers, so that it is exact: which px
// are inside decides what may be read.
Span steps_inside(int64_t at, int64_t step, int64_t limit) {
  if (step == 0) return at >= 0 && at < limit ? Span{0, INT32_MAX} : Span{0, 0};
  if (step < 0) return steps_inside(limit - 1 - at, -step, limit);
  return {-floor_div(at, step), floor_div(limit - 1 - at, step) + 1};
}

void fill_pixels(uint8_t* row, int64_t begin, int64_t end, const Fill& fill) {
  if (fill == Fill{})
    std::memset(row + begin * kChannels, 0, (end - begin) * kChannels);
  else
    for (int64_t x = begin; x < end; ++x) std::memcpy(row + x * kChannels, fill.data(), kChannels);
}

// A map that only shifts is a memcpy.
void copy(const Image& in, const FixedMap& map, int64_t x, int64_t y, int64_t count, uint8_t* to) {
  if (map.y_right != 0 || map.x_right != 1 << kFixedBits)
    return HWY_DYNAMIC_DISPATCH(CopyPixels)(in, map, x, y, count, to);
  std::memcpy(to, in.data + (y >> kFixedBits) * in.stride + (x >> kFixedBits) * kChannels,
              count * kChannels);
}

}  // namespace

namespace tuned {

// Inside the span every px is inside the image, so the loop has no bounds to check. Before and
// behind it lies the fill.
void fixed(const Image& in, const FixedMap& map, const Fill& fill, const Pixels& out) {
  for (int64_t row = 0; row < out.height; ++row) {
    const int64_t x = map.x + row * map.x_down, y = map.y + row * map.y_down;
    const Span across = steps_inside(x, map.x_right, static_cast<int64_t>(in.width) << kFixedBits);
    const Span down = steps_inside(y, map.y_right, static_cast<int64_t>(in.height) << kFixedBits);
    Span span{std::clamp<int64_t>(std::max(across.begin, down.begin), 0, out.width),
              std::clamp<int64_t>(std::min(across.end, down.end), 0, out.width)};
    span.end = std::max(span.begin, span.end);
    uint8_t* to = out.row(static_cast<int>(row));
    fill_pixels(to, 0, span.begin, fill);
    if (span.begin < span.end)
      copy(in, map, x + span.begin * map.x_right, y + span.begin * map.y_right,
           span.end - span.begin, to + span.begin * kChannels);
    fill_pixels(to, span.end, out.width, fill);
  }
}

}  // namespace tuned

}  // namespace fl::augment
#endif
