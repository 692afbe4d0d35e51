// Several images' plans in one buffer (gpu/block/decode.h): sizes first, then each image's part, by
// any thread.
#pragma once

#include <vector>

#include "gpu/device_plan.h"

namespace fl::jpeg {

class DeviceBatch {
 public:
  DeviceBatch() = default;
  // positions: of each plan's crop in the output, which is [.., height, width, 3]. The plans must
  // outlive this.
  DeviceBatch(const std::vector<const DevicePlan*>& plans, const std::vector<int64_t>& positions,
              int height, int width);

  const block::DecodeHeader& header() const { return header_; }
  size_t size() const { return images_.size(); }

  // `to`: header().bytes, at a multiple of 16. begin once; write for every n < size().
  void begin(uint8_t* to) const;
  void write(size_t n, uint8_t* to) const;

 private:
  struct Totals {  // so far: numbers of each kind, and bytes
    int64_t segments = 0, tables = 0, numbers = 0, coded = 0, groups = 0;
  };
  void add(const DevicePlan& plan, int64_t position, Totals& totals);

  block::DecodeHeader header_{};
  std::vector<const DevicePlan*> plans_;
  std::vector<block::DecodeImage> images_;
  std::vector<int64_t> groups_;  // number of each image's first
};

}  // namespace fl::jpeg
