// Host side of the resize: positions and fixed-point weights, made in double and rounded once.
//
// precompute_coeffs and normalize_coeffs_8bpc of Pillow's Resample.c: which source pixels an output
// sees, weights in double, divided by their sum, rounded half away from zero to 22 bits. For a
// window only the outputs that it shows are made. The result is the same on every machine, since
// nothing but the filters calls the math library.
#include "pixels/weights.h"

#include <algorithm>

#include "base/error.h"
#include "body/resize.h"
#include "pixels/filters.h"
#include "pixels/weights_tuned.h"

namespace fl::cpu {
namespace {

// The resized rows/columns [low, high) that the window shows, in output order.
struct Shown {
  int low, high;
  bool mirrored;

  int count() const { return high - low; }
  int at(int i) const { return mirrored ? high - 1 - i : low + i; }
};

Shown shown(const Span& span) {
  const int64_t end = static_cast<int64_t>(span.window) + span.out;
  const int low = std::max(span.window, 0);
  const int high = static_cast<int>(std::min<int64_t>(end, span.resized));
  return {low, std::max(low, high), span.mirrored};
}

void copy(const Shown& out, Axis& axis) {
  axis.kind = Axis::Kind::kCopy;
  axis.begin = out.low;
  axis.end = out.high;
}

// A flip without a resize: each output has one source.
void mirror(const Shown& out, Axis& axis) {
  axis.kind = Axis::Kind::kPick;
  axis.begin = out.low;
  axis.end = out.high;
  axis.first.resize(out.count());
  for (int i = 0; i < out.count(); ++i) axis.first[i] = out.at(i) - out.low;
}

// Pillow steps through the source by repeated addition, so its rounding errors are part of the
// result.
void nearest(const Span& span, const Shown& out, Axis& axis) {
  axis.kind = Axis::Kind::kPick;
  axis.first.assign(out.count(), Axis::kOutside);
  axis.begin = span.size;
  axis.end = 0;
  const double scale = span.length / span.resized;
  double position = span.begin + scale * 0.5;
  for (int i = 0; i < out.high; ++i, position += scale) {
    const int source = static_cast<int>(position);
    if (i < out.low || source >= span.size) continue;
    axis.first[out.mirrored ? out.high - 1 - i : i - out.low] = source;
    axis.begin = std::min(axis.begin, source);
    axis.end = std::max(axis.end, source + 1);
  }
  if (axis.begin > axis.end) axis.begin = axis.end = 0;
  for (int32_t& first : axis.first)
    if (first != Axis::kOutside) first -= axis.begin;
}

// Each output's sources, then their weights, all outputs tap by tap: so compilers work on several
// of them at a time. A thread's own, since memory takes as long as numbers.
struct Work {
  std::vector<double> centre, sums;  // [count]
  std::vector<int32_t> begin, size;  // [count], px
  std::vector<double> weights;       // [taps, count], before they are divided by their sums
  std::vector<int32_t> fixed;        // the same in fixed point, afterwards
  int taps = 0;                      // the largest size

  tuned::Looks looks() {
    return {centre.data(), begin.data(), size.data(), static_cast<int>(centre.size())};
  }
};

// support, scale: as Geometry has them.
void look(double support, const Span& span, const Shown& out, double scale, Work& work) {
  const int count = out.count();
  work.centre.resize(count);
  work.begin.resize(count);
  work.size.resize(count);
  work.taps = tuned::look({scale, support, span.begin, span.size, out.at(0), out.mirrored ? -1 : 1},
                          work.looks());
}

// Of tap k of all outputs, and added to their sums.
void weigh_row(Filter filter, const tuned::Looks& looks, int k, double shrink, double* row,
               double* sums) {
  // The common one, and the cheapest
  if (filter == Filter::kBilinear) return tuned::triangle_row(looks, k, shrink, row, sums);
  const auto weight = kernel(filter).weight;
  for (int i = 0; i < looks.count; ++i) {
    const double distance = k + looks.begin[i] - looks.centre[i] + 0.5;
    row[i] = k < looks.size[i] ? weight(distance * shrink) : 0.0;
    sums[i] += row[i];
  }
}

void weigh(Filter filter, double shrink, Work& work) {
  const size_t count = work.centre.size();
  work.sums.assign(count, 0.0);
  work.weights.resize(work.taps * count);
  for (int k = 0; k < work.taps; ++k)
    weigh_row(filter, work.looks(), k, shrink, &work.weights[k * count], work.sums.data());
  for (double& sum : work.sums) sum = sum == 0.0 ? 1.0 : sum;
}

// So many zeros before the weights of output i; as many of the last ones are zeros, too.
void lead(int zeros, int i, Axis& axis) {
  int32_t* const weights = &axis.weights[static_cast<size_t>(i) * axis.taps];
  const int kept = std::max(axis.taps - zeros, 0);
  std::copy_backward(weights, weights + kept, weights + axis.taps);
  std::fill(weights, weights + axis.taps - kept, 0);
  for (int k = 0; k < axis.taps; k += 2)
    split_pair(weights + k, &axis.pairs[static_cast<size_t>(i) * axis.taps + k]);
}

// Filters widen when an image shrinks (stretch), which is what makes them antialias. The number of
// taps is the largest of all outputs, rounded up to even, since multiply-adds take two. Outputs at
// the far border move their first source back and lead with zeros, so that `first + taps` does not
// pass the last source where there are enough of them.
void weighted(Filter filter, const Span& span, const Shown& out, Axis& axis) {
  thread_local Work work;
  const double scale = span.length / span.resized, stretch = std::max(scale, 1.0);
  look(kernel(filter).support * stretch, span, out, scale, work);
  weigh(filter, 1.0 / stretch, work);
  const int count = out.count(), first = out.mirrored ? count - 1 : 0, last = count - 1 - first;
  axis.kind = Axis::Kind::kWeigh;
  axis.taps = (work.taps + 1) & ~1;
  axis.begin = work.begin[first];
  axis.end = work.begin[last] + work.size[last];
  axis.first.resize(count);
  const int last_first = std::max(axis.end - axis.begin - axis.taps, 0);
  const auto numbers = static_cast<size_t>(count) * axis.taps;
  work.fixed.assign(numbers, 0);  // one row of zeros where their number is odd
  for (int k = 0; k < work.taps; ++k)
    tuned::fixed_row(&work.weights[static_cast<size_t>(k) * count], work.sums.data(), count,
                     &work.fixed[static_cast<size_t>(k) * count]);
  axis.weights.resize(numbers);
  axis.pairs.resize(numbers);
  tuned::by_output(work.fixed.data(), count, axis.taps, axis.weights.data(), axis.pairs.data());
  for (int i = 0; i < count; ++i) {
    const int begin = work.begin[i] - axis.begin;
    // So that no output reads past the last source; zeros lead instead
    axis.first[i] = std::min(begin, last_first);
    if (begin > last_first) lead(begin - last_first, i, axis);
  }
}

}  // namespace

void plan_axis(Filter filter, const Span& span, Axis& axis) {
  const Shown out = shown(span);
  axis.count = out.count();
  axis.begin = axis.end = axis.taps = 0;
  if (axis.count == 0) return;
  axis.offset = span.mirrored ? span.window + span.out - out.high : out.low - span.window;
  if (span.whole() && span.size == span.resized) {
    span.mirrored ? mirror(out, axis) : copy(out, axis);
  } else {
    filter == Filter::kNearest ? nearest(span, out, axis) : weighted(filter, span, out, axis);
  }
}

Filter parse_filter(const std::string& name) {
  constexpr const char* kNames[] = {"nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"};
  for (int i = 0; i < 6; ++i)
    if (name == kNames[i]) return static_cast<Filter>(i);
  refuse("filter", "unknown", '"' + name + '"',
         "nearest, box, bilinear, hamming, bicubic or lanczos");
}

}  // namespace fl::cpu
