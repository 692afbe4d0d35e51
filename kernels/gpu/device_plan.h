// What a device needs to decode a region of a JPEG: the segments under it by the seek index,
// unstuffed, and all numbers. The host does what needs the index, the headers or floating point; it
// reads the rows under the region, decodes nothing.
#pragma once

#include <string>
#include <vector>

#include "gpu/block/decode.h"
#include "jpeg/region.h"
#include "pixels/resize.h"

namespace fl::jpeg {

struct DevicePlan {
  block::DecodeImage image{};  // offsets count from the parts below
  // The longest first, so that threads of a warp end together
  std::vector<block::DecodeSegment> segments;
  std::vector<block::DecodeTable> tables;
  std::vector<int32_t> numbers;  // of both axes
  std::vector<uint8_t> coded;
  int64_t blocks = 0, planes = 0;  // bytes of scratch memory

  int64_t scratch() const { return blocks + planes; }
};

// Of one image's scratch memory: offsets are int32
constexpr int64_t kMostDeviceBytes = int64_t{1} << 30;
constexpr int64_t kMostCodedBytes = int64_t{1} << 28;  // the same: offsets are bits in uint32

// Needs an index that has been opened for these bytes and this frame, at full scale. Empty, or why
// the CPU has to decode the image; "index refused: …" where the index lies.
std::string plan_device(Bytes bytes, const Frame& frame, const SeekIndex& index,
                        const cpu::CropPlan& crop, Workspace& workspace, DevicePlan& out);

}  // namespace fl::jpeg
