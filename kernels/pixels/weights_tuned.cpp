// Compilers vectorise these loops themselves, once they know the instruction set.
#include "pixels/weights_tuned.h"

#include <algorithm>

#include "pixels/filters.h"
#include "simd/vectors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixels/weights_tuned.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace fl::cpu::tuned::HWY_NAMESPACE {

int Look(const Geometry& geometry, const Looks& out) {
  const Geometry g = geometry;
  double* const centre = out.centre;
  int32_t *const begin = out.begin, *const size = out.size;
  int most = 0;
  for (int i = 0, count = out.count; i < count; ++i) {
    const double middle = g.origin + (g.first + g.step * i + 0.5) * g.scale;
    const int from = std::max(static_cast<int>(middle - g.support + 0.5), 0),
              end = std::min(static_cast<int>(middle + g.support + 0.5), g.size);
    centre[i] = middle;
    begin[i] = from;
    size[i] = end - from;
    most = std::max(most, end - from);
  }
  return most;
}

void TriangleRow(const Looks& looks, int k, double shrink, double* row, double* sums) {
  const double* const centre = looks.centre;
  const int32_t *const begin = looks.begin, *const size = looks.size;
  for (int i = 0, count = looks.count; i < count; ++i) {
    const double distance = k + begin[i] - centre[i] + 0.5, value = triangle(distance * shrink);
    row[i] = k < size[i] ? value : 0.0;
    sums[i] += row[i];
  }
}

void FixedRow(const double* row, const double* sums, int count, int32_t* out) {
  for (int i = 0; i < count; ++i) out[i] = to_fixed(row[i] / sums[i]);
}

// kTaps: the number, where compilers are to know it.
template <int kTaps>
HWY_INLINE void Transpose(const int32_t* rows, int count, int taps, int32_t* weights,
                          int32_t* pairs) {
  const ptrdiff_t all = kTaps == 0 ? taps : kTaps;
  for (int i = 0; i < count; ++i)
    for (ptrdiff_t k = 0; k < all; k += 2) {
      const int32_t two[2] = {rows[k * count + i], rows[(k + 1) * count + i]};
      weights[i * all + k] = two[0];
      weights[i * all + k + 1] = two[1];
      split_pair(two, pairs + i * all + k);
    }
}

void ByOutput(const int32_t* rows, int count, int taps, int32_t* weights, int32_t* pairs) {
  if (taps == 2) return Transpose<2>(rows, count, taps, weights, pairs);
  if (taps == 4) return Transpose<4>(rows, count, taps, weights, pairs);
  Transpose<0>(rows, count, taps, weights, pairs);
}

}  // namespace fl::cpu::tuned::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fl::cpu::tuned {

HWY_EXPORT(Look);
HWY_EXPORT(TriangleRow);
HWY_EXPORT(FixedRow);
HWY_EXPORT(ByOutput);

int look(const Geometry& geometry, const Looks& out) {
  return HWY_DYNAMIC_DISPATCH(Look)(geometry, out);
}

void triangle_row(const Looks& looks, int k, double shrink, double* row, double* sums) {
  HWY_DYNAMIC_DISPATCH(TriangleRow)(looks, k, shrink, row, sums);
}

void fixed_row(const double* row, const double* sums, int count, int32_t* out) {
  HWY_DYNAMIC_DISPATCH(FixedRow)(row, sums, count, out);
}

void by_output(const int32_t* rows, int count, int taps, int32_t* weights, int32_t* pairs) {
  HWY_DYNAMIC_DISPATCH(ByOutput)(rows, count, taps, weights, pairs);
}

}  // namespace fl::cpu::tuned
#endif
