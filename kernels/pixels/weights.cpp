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

struct Bounds {
  int begin, end;  // source px with a weight
};

// Where outputs lie among the sources, in source pixels.
struct Geometry {
  double scale, support;  // source px per output px; source px on each side
  double origin;          // where the first output begins
  int size;

  double centre(int output) const { return origin + (output + 0.5) * scale; }
  Bounds around(double centre) const {
    const int begin = static_cast<int>(centre - support + 0.5),
              end = static_cast<int>(centre + support + 0.5);
    return {std::max(begin, 0), std::min(end, size)};
  }
};

// Half away from zero, as Pillow casts.
int32_t to_fixed(double weight) {
  return static_cast<int32_t>((weight < 0 ? -0.5 : 0.5) + weight * (1 << kWeightBits));
}

// 16-bit multipliers: weight = high * 2^11 + low, 0 <= low < 2^11. Two taps share one 32-bit word:
// first tap in its low half. So sum(weight * value) = (sum(high * value) << 11) + sum(low * value),
// exactly (modulo 2^32).
void split_pairs(Axis& axis) {
  constexpr int kLowBits = 11;
  const auto pack = [](int32_t a, int32_t b) {
    return static_cast<int32_t>((static_cast<uint32_t>(a) & 0xFFFF) | static_cast<uint32_t>(b)
                                                                          << 16);
  };
  axis.pairs.resize(axis.weights.size());
  for (size_t i = 0; i < axis.weights.size(); i += 2) {
    const int32_t a = axis.weights[i], b = axis.weights[i + 1], mask = (1 << kLowBits) - 1;
    axis.pairs[i] = pack(a >> kLowBits, b >> kLowBits);
    axis.pairs[i + 1] = pack(a & mask, b & mask);
  }
}

// Each output's sources, then their weights, all outputs tap by tap: so compilers work on several
// of them at a time.
struct Sources {
  std::vector<double> centre;        // [count]
  std::vector<int32_t> begin, size;  // [count], px
  int taps = 0;                      // the largest size
};

Sources sources(const Geometry& geometry, const Shown& out) {
  const int count = out.count();
  Sources all{std::vector<double>(count), std::vector<int32_t>(count), std::vector<int32_t>(count)};
  int taps = 0;
  for (int i = 0; i < count; ++i) {
    const double centre = geometry.centre(out.at(i));
    const Bounds bounds = geometry.around(centre);
    all.centre[i] = centre;
    all.begin[i] = bounds.begin;
    all.size[i] = bounds.end - bounds.begin;
    taps = std::max(taps, all.size[i]);
  }
  all.taps = taps;
  return all;
}

// [taps, count], before they are divided by their sums [count].
template <class Weight>
std::vector<double> weigh(const Weight& weight, const Sources& all, double shrink,
                          std::vector<double>& sums) {
  const auto count = static_cast<int>(sums.size());
  std::vector<double> weights(static_cast<size_t>(all.taps) * count);
  for (int k = 0; k < all.taps; ++k) {
    double *const row = &weights[static_cast<size_t>(k) * count], *const sum = sums.data();
    for (int i = 0; i < count; ++i) {
      const double distance = k + all.begin[i] - all.centre[i] + 0.5,
                   value = weight(distance * shrink);
      row[i] = k < all.size[i] ? value : 0.0;
      sum[i] += row[i];
    }
  }
  for (double& sum : sums) sum = sum == 0.0 ? 1.0 : sum;
  return weights;
}

// Filters widen when an image shrinks (stretch), which is what makes them antialias. The number of
// taps is the largest of all outputs, rounded up to even, since multiply-adds take two. Outputs at
// the far border move their first source back and lead with zeros, so that `first + taps` does not
// pass the last source where there are enough of them.
template <class Weight>
void weighted(const Weight& weight, const Kernel& how, const Span& span, const Shown& out,
              Axis& axis) {
  const double scale = span.length / span.resized, stretch = std::max(scale, 1.0),
               shrink = 1.0 / stretch;
  Sources all = sources({scale, how.support * stretch, span.begin, span.size}, out);
  const int count = out.count(), first = out.mirrored ? count - 1 : 0, last = count - 1 - first;
  std::vector<double> sums(count);
  const std::vector<double> weights = weigh(weight, all, shrink, sums);
  axis.kind = Axis::Kind::kWeigh;
  axis.taps = (all.taps + 1) & ~1;
  axis.begin = all.begin[first];
  axis.end = all.begin[last] + all.size[last];
  axis.first.resize(count);
  const int last_first = std::max(axis.end - axis.begin - axis.taps, 0);
  for (int i = 0; i < count; ++i) {
    const int begin = all.begin[i] - axis.begin;
    // So that no output reads past the last source; zeros lead instead
    axis.first[i] = std::min(begin, last_first);
    all.begin[i] = begin - axis.first[i];  // how many
  }
  axis.weights.assign(static_cast<size_t>(count) * axis.taps, 0);
  for (int k = 0; k < all.taps; ++k) {
    const double* const row = &weights[static_cast<size_t>(k) * count];
    for (int i = 0; i < count; ++i) all.size[i] = to_fixed(row[i] / sums[i]);
    for (int i = 0; i < count; ++i)
      if (all.begin[i] + k < axis.taps)
        axis.weights[static_cast<size_t>(i) * axis.taps + all.begin[i] + k] = all.size[i];
  }
  split_pairs(axis);
}

void weighted(Filter filter, const Span& span, const Shown& out, Axis& axis) {
  const Kernel how = kernel(filter);
  // The common one is spelled out, so that the compiler sees through it.
  if (filter == Filter::kBilinear)
    return weighted([](double x) { return triangle(x); }, how, span, out, axis);
  weighted(how.weight, how, span, out, axis);
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
