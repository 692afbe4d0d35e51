// One row of pixels at a time, each component upsampled into a line of its own, then all of them to
// RGB. Nothing outside the planes is read: rows at the image's border stand in for missing
// neighbours, as in libjpeg.
#include "jpeg/region_rows.h"

#include <algorithm>

namespace fl::jpeg {

Rows::Rows(const Frame& frame, const Region& region, const Planes& planes, Scratch& lines,
           cpu::Target target)
    : frame_(frame),
      region_(region),
      planes_(planes),
      ops_(pixel_ops(target)),
      lines_(nullptr),
      step_((region.width + kPadding - 1) / kPadding * kPadding) {
  lines_ = lines.reserve(step_ * frame.components);
}

void Rows::make(int y, uint8_t* out) const {
  const uint8_t* first = component_line(0, y);
  if (frame_.components == 1) return ops_.grey_row(first, out, region_.width);
  const auto join = frame_.ycc ? ops_.rgb_row : ops_.interleave_row;
  join(first, component_line(1, y), component_line(2, y), out, region_.width);
}

// The component's values for row y, one per pixel of the region.
const uint8_t* Rows::component_line(int component, int y) const {
  const Component& part = frame_.component[component];
  const int begin = region_.left, end = region_.left + region_.width;
  const int from = begin / part.across - planes_.plane(component).left, own = y / part.down;
  const int beside = std::clamp(own + far_row(y), 0, part.height - 1);
  const uint8_t* near = planes_.line(component, own) + from;
  uint8_t* out = lines_ + component * step_;
  switch (part.upsampling) {
    case Upsampling::kNone:
      return near;
    case Upsampling::kH2V1:
      ops_.upsample_h2v1(near, {begin, end, part.width}, out);
      break;
    case Upsampling::kH2V2:
      ops_.upsample_h2v2(near, planes_.line(component, beside) + from, {begin, end, part.width},
                         out);
      break;
    case Upsampling::kH1V2:
      ops_.upsample_h1v2(near, planes_.line(component, beside) + from, far_row(y) > 0,
                         region_.width, out);
      break;
    case Upsampling::kRepeat:
      repeat_samples(near, part.across, begin, end, out);
      break;
  }
  return out;
}

}  // namespace fl::jpeg
