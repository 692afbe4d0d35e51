// The interpreter of AUGMENT on the CPU: one image through one program, step by step.
// gpu/block/machine.h is its twin on the GPU: the same steps in the same order, so both give the
// same bits; tests compare them on every instruction.
//
// Two ideas save passes over the image. Lookups are not applied when they come: consecutive ones
// become one table, and the last one may be left to STORE (Result::pending). Ops that cannot work
// in place write to a second buffer, and the two change roles.
//
// Runs in a worker thread without the GIL. Allocates nothing once the workspace has grown, but for
// a blur's weights.
#include "augment/run.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "augment/geometry.h"
#include "augment/point.h"
#include "augment/steps.h"
#include "body/augment_tables.h"
#include "body/border.h"
#include "body/keyed.h"

namespace fl::augment {
namespace {

// Of one run. The workspace may come from other images: nothing in it is read before it is written.
class Machine {
 public:
  Machine(const Pixels& image, Workspace& workspace, const Passes& passes)
      : image_(image), work_(workspace), passes_(passes) {}

  Result result() const { return {image_, pending_ ? &work_.lut : nullptr}; }

  // Every op that looks at pixels needs this first.
  void flush() {
    if (pending_) passes_.lookup(image_, work_.lut);
    pending_ = false;
  }

  // The steps that run_step calls (augment/steps.h).
  void by_histogram(Code code);
  void contrast(float factor);
  void point(const Instruction& it) {
    look_up([&](int, int value) { return augment::point(it.code, it.arguments.data(), value); });
  }
  void saturate(float factor) { passes_.saturate(image_, factor); }
  void hue(int turn) { passes_.hue(image_, turn); }
  void flip_x() {
    replace([&](const Image& in, const Pixels& out) { passes_.flip_x(in, out); });
  }
  void flip_y();
  void sharpen(float factor) {
    replace([&](const Image& in, const Pixels& out) { passes_.sharpen(in, factor, out); });
  }
  void warp(const Instruction& it);
  void gaussian_blur(const Instruction& it);
  void box_blur(const double* a);
  void border(const Instruction& it);
  void start();
  void add(float weight);
  void end_sum(Code code, float weight);
  void blend(float factor) { passes_.blend(start_, factor, image_); }
  void custom(const Instruction& it);

 private:
  Image view() const { return {image_.data, image_.height, image_.width, image_.stride, true}; }

  // Every pixel through `table` of each channel, later: consecutive lookups become one.
  template <class Table>
  void look_up(const Table& table) {
    if (!pending_)
      for (auto& of : work_.lut.of) identity_table(of);
    for (int c = 0; c < kChannels; ++c)
      for (uint8_t& value : work_.lut.of[c]) value = table(c, value);
    pending_ = true;
  }

  // The image that `make` writes takes this one's place.
  template <class Make>
  void replace(const Make& make) {
    if (spare_ == nullptr) spare_ = work_.other.reserve(image_.stride * image_.height + kPadding);
    const Pixels out{spare_, image_.height, image_.width, image_.stride};
    make(view(), out);
    spare_ = std::exchange(image_.data, spare_);
  }

  size_t bytes() const { return static_cast<size_t>(image_.height) * image_.width * kChannels; }

  Pixels image_;
  Workspace& work_;
  const Passes& passes_;
  uint8_t* spare_ = nullptr;
  bool pending_ = false;
  Image start_;           // of a mixture
  float* sum_ = nullptr;  // [height, width, 3]
  bool summed_ = false;   // false: the sum is 0, and not written yet
};

// The histogram is counted on the pixels as they are, then moved through the pending table: 768
// lookups in place of a pass. The result is one more pending lookup.
void Machine::by_histogram(Code code) {
  Counts counts;
  passes_.count(view(), counts);
  uint8_t tables[kChannels][256];
  for (int c = 0; c < kChannels; ++c) {
    uint32_t seen[256] = {};  // the counts of what the pending lookups will make
    for (int v = 0; v < 256; ++v) seen[pending_ ? work_.lut.of[c][v] : v] += counts.of[c][v];
    code == Code::kEqualize ? equalize_table(seen, tables[c]) : autocontrast_table(seen, tables[c]);
  }
  look_up([&](int c, int value) { return tables[c][value]; });
}

// The mean is of luma, which mixes the channels, so counts of each channel do not give it: pending
// lookups are done first.
void Machine::contrast(float factor) {
  flush();
  const int grey =
      mean_luma(passes_.luma_sum(view()), static_cast<int64_t>(image_.height) * image_.width);
  look_up([&](int, int value) { return fl::blend(grey, value, factor); });
}

void Machine::warp(const Instruction& it) {
  const double* a = it.arguments.data();
  const bool nearest = it.sampling == Sampling::kNearest || whole_shift(it);
  replace([&](const Image& in, const Pixels& out) {
    if (it.code == Code::kPerspective) {
      const PerspectiveMap map{{a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]}};
      return passes_.perspective(in, map, it.sampling, it.fill, out);
    }
    if (nearest) return nearest_affine(in, a, it.fill, work_.columns, passes_, out);
    passes_.affine(in, {{a[0], a[1], a[2], a[3], a[4], a[5]}}, it.sampling, it.fill, out);
  });
}

// Weights need exp, so they are made here and not in the passes.
void Machine::gaussian_blur(const Instruction& it) {
  const auto& a = it.arguments;
  Blur how;
  how.across.resize(static_cast<size_t>(a[0]));
  how.down.resize(static_cast<size_t>(a[1]));
  gaussian(static_cast<int>(a[0]), a[2], how.across.data());
  gaussian(static_cast<int>(a[1]), a[3], how.down.data());
  replace([&](const Image& in, const Pixels& out) { passes_.blur(in, how, work_.rows, out); });
}

// A radius that rounds to no blur leaves the image as it is, without a pass.
void Machine::box_blur(const double* a) {
  for (const bool down : {false, true}) {
    const Box box(static_cast<float>(a[down ? 1 : 0]));
    for (int k = 0; k < static_cast<int>(a[2]) && box.inner != 1 << 24; ++k)
      replace(
          [&](const Image& in, const Pixels& out) { passes_.box(in, box, down, work_.rows, out); });
  }
}

// In place: what lies beyond shows px from inside, or the fill.
void Machine::border(const Instruction& it) {
  const auto how = static_cast<Border>(it.arguments[0]);
  const Inside in = inside_of(it.arguments.data());
  const size_t line = static_cast<size_t>(image_.width) * kChannels;
  const auto fill_row = [&](int y, int from, int to) {
    for (int x = from; x < to; ++x)
      std::memcpy(image_.row(y) + x * kChannels,
                  how == Border::kConstant
                      ? it.fill.data()
                      : image_.row(y) + (in.left + shown(how, x - in.left, in.width)) * kChannels,
                  kChannels);
  };
  for (int y = in.top; y < in.top + in.height; ++y) {
    fill_row(y, 0, in.left);
    fill_row(y, in.left + in.width, image_.width);
  }
  for (int y = 0; y < image_.height; ++y) {
    if (y >= in.top && y < in.top + in.height) continue;
    if (how == Border::kConstant)
      fill_row(y, 0, image_.width);
    else
      std::memcpy(image_.row(y), image_.row(in.top + shown(how, y - in.top, in.height)), line);
  }
}

void Machine::flip_y() {
  for (int a = 0, b = image_.height - 1; a < b; ++a, --b)
    std::swap_ranges(image_.row(a), image_.row(a) + image_.width * kChannels, image_.row(b));
}

// A user's function, compiled by Numba. It gets the image's own memory and as many uniforms as it
// declared, drawn below the key in its row: the numbers of rng.keyed_uniforms, so the reference can
// run it again. It runs without the GIL and cannot raise; an exception comes back as a code and
// fails the sample.
void Machine::custom(const Instruction& it) {
  const int64_t count = it.function->uniforms;
  auto* u = reinterpret_cast<double*>(
      work_.uniforms.reserve(std::max<int64_t>(1, count) * sizeof(double)));
  const Keyed keyed{static_cast<uint32_t>(it.arguments[1])};
  for (int64_t block = 0; block * 4 < count; ++block) {
    const Philox words = keyed.words(block);
    for (int64_t k = block * 4; k < std::min(count, block * 4 + 4); ++k)
      u[k] = to_unit(words.word[k % 4]);
  }
  const int32_t failed =
      it.function->call(image_.data, image_.height, image_.width, kChannels, u, count);
  if (failed != 0)
    throw std::runtime_error(
        "function " + std::to_string(static_cast<int64_t>(it.arguments[0])) +
        (failed == kOtherShape ? " returned an image of another shape" : " raised an exception"));
}

// AugMix and its like: the image is remembered, and a sum of 0 begins. The sum is not written
// before the first `add`, which then stores instead of adding.
void Machine::start() {
  uint8_t* copy = work_.start.reserve(bytes() + kPadding);
  std::memcpy(copy, image_.data, bytes());
  start_ = {copy, image_.height, image_.width, image_.stride, true};
  sum_ = reinterpret_cast<float*>(work_.sum.reserve(bytes() * sizeof(float) + kPadding));
  summed_ = false;
}

// The image joins the sum, and is the remembered one again for the next chain.
void Machine::add(float weight) {
  passes_.add(view(), weight, !summed_, sum_);
  std::memcpy(image_.data, start_.data, bytes());
  summed_ = true;
}

void Machine::end_sum(Code code, float weight) {
  pending_ = false;  // the image is written anew
  if (!summed_) std::fill_n(sum_, bytes(), 0.0f);
  summed_ = true;
  if (code == Code::kSum) return passes_.cut(sum_, image_);
  passes_.mix(start_, sum_, weight, image_);
}

const Passes& passes(cpu::Target target) {
  return target == cpu::Target::kScalar ? scalar_passes : tuned_passes;
}

}  // namespace

Result run(const Program& program, Pixels image, Workspace& workspace, cpu::Target target) {
  Machine machine(image, workspace, passes(target));
  for (const Instruction& it : program) run_step(machine, it.code, it.arguments.data(), it);
  return machine.result();
}

void apply(const Result& result, cpu::Target target) {
  if (result.pending != nullptr) passes(target).lookup(result.image, *result.pending);
}

}  // namespace fl::augment
