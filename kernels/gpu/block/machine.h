// A program on one image by a block of threads: the same steps, in the same order, as
// augment/run.cpp.
//
// The functions called here are phases (threads.h): all threads of the block enter them, and wait
// for each other before they return. Pending lookups, the exchange of the two images and the sum
// that is not written yet are as in run.cpp, whose head says why.
#pragma once

#include <cstring>

#include "augment/point.h"
#include "augment/steps.h"
#include "gpu/block/blur.h"
#include "gpu/block/colour.h"
#include "gpu/block/memory.h"
#include "gpu/block/mixture.h"
#include "gpu/block/program.h"
#include "gpu/block/space.h"
#include "gpu/block/threads.h"

namespace fl::block {

// Whole chunks where both ends allow it.
template <class Threads>
FL_HD void copy(const Threads& threads, const uint8_t* from, int bytes, uint8_t* to) {
  constexpr int kChunk = 16;
  const bool even =
      (reinterpret_cast<uintptr_t>(from) | reinterpret_cast<uintptr_t>(to)) % kChunk == 0;
  const int chunks = even ? bytes / kChunk : 0;
  threads([=](int thread, int all) {
    for (int i = thread; i < chunks; i += all)
      std::memcpy(__builtin_assume_aligned(to + i * kChunk, kChunk),
                  __builtin_assume_aligned(from + i * kChunk, kChunk), kChunk);
    for (int i = chunks * kChunk + thread; i < bytes; i += all) to[i] = from[i];
  });
}

// An instruction, and the tables that some instructions point into.
struct Step {
  const Op& op;
  const uint8_t* extras;
};

// Every thread of a block has one, and all are alike: its members change by the program alone.
template <class Threads>
class Machine {
 public:
  FL_HD Machine(const Threads& threads, const Memory& memory, int height, int width)
      : threads_(threads),
        memory_(memory),
        image_(memory.image),
        other_(memory.other),
        height_(height),
        width_(width),
        pixels_(height * width),
        values_(height * width * 3) {}

  FL_HD void run(const uint8_t* from, const Op* op, const Op* end, const uint8_t* extras) {
    copy(threads_, from, values_, image_);
    for (; op != end; ++op) augment::run_step(*this, op->code, op->a, Step{*op, extras});
    leave();
  }

  // Every op that looks at pixels needs this first.
  FL_HD void flush() {
    if (pending_) look_up(threads_, image_, pixels_, memory_.state->lut);
    pending_ = false;
  }

  // The steps that run_step calls (augment/steps.h).

  // Counts see pending lookups as they count, so nothing has to be flushed.
  FL_HD void by_histogram(augment::Code code) {
    const State* state = memory_.state;
    const int pixels = pixels_;
    count(threads_, image_, pixels, lut(), memory_.state);
    if (code == augment::Code::kEqualize)
      look_up_later([=](int c, int value) { return equalized(*state, pixels, c, value); });
    else
      look_up_later(
          [=](int c, int value) { return stretched(value, state->low[c], state->high[c]); });
  }

  // Here the mean is taken through the pending table, since a pass costs more than a lookup per
  // value.
  FL_HD void contrast(float factor) {
    const State* state = memory_.state;
    const int pixels = pixels_;
    sum_luma(threads_, image_, pixels, lut(), memory_.state);
    look_up_later(
        [=](int, int value) { return fl::blend(summed_grey(*state, pixels), value, factor); });
  }

  FL_HD void point(const Step& it) {
    const Op* op = &it.op;
    look_up_later([=](int, int value) { return augment::point(op->code, op->a, value); });
  }

  FL_HD void saturate(float factor) { block::saturate(threads_, image_, pixels_, factor); }
  FL_HD void hue(int turn) { block::hue(threads_, image_, pixels_, turn); }
  FL_HD void flip_x() { block::flip_x(threads_, image_, height_, width_); }
  FL_HD void flip_y() { block::flip_y(threads_, image_, height_, width_); }

  FL_HD void sharpen(float factor) {
    block::sharpen(threads_, view(), factor, other_);
    swap();
  }

  FL_HD void warp(const Step& it) {
    block::warp(threads_, view(), it.op, it.extras, other_);
    swap();
  }

  FL_HD void gaussian_blur(const Step& it) {
    const Op& op = it.op;
    block::gaussian_blur(threads_, view(), static_cast<int>(op.a[0]), static_cast<int>(op.a[1]),
                         reinterpret_cast<const float*>(it.extras + op.extra), memory_.rows,
                         other_);
    swap();
  }

  FL_HD void box_blur(const double* a) {
    for (int axis = 0; axis < 2; ++axis) {
      const Box how(static_cast<float>(a[axis]));
      for (int k = 0; k < static_cast<int>(a[2]) && how.inner != 1 << 24; ++k) {
        box(threads_, view(), how, axis == 1, other_);
        swap();
      }
    }
  }

  FL_HD void border(const Step& it) { block::border(threads_, image_, height_, width_, it.op); }

  FL_HD void start() {
    copy(threads_, image_, values_, memory_.start);
    empty_ = true;
  }

  FL_HD void add(float weight) {
    block::add(threads_, image_, memory_.start, weight, empty_, values_, memory_.sum);
    empty_ = false;
  }

  FL_HD void end_sum(augment::Code code, float weight) {
    pending_ = false;  // the image is written anew
    if (code == augment::Code::kSum)
      cut(threads_, memory_.sum, empty_, values_, image_);
    else
      mix(threads_, memory_.start, memory_.sum, empty_, weight, values_, image_);
    empty_ = false;
  }

  FL_HD void blend(float factor) { blend_images(threads_, memory_.start, factor, values_, image_); }

  FL_HD void custom(const Step&) {}  // never comes here: DevicePrograms refuses users' functions

 private:
  FL_HD Texture view() const {
    return {image_, height_, width_, static_cast<ptrdiff_t>(width_) * 3};
  }
  FL_HD const uint8_t* lut() const { return pending_ ? memory_.state->lut : nullptr; }

  FL_HD void swap() {
    uint8_t* previous = other_;
    other_ = image_;
    image_ = previous;
  }

  // Every value through `table`, later: consecutive lookups become one.
  template <class Table>
  FL_HD void look_up_later(const Table& table) {
    uint8_t* to = memory_.state->lut;
    const uint8_t* before = lut();
    each(threads_, kTables, [=](int i) {
      const int c = i / kValues, value = i % kValues;
      to[i] = table(c, looked_up(before, c, value));
    });
    pending_ = true;
  }

  // What the ops have made, and the lookups that are left, to the output.
  FL_HD void leave() {
    if (image_ == memory_.out) return flush();
    if (!pending_) return copy(threads_, image_, values_, memory_.out);
    const uint8_t *from = image_, *table = memory_.state->lut;
    uint8_t* to = memory_.out;
    each(threads_, pixels_, [=](int i) {
      for (int c = 0; c < 3; ++c) to[3 * i + c] = table[c * kValues + from[3 * i + c]];
    });
  }

  const Threads threads_;
  const Memory memory_;
  uint8_t *image_, *other_;
  const int height_, width_, pixels_, values_;
  bool pending_ = false;  // whether lookups are still to be done
  bool empty_ = true;     // whether the sum is 0, and not written yet
};

}  // namespace fl::block
