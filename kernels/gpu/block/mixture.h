// Phases of sums and blends of images; values are the image's bytes.
//
// Bit-equal to body/augment_mix.h: each thread has its own values, so no sum is split between
// threads.
#pragma once

#include "body/augment_mix.h"
#include "body/augment_point.h"
#include "gpu/block/threads.h"

namespace fl::block {

// first: what was in `sum` does not count. The image is the start again.
template <class Threads>
FL_HD void add(const Threads& threads, uint8_t* image, const uint8_t* start, float weight,
               bool first, int values, float* sum) {
  each(threads, values, [=](int i) {
    const float part = weighed(image[i], weight);
    sum[i] = first ? part : sum[i] + part;
    image[i] = start[i];
  });
}

// empty: nothing was added since the start.
template <class Threads>
FL_HD void cut(const Threads& threads, float* sum, bool empty, int values, uint8_t* out) {
  each(threads, values, [=](int i) {
    if (empty) sum[i] = 0.0f;
    out[i] = cut_to_byte(sum[i]);
  });
}

template <class Threads>
FL_HD void mix(const Threads& threads, const uint8_t* start, float* sum, bool empty, float weight,
               int values, uint8_t* out) {
  each(threads, values, [=](int i) {
    if (empty) sum[i] = 0.0f;
    out[i] = cut_to_byte(mixed(start[i], sum[i], weight));
  });
}

template <class Threads>
FL_HD void blend_images(const Threads& threads, const uint8_t* start, float factor, int values,
                        uint8_t* image) {
  each(threads, values, [=](int i) { image[i] = blend(start[i], image[i], factor); });
}

}  // namespace fl::block
