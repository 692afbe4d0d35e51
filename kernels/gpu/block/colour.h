// Phases that change px where they stand, and those that count values.
//
// Bit-equal to augment/scalar.cpp. Counts and sums are whole numbers, so the order in which threads
// add them does not show.
#pragma once

#include "body/augment_hue.h"
#include "body/augment_point.h"
#include "body/augment_tables.h"
#include "gpu/block/memory.h"
#include "gpu/block/threads.h"

namespace fl::block {

// px that a thread counts one after the other: equal neighbours cost one addition
constexpr int kRun = 16;

template <class Threads>
FL_HD void look_up(const Threads& threads, uint8_t* image, int pixels, const uint8_t* lut) {
  each(threads, pixels, [=](int i) {
    for (int c = 0; c < 3; ++c) image[3 * i + c] = lut[c * kValues + image[3 * i + c]];
  });
}

template <class Threads>
FL_HD void saturate(const Threads& threads, uint8_t* image, int pixels, float factor) {
  each(threads, pixels, [=](int i) {
    uint8_t* px = image + 3 * i;
    const int grey = luma(px[0], px[1], px[2]);
    for (int c = 0; c < 3; ++c) px[c] = blend(grey, px[c], factor);
  });
}

template <class Threads>
FL_HD void hue(const Threads& threads, uint8_t* image, int pixels, int turn) {
  each(threads, pixels, [=](int i) { turn_hue(image + 3 * i, turn, image + 3 * i); });
}

// lut: null, or what the values are looked up in before they count.
FL_HD int looked_up(const uint8_t* lut, int channel, int value) {
  return lut == nullptr ? value : lut[channel * kValues + value];
}

// Counts, and the lowest and highest value of each channel.
template <class Threads>
FL_HD void count(const Threads& threads, const uint8_t* image, int pixels, const uint8_t* lut,
                 State* state) {
  each(threads, kTables, [=](int i) {
    state->counts[i] = 0;
    if (i < 3) state->low[i] = 255;
    if (i < 3) state->high[i] = 0;
  });
  each(threads, (pixels + kRun - 1) / kRun, [=](int run) {
    const int end = run * kRun + kRun < pixels ? run * kRun + kRun : pixels;
    for (int c = 0; c < 3; ++c) {
      int value = image[3 * run * kRun + c];
      uint32_t times = 0;
      for (int i = run * kRun; i < end; ++i) {
        const int next = image[3 * i + c];
        if (next != value) {
          atomic_add(&state->counts[c * kValues + looked_up(lut, c, value)], times);
          times = 0;
        }
        value = next;
        ++times;
      }
      atomic_add(&state->counts[c * kValues + looked_up(lut, c, value)], times);
    }
  });
  each(threads, kTables, [=](int i) {
    if (state->counts[i] == 0) return;
    atomic_min(&state->low[i / kValues], i % kValues);
    atomic_max(&state->high[i / kValues], i % kValues);
  });
}

// Each thread adds up the counts below its own value; a running sum would need one more phase for
// 256 numbers.
FL_HD uint8_t equalized(const State& state, int pixels, int channel, int value) {
  const uint32_t* counts = state.counts + channel * kValues;
  int64_t below = 0;
  for (int v = 0; v < value; ++v) below += counts[v];
  return evened(value, below, equalize_step(pixels, counts[state.high[channel]]));
}

// 32 bits would overflow for large images, so the lower 16 bits and the rest are added apart, by
// atomics of 32 bits. There are as many slots as banks, so that threads rarely wait for each other.
template <class Threads>
FL_HD void sum_luma(const Threads& threads, const uint8_t* image, int pixels, const uint8_t* lut,
                    State* state) {
  each(threads, kSlots, [=](int i) { state->sum_low[i] = state->sum_high[i] = 0; });
  threads([=](int thread, int all) {
    uint64_t sum = 0;
    for (int i = thread; i < pixels; i += all) {
      const uint8_t* px = image + 3 * i;
      sum += luma(looked_up(lut, 0, px[0]), looked_up(lut, 1, px[1]), looked_up(lut, 2, px[2]));
    }
    atomic_add(&state->sum_low[thread % kSlots], static_cast<uint32_t>(sum & 0xffff));
    atomic_add(&state->sum_high[thread % kSlots], static_cast<uint32_t>(sum >> 16));
  });
}

FL_HD int summed_grey(const State& state, int pixels) {
  int64_t sum = 0;
  for (int i = 0; i < kSlots; ++i)
    sum += (static_cast<int64_t>(state.sum_high[i]) << 16) + state.sum_low[i];
  return mean_luma(sum, pixels);
}

}  // namespace fl::block
