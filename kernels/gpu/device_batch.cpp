// Packs the plans of many images into one buffer, so that a batch is one copy to the device. First
// all sizes are added up, in one thread; then each image has a part of its own, and any thread may
// write any image. What lies between two images' coded bytes is zeroed, since decoders read a
// little past the end, and the buffer may be reused memory.
#include "gpu/device_batch.h"

#include <algorithm>
#include <cstring>

#include "gpu/block/decode_pixels.h"

namespace fl::jpeg {
namespace {

constexpr int64_t kAlign = 16;  // bytes

int64_t aligned(int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

template <class T>
void copy(const std::vector<T>& from, uint8_t* to) {
  if (!from.empty()) std::memcpy(to, from.data(), from.size() * sizeof(T));
}

// Where the next part begins, behind `count` T from `at` on.
template <class T>
int64_t behind(int64_t at, int64_t count) {
  return aligned(at + count * static_cast<int64_t>(sizeof(T)));
}

int64_t groups_of(const DevicePlan& plan) {
  return (static_cast<int64_t>(plan.segments.size()) + block::kDecodeLanes - 1) /
         block::kDecodeLanes;
}

}  // namespace

DeviceBatch::DeviceBatch(const std::vector<const DevicePlan*>& plans,
                         const std::vector<int64_t>& positions, int height, int width)
    : plans_(plans) {
  Totals totals;
  for (size_t n = 0; n < plans.size(); ++n) add(*plans[n], positions[n], totals);
  header_.image_count = static_cast<int32_t>(plans.size());
  header_.group_count = static_cast<int32_t>(totals.groups);
  header_.height = height;
  header_.width = width;
  header_.images = aligned(sizeof header_);
  header_.groups = behind<block::DecodeImage>(header_.images, static_cast<int64_t>(plans.size()));
  header_.segments = behind<block::DecodeGroup>(header_.groups, totals.groups);
  header_.tables = behind<block::DecodeSegment>(header_.segments, totals.segments);
  header_.numbers = behind<block::DecodeTable>(header_.tables, totals.tables);
  const int64_t first_coded = behind<int32_t>(header_.numbers, totals.numbers);
  for (block::DecodeImage& image : images_) image.coded += first_coded;
  header_.bytes = first_coded + totals.coded + block::kCodedPadding;
}

void DeviceBatch::add(const DevicePlan& plan, int64_t position, Totals& totals) {
  block::DecodeImage image = plan.image;
  image.position = position;
  image.coded = totals.coded;
  image.segments = totals.segments;
  image.numbers = totals.numbers;
  image.tables = static_cast<int32_t>(totals.tables);
  image.blocks = header_.scratch;
  image.planes = header_.scratch + plan.blocks;
  images_.push_back(image);
  groups_.push_back(totals.groups);
  totals.coded += aligned(static_cast<int64_t>(plan.coded.size()));
  totals.segments += static_cast<int64_t>(plan.segments.size());
  totals.numbers += static_cast<int64_t>(plan.numbers.size());
  totals.tables += static_cast<int64_t>(plan.tables.size());
  totals.groups += groups_of(plan);
  header_.scratch += plan.scratch();
  header_.most_blocks = std::max(header_.most_blocks, image.block_count);
  header_.most_region = std::max(header_.most_region, image.height * image.width);
  header_.most_between =
      std::max(header_.most_between, block::between_height(image) * block::between_width(image));
}

void DeviceBatch::begin(uint8_t* to) const {
  std::memcpy(to, &header_, sizeof header_);
  std::fill_n(to + header_.bytes - block::kCodedPadding, block::kCodedPadding, uint8_t{0});
}

// Touches nothing but image n's parts; safe beside other images.
void DeviceBatch::write(size_t n, uint8_t* to) const {
  const DevicePlan& plan = *plans_[n];
  const block::DecodeImage& image = images_[n];
  std::memcpy(to + header_.images + n * sizeof image, &image, sizeof image);
  const auto count = static_cast<int32_t>(plan.segments.size());
  uint8_t* group =
      to + header_.groups + groups_[n] * static_cast<int64_t>(sizeof(block::DecodeGroup));
  for (int32_t first = 0; first < count;
       first += block::kDecodeLanes, group += sizeof(block::DecodeGroup)) {
    const block::DecodeGroup its{static_cast<int32_t>(n), first,
                                 std::min(block::kDecodeLanes, count - first)};
    std::memcpy(group, &its, sizeof its);
  }
  copy(plan.segments,
       to + header_.segments + image.segments * static_cast<int64_t>(sizeof(block::DecodeSegment)));
  copy(plan.tables,
       to + header_.tables + image.tables * static_cast<int64_t>(sizeof(block::DecodeTable)));
  copy(plan.numbers, to + header_.numbers + image.numbers * static_cast<int64_t>(sizeof(int32_t)));
  copy(plan.coded, to + image.coded);
  const size_t used = plan.coded.size();
  std::fill_n(to + image.coded + used,
              aligned(static_cast<int64_t>(used)) - static_cast<int64_t>(used), uint8_t{0});
}

}  // namespace fl::jpeg
