// Each px of a resize depends on its place alone, so a window of a larger part has the same bits.
#include "engine/together.h"

#include <algorithm>
#include <tuple>

namespace fl {
namespace {

auto resize_key(const Steps& steps) {
  const Crop& it = steps.crop;
  return std::tuple(it.top, it.left, it.height, it.width, it.resized_height, it.resized_width,
                    it.scale, steps.resampling.filter, steps.resampling.order);
}

bool resizes(const Crop& crop) {
  return crop.scale != 1 || crop.height != crop.resized_height || crop.width != crop.resized_width;
}

bool inside(const Crop& crop, const Output& output) {
  return crop.window_top >= 0 && crop.window_left >= 0 &&
         crop.window_top <= crop.resized_height - output.height &&
         crop.window_left <= crop.resized_width - output.width;
}

}  // namespace

Region hull(std::span<const cpu::CropPlan> plans) {
  Region out;
  for (const cpu::CropPlan& plan : plans) {
    const Region& it = plan.source;
    if (it.empty()) continue;
    if (out.empty()) out = it;
    const int bottom = std::max(out.top + out.height, it.top + it.height);
    const int right = std::max(out.left + out.width, it.left + it.width);
    out.top = std::min(out.top, it.top);
    out.left = std::min(out.left, it.left);
    out.height = bottom - out.top;
    out.width = right - out.left;
  }
  return out;
}

size_t between(const cpu::CropPlan& plan, int height, int width) {
  const Region& source = plan.source;
  const int64_t px = std::max(int64_t{source.height} * std::min(width, source.width),
                              int64_t{source.width} * std::min(height, source.height));
  return static_cast<size_t>(std::max<int64_t>(px, 0)) * kChannels;
}

size_t between(std::span<const Picture> pictures, std::span<const cpu::CropPlan> plans) {
  size_t most = 0;
  for (size_t i = 0; i < pictures.size(); ++i) {
    const Output& out = pictures[i].output;
    most = std::max(most, between(plans[i], out.height, out.width));
  }
  return most;
}

Region shared_resize(std::span<const Picture> pictures) {
  const Steps& one = pictures.front().steps;
  if (pictures.size() < 2 || !resizes(one.crop)) return {};
  int top = one.crop.window_top, left = one.crop.window_left, bottom = top, right = left;
  int64_t each = 0;
  for (const auto& [steps, output] : pictures) {
    if (resize_key(steps) != resize_key(one) || !inside(steps.crop, output)) return {};
    top = std::min(top, steps.crop.window_top);
    left = std::min(left, steps.crop.window_left);
    bottom = std::max(bottom, steps.crop.window_top + output.height);
    right = std::max(right, steps.crop.window_left + output.width);
    each += int64_t{output.height} * output.width;
  }
  const Region shown{top, left, bottom - top, right - left};
  return int64_t{shown.height} * shown.width < each ? shown : Region{};
}

Crop resize_of(const Crop& crop, const Region& shown, int flip) {
  Crop out = crop;
  out.window_top = shown.top;
  out.window_left = shown.left;
  out.flip = flip;
  return out;
}

Crop window_of(const Picture& picture, const Region& shown) {
  const auto& [steps, output] = picture;
  const int top = steps.crop.window_top - shown.top, left = steps.crop.window_left - shown.left,
            mirrored = shown.width - left - output.width;
  return {top,
          steps.crop.flip == 1 ? mirrored : left,
          output.height,
          output.width,
          output.height,
          output.width,
          0,
          0,
          0,
          1};
}

}  // namespace fl
