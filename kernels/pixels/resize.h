// CROP: box, resize, window, flip of one image. Two versions with the same bits: scalar (plain
// loops over body/resize.h) and tuned (vector code for this machine).
#pragma once

#include "base/error.h"
#include "base/image.h"
#include "base/scratch.h"
#include "pixels/weights.h"

namespace fl::cpu {

enum class Target { kScalar, kBest };

// Each pass rounds to uint8, so their order shows in the pixels.
// Columns first, as Pillow up to 12.1 · rows first where Pillow 12.2 and 12.3 do so · where 13 does
enum class Order { kPillow12, kPillow12_2, kPillow13 };

struct Resampling {
  Filter filter = Filter::kBilinear;
  Order order = Order::kPillow13;
};

struct CropScratch {
  Scratch across, down;  // what the horizontal and the vertical pass made

  void trim(size_t keep) {
    across.trim(keep);
    down.trim(keep);
  }
  size_t held() const { return across.capacity() + down.capacity(); }
};

// All numbers of one crop: integers that depend on sizes and filter only, so the CPU and the GPU
// work from the same plan.
struct CropPlan {
  bool rows_first = false;
  // px of the image (at 1/scale) that are needed; empty where the window shows nothing
  Region source;
  Axis rows, columns;
};

// Throws ValueError if the box leaves the image or a size is absurd. `where` names the crop in the
// text.
void check_crop(const Crop& crop, int height, int width, int out_height, int out_width,
                const Where& where);
void check_scale(int scale, const Where& where);

// Needs a checked crop. Reuses the memory of `plan`.
void plan_crop(const Crop& crop, const Resampling& how, int out_height, int out_width,
               CropPlan& plan);

// A part of an image, resized as Pillow's `resize(size, box=…)` does it: px of the image beside the
// box count too. The box is px of the image, which may be fractions.
struct Boxed {
  int height, width;  // of the image, px
  double top, left, box_height, box_width;
  int resized_height, resized_width;
  Region window;  // of the resized box; inside it
  bool flip;      // mirror the window left-right
};

// Throws ValueError as check_crop does.
void check_boxed(const Boxed& boxed, const std::string& where);

// Needs a checked box. plan.source is px of the image.
void plan_boxed(const Boxed& boxed, const Resampling& how, CropPlan& plan);

// `source` holds exactly plan.source. Every pixel of `out` is written. scalar and tuned give the
// same bits. No allocation once the scratch memory has grown.
void crop_resize(const Image& source, const CropPlan& plan, const Pixels& out, CropScratch& scratch,
                 Target target);

Order parse_order(const std::string& name);

}  // namespace fl::cpu
