// What the pictures of a sample need together: one region of the image, memory, and one resize,
// where all are windows of it, as those of FiveCrop and TenCrop. Its px are made once then, and
// each picture is cut from them.
#pragma once

#include <span>

#include "engine/sample.h"

namespace fl {

// The smallest region that holds what every plan needs.
Region hull(std::span<const cpu::CropPlan> plans);

// Bytes between the passes of a resize to this size, at most, and of the largest picture's.
size_t between(const cpu::CropPlan& plan, int height, int width);
size_t between(std::span<const Picture> pictures, std::span<const cpu::CropPlan> plans);

// What of the resized box all pictures show together; empty where they are not of one resize, where
// one shows something beyond it, and where that would be more px than each picture for itself.
Region shared_resize(std::span<const Picture> pictures);

// The resize itself, as far as `shown`, and mirrored or not.
Crop resize_of(const Crop& crop, const Region& shown, int flip);

// A picture as a cut from what was made of `shown`, which is mirrored where the picture is.
Crop window_of(const Picture& picture, const Region& shown);

}  // namespace fl
