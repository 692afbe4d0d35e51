// CROP from its passes: plan both directions, run what is not a plain copy, fill what the window
// shows beyond the image.
//
// Each pass rounds to uint8. Between them lies one image of at most kMaxPixels pixels in the
// caller's scratch memory. The second pass works row by row straight into the output. All versions
// give Pillow's bits (Image.resize with `box`, then crop and flip), and read nothing outside
// `source` but its padding.
#include "pixels/resize.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "pixels/passes.h"

namespace fl::cpu {
namespace {

constexpr int kMaxResized =
    1 << 26;  // px: 65,500 (a JPEG's longest side) times 1,024; only what the window shows is made

std::string by(int64_t height, int64_t width) {
  return std::to_string(height) + "x" + std::to_string(width);
}

// Nearest, and mirrored columns without a resize.
void pick_columns(const Image& in, const Axis& axis, const Pixels& out) {
  for (int y = 0; y < in.height; ++y) {
    uint8_t* to = out.row(y);
    for (int x = 0; x < axis.count; ++x, to += kChannels) {
      if (axis.first[x] == Axis::kOutside)
        std::memset(to, 0, kChannels);
      else
        std::memcpy(to, in.row(y) + axis.first[x] * kChannels, kChannels);
    }
  }
}

// Vector loads may run past the last row, which the caller's memory does not allow: lend it a
// padded copy.
void last_row_apart(const Image& in, const Axis& axis, const Pixels& out, uint8_t* padded_row) {
  const size_t bytes = static_cast<size_t>(in.width) * kChannels;
  Image most = in, last = {padded_row, 1, in.width, static_cast<ptrdiff_t>(bytes), true};
  most.height -= 1;
  most.padded = true;  // by the last row, if it is long enough
  std::memcpy(padded_row, in.row(in.height - 1), bytes);
  if (most.height > 0) tuned::horizontal(most, axis, out);
  tuned::horizontal(last, axis, {out.row(in.height - 1), 1, out.width, out.stride});
}

// Columns of every needed row; returns the rows that the vertical pass reads. A tuned pass reads
// whole vectors, up to kPadding bytes past a row's last pixel. If the caller's image is not padded,
// only its last row can reach past the memory, so that row is copied; of an image narrower than a
// vector all rows are.
Image across(const Image& source, const Axis& axis, Scratch& scratch, Target target) {
  if (axis.kind == Axis::Kind::kCopy) return source;
  const size_t stride = row_bytes(axis.count), source_row = row_bytes(source.width);
  const bool narrow = static_cast<size_t>(source.width) * kChannels < kPadding;
  const size_t copied = source.padded ? 0 : narrow ? source_row * source.height : source_row;
  uint8_t* memory = scratch.reserve(stride * source.height + copied + kPadding);
  const Pixels out{memory, source.height, axis.count, static_cast<ptrdiff_t>(stride)};
  uint8_t* extra = memory + stride * source.height;
  if (axis.kind == Axis::Kind::kPick) {
    pick_columns(source, axis, out);
  } else if (target == Target::kScalar) {
    scalar::horizontal(source, axis, out);
  } else if (source.padded) {
    tuned::horizontal(source, axis, out);
  } else if (narrow) {
    Image whole{extra, source.height, source.width, static_cast<ptrdiff_t>(source_row), true};
    for (int y = 0; y < source.height; ++y)
      std::memcpy(extra + y * source_row, source.row(y), source.width * kChannels);
    tuned::horizontal(whole, axis, out);
  } else {
    last_row_apart(source, axis, out, extra);
  }
  return {memory, source.height, axis.count, static_cast<ptrdiff_t>(stride), true};
}

void make_row(const Image& in, const Axis& axis, int row, uint8_t* out, Target target) {
  const int bytes = in.width * kChannels;
  if (axis.kind == Axis::Kind::kWeigh) {
    const auto pass = target == Target::kScalar ? scalar::vertical_row : tuned::vertical_row;
    pass(in.data, in.stride, axis, row, out, bytes);
  } else if (axis.kind == Axis::Kind::kPick && axis.first[row] == Axis::kOutside) {
    std::memset(out, 0, bytes);
  } else {
    std::memcpy(out, in.row(axis.kind == Axis::Kind::kCopy ? row : axis.first[row]), bytes);
  }
}

// Rows of every needed column. Only with rows first: all outputs of the vertical pass, before the
// horizontal one.
Image down(const Image& source, const Axis& axis, Scratch& scratch, Target target) {
  const size_t stride = row_bytes(source.width);
  uint8_t* memory = scratch.reserve(stride * axis.count + kPadding);
  for (int y = 0; y < axis.count; ++y) make_row(source, axis, y, memory + y * stride, target);
  return {memory, axis.count, source.width, static_cast<ptrdiff_t>(stride), true};
}

// One direction of a box in an image at 1/scale: the px that it touches, and where among them it
// lies. Exact in double.
struct Touched {
  int first, size;       // px
  double begin, length;  // of the box, from `first` on

  Touched(int at, int pixels, int scale)
      : first(at / scale),
        size(shrunk(at + pixels, scale) - first),
        begin(static_cast<double>(at % scale) / scale),
        length(static_cast<double>(pixels) / scale) {}
};

// Pillow 13 (pull request 9549) makes the rows first where that saves work; the roundings then
// differ. The rule: more rows are dropped than twice as many columns.
bool is_mostly_shorter(int rows, int columns, int resized_height, int resized_width) {
  const int64_t shorter = int64_t{rows} - resized_height,
                narrower = int64_t{columns} - resized_width;
  return shorter > 0 && shorter > 2 * narrower;
}

constexpr int kTall = 100;

// Pillow 12.2 and 12.3 (pull request 9524) make the rows of images first that are over kTall times
// as tall as wide.
bool makes_rows_first(Order order, int rows, int columns, int resized_height, int resized_width) {
  if (order == Order::kPillow12) return false;
  if (order == Order::kPillow13)
    return is_mostly_shorter(rows, columns, resized_height, resized_width);
  return rows > int64_t{kTall} * columns && resized_height < rows;
}

bool is_inside(const Region& r, int height, int width) {
  return !r.empty() && r.top >= 0 && r.left >= 0 && r.top <= height - r.height &&
         r.left <= width - r.width;
}

bool is_inside(double first, double length, int size) {
  return first >= 0 && length > 0 && first + length <= size;  // false for what is no number
}

}  // namespace

// Everything that plan_crop and crop_resize rely on. Numbers come from Python as int32, so sums are
// made in 64 bits.
void check_crop(const Crop& crop, int height, int width, int out_height, int out_width,
                const Where& where) {
  const int64_t bottom = static_cast<int64_t>(crop.top) + crop.height,
                right = static_cast<int64_t>(crop.left) + crop.width;
  if (crop.top < 0 || crop.left < 0 || crop.height < 1 || crop.width < 1 || bottom > height ||
      right > width) {
    refuse(where, "the box leaves the image",
           "top " + std::to_string(crop.top) + ", left " + std::to_string(crop.left) + ", size " +
               by(crop.height, crop.width),
           "a box inside " + by(height, width));
  }
  const auto bad = [](int64_t size) { return size < 1 || size > kMaxResized; };
  if (bad(crop.resized_height) || bad(crop.resized_width))
    refuse(where, "resized size", by(crop.resized_height, crop.resized_width),
           "1.." + std::to_string(kMaxResized) + " px");
  const int64_t shown = std::min(crop.resized_width, out_width);
  if (crop.height * shown > kMaxPixels || static_cast<int64_t>(out_height) * out_width > kMaxPixels)
    refuse(where, "too many pixels between the passes", by(crop.height, shown),
           "at most " + std::to_string(kMaxPixels));
  if (crop.flip != 0 && crop.flip != 1) refuse(where, "flip", std::to_string(crop.flip), "0 or 1");
  check_scale(crop.scale, where);
}

void check_scale(int scale, const Where& where) {
  if (scale != 1 && scale != 2 && scale != 4 && scale != 8)
    refuse(where, "scale", std::to_string(scale), "1, 2, 4 or 8");
}

void plan_crop(const Crop& crop, const Resampling& how, int out_height, int out_width,
               CropPlan& plan) {
  const Touched rows(crop.top, crop.height, crop.scale), columns(crop.left, crop.width, crop.scale);
  plan_axis(
      how.filter,
      {rows.size, crop.resized_height, crop.window_top, out_height, false, rows.begin, rows.length},
      plan.rows);
  plan_axis(how.filter,
            {columns.size, crop.resized_width, crop.window_left, out_width, crop.flip == 1,
             columns.begin, columns.length},
            plan.columns);
  plan.rows_first =
      makes_rows_first(how.order, rows.size, columns.size, crop.resized_height, crop.resized_width);
  plan.source = {};
  if (plan.rows.begin >= plan.rows.end || plan.columns.begin >= plan.columns.end) return;
  plan.source = {rows.first + plan.rows.begin, columns.first + plan.columns.begin,
                 plan.rows.end - plan.rows.begin, plan.columns.end - plan.columns.begin};
}

void check_boxed(const Boxed& boxed, const std::string& where) {
  const auto bad = [](int64_t size) { return size < 1 || size > kMaxResized; };
  if (bad(boxed.resized_height) || bad(boxed.resized_width))
    refuse(where, "resized size", by(boxed.resized_height, boxed.resized_width),
           "1.." + std::to_string(kMaxResized) + " px");
  if (!is_inside(boxed.top, boxed.box_height, boxed.height) ||
      !is_inside(boxed.left, boxed.box_width, boxed.width))
    refuse(where, "the box leaves the image",
           "top " + std::to_string(boxed.top) + ", left " + std::to_string(boxed.left),
           "a box inside " + by(boxed.height, boxed.width));
  const Region& window = boxed.window;
  if (!is_inside(window, boxed.resized_height, boxed.resized_width))
    refuse(where, "the window leaves the resized image", by(window.height, window.width),
           "a window inside " + by(boxed.resized_height, boxed.resized_width));
  const int64_t between =
      std::max(int64_t{boxed.height} * window.width, int64_t{boxed.width} * window.height);
  if (between > kMaxPixels || int64_t{window.height} * window.width > kMaxPixels)
    refuse(where, "too many pixels between the passes", std::to_string(between),
           "at most " + std::to_string(kMaxPixels));
}

void plan_boxed(const Boxed& boxed, const Resampling& how, CropPlan& plan) {
  const Region& window = boxed.window;
  plan_axis(how.filter,
            {boxed.height, boxed.resized_height, window.top, window.height, false, boxed.top,
             boxed.box_height},
            plan.rows);
  plan_axis(how.filter,
            {boxed.width, boxed.resized_width, window.left, window.width, boxed.flip, boxed.left,
             boxed.box_width},
            plan.columns);
  plan.rows_first = makes_rows_first(how.order, boxed.height, boxed.width, boxed.resized_height,
                                     boxed.resized_width);
  plan.source = {};
  if (plan.rows.begin >= plan.rows.end || plan.columns.begin >= plan.columns.end) return;
  plan.source = {plan.rows.begin, plan.columns.begin, plan.rows.end - plan.rows.begin,
                 plan.columns.end - plan.columns.begin};
}

Order parse_order(const std::string& name) {
  if (name == "pillow12") return Order::kPillow12;
  if (name == "pillow12.2") return Order::kPillow12_2;
  if (name == "pillow13") return Order::kPillow13;
  refuse("order", "unknown", '"' + name + '"', "pillow12, pillow12.2 or pillow13");
}

void crop_resize(const Image& source, const CropPlan& plan, const Pixels& out, CropScratch& scratch,
                 Target target) {
  const size_t line = static_cast<size_t>(out.width) * kChannels;
  if (plan.source.empty()) {
    for (int y = 0; y < out.height; ++y) std::memset(out.row(y), 0, line);
    return;
  }
  static const Axis kDone;  // a copy
  const Image in = plan.rows_first ? down(source, plan.rows, scratch.down, target) : source;
  const Image rows = across(in, plan.columns, scratch.across, target);
  const Axis& left = plan.rows_first ? kDone : plan.rows;
  const size_t before = static_cast<size_t>(plan.columns.offset) * kChannels;
  const size_t after = before + static_cast<size_t>(plan.columns.count) * kChannels;
  for (int y = 0; y < out.height; ++y) {
    uint8_t* to = out.row(y);
    const int row = y - plan.rows.offset;
    if (row < 0 || row >= plan.rows.count) {
      std::memset(to, 0, line);
      continue;
    }
    std::memset(to, 0, before);
    make_row(rows, left, row, to + before, target);
    std::memset(to + after, 0, line - after);
  }
}

}  // namespace fl::cpu
