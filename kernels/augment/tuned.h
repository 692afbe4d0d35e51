// The tuned passes that stand in files of their own.
#pragma once

#include "augment/passes.h"

namespace fl::augment::tuned {

void lookup(const Pixels& image, const Lut& lut);
int64_t luma_sum(const Image& image);
void saturate(const Pixels& image, float factor);
void sharpen(const Image& in, float factor, const Pixels& out);
void hue(const Pixels& image, int turn);
void fixed(const Image& in, const FixedMap& map, const Fill& fill, const Pixels& out);
void affine(const Image& in, const AffineMap& map, Sampling how, const Fill& fill,
            const Pixels& out);
void perspective(const Image& in, const PerspectiveMap& map, Sampling how, const Fill& fill,
                 const Pixels& out);
void box(const Image& in, const Box& box, bool down, Scratch& row, const Pixels& out);
void blur(const Image& in, const Blur& how, Scratch& rows, const Pixels& out);
void add(const Image& image, float weight, bool first, float* sum);
void cut(const float* sum, const Pixels& out);
void mix(const Image& start, const float* sum, float weight, const Pixels& out);
void blend(const Image& start, float factor, const Pixels& image);

}  // namespace fl::augment::tuned
