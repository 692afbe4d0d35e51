// The GPU's JPEG decoder: what the host plans and packs, decoded by an emulated block, against the
// CPU's decoder and resize with the same index: the same crop, or refused by both.
//
// Input: 20 bytes (box; kind of index and batch; step; two changes of the index, each an offset and
// a value; crop; order of the threads), the file.
//
// A lying index may pass the host's checks; then the device's flag and the CPU's refusal must
// agree.
#include <numeric>

#include "fuzz/check.h"
#include "fuzz/images.h"
#include "fuzz/seal.h"
#include "gpu/block/emulated_decode.h"
#include "gpu/device_batch.h"
#include "pixels/resize.h"

namespace fl::fuzz {
namespace {

constexpr size_t kChoices = 20;

struct File {
  std::vector<uint8_t> bytes, packed;
  jpeg::Frame frame;
  jpeg::SeekIndex index;
};

struct How {
  Crop crop;
  cpu::Resampling by;
  int height, width;  // of the output, px
  cpu::Target target;
};

// Filled with what the CPU makes of it, and whether it does.
struct Expected {
  bool good = false;
  std::vector<uint8_t> pixels;
};

How how_of(const uint8_t* n, int height, int width) {
  const Region box = region_of(n, height, width);
  How how;
  how.crop = {box.top,   box.left, box.height, box.width,      box.height,
              box.width, 0,        0,          n[18] >> 3 & 1, 1};
  if (n[12] != 0) how.crop.resized_height = 1 + n[12] % 64;
  if (n[13] != 0) how.crop.resized_width = 1 + n[13] % 64;
  how.height = 1 + n[14] % 48;
  how.width = 1 + n[15] % 48;
  how.crop.window_top = static_cast<int8_t>(n[16]);
  how.crop.window_left = static_cast<int8_t>(n[17]);
  how.by = {static_cast<Filter>(n[18] % 8 % 6),
            static_cast<cpu::Order>(n[18] / 16 % 4 % 3)};
  how.target = n[18] >> 6 & 1 ? cpu::Target::kScalar : cpu::Target::kBest;
  return how;
}

Expected by_cpu(const File& file, const How& how) {
  static jpeg::Workspace workspace;
  static cpu::CropScratch scratch;
  cpu::CropPlan plan;
  cpu::plan_crop(how.crop, how.by, how.height, how.width, plan);
  Expected out{false,
               std::vector<uint8_t>(static_cast<size_t>(how.height) * how.width * kChannels)};
  if (plan.source.empty()) return out;
  const auto source =
      jpeg::decode_region(file.bytes, file.frame, &file.index, plan.source, workspace, how.target);
  out.good = source.ok();
  const Pixels to{out.pixels.data(), how.height, how.width, ptrdiff_t{how.width} * kChannels};
  if (out.good) cpu::crop_resize(source.image, plan, to, scratch, how.target);
  return out;
}

std::string plan(const File& file, const How& how, jpeg::DevicePlan& out) {
  static jpeg::Workspace workspace;
  cpu::CropPlan crop;
  cpu::plan_crop(how.crop, how.by, how.height, how.width, crop);
  return jpeg::plan_device(file.bytes, file.frame, file.index, crop, workspace, out);
}

// A good file beside the one in question.
File neighbour() {
  File out;
  out.bytes = pictures()[9].bytes;  // 7x17 px, 4:2:0
  out.packed = jpeg::build_index(out.bytes, 1).index;
  want(jpeg::parse_frame(out.bytes, out.frame).empty() &&
           out.index.open(out.packed, out.bytes, out.frame).empty(),
       "the neighbour is no good file");
  return out;
}

// Of several sizes; forward or backward.
std::vector<int32_t> turns(uint8_t choice) {
  constexpr int kThreads[] = {1, 7, 32, 128};
  std::vector<int32_t> out(kThreads[choice % 4]);
  std::iota(out.begin(), out.end(), 0);
  if (choice & 4) std::reverse(out.begin(), out.end());
  return out;
}

struct Batch {
  std::vector<const jpeg::DevicePlan*> plans;
  std::vector<const Expected*> expected;

  void add(const jpeg::DevicePlan& plan, const Expected& its) {
    plans.push_back(&plan);
    expected.push_back(&its);
  }
  void check(const How& how, uint8_t choice) const;
};

void Batch::check(const How& how, uint8_t choice) const {
  std::vector<int64_t> positions(plans.size());
  std::iota(positions.begin(), positions.end(), 0);
  const jpeg::DeviceBatch batch(plans, positions, how.height, how.width);
  const block::DecodeHeader& header = batch.header();
  const size_t bytes = expected[0]->pixels.size();
  const block::Guarded packed(header.bytes), scratch(header.scratch),
      out(static_cast<int64_t>(bytes * plans.size()));
  batch.begin(packed.data());
  for (size_t n = 0; n < batch.size(); ++n) batch.write(n, packed.data());
  std::vector<uint32_t> flags(plans.size());
  const std::vector<int32_t> order = turns(choice);
  block::decode(
      block::EmulatedThreads{order.data(), static_cast<int>(order.size())}, header,
      block::DecodeBatch(header, packed.data(), scratch.data(), out.data(), flags.data()));
  for (size_t n = 0; n < plans.size(); ++n) {
    want((flags[n] == 0) == expected[n]->good,
         flags[n] == 0 ? "the CPU refuses it" : "the CPU takes it");
    if (flags[n] != 0) continue;
    want(std::memcmp(out.data() + n * bytes, expected[n]->pixels.data(), bytes) == 0,
         "the CPU gives other pixels");
  }
}

// The file alone, or between neighbours.
void check(const File& file, const How& how, uint8_t neighbours, uint8_t choice) {
  const Expected expected = by_cpu(file, how);
  jpeg::DevicePlan planned, beside;
  const std::string why = plan(file, how, planned);
  const bool lies = why.starts_with("index refused: ");
  want(why.empty() || lies || why.starts_with("not covered: "), why);
  want(!lies || !expected.good, "the CPU does not say: " + why);
  if (!why.empty()) return;
  Batch batch;
  Expected its;
  if (neighbours == 3) {
    static const File good = neighbour();
    How its_how = how;
    its_how.crop = {1, 2, 5, 11, 5, 11, 0, 0, how.crop.flip, 1};
    its = by_cpu(good, its_how);
    want(its.good && plan(good, its_how, beside).empty(), "the neighbour is not taken");
    batch.add(beside, its);
  }
  batch.add(planned, expected);
  if (neighbours == 3) batch.add(beside, its);
  batch.check(how, choice);
}

void run(Bytes input) {
  if (input.size() < kChoices) return;
  const uint8_t* choices = input.data();
  File file;
  file.bytes.assign(input.begin() + kChoices, input.end());
  if (!jpeg::parse_frame(file.bytes, file.frame).empty()) return;
  if (int64_t{file.frame.height} * file.frame.width > kMostPixels / 4) return;
  file.packed = jpeg::build_index(file.bytes, choices[5] % 9).index;
  if (file.packed.empty()) return;
  if (choices[4] & 1) lie(file.packed, choices + 6);
  if (!file.index.open(file.packed, file.bytes, file.frame).empty())
    return want(choices[4] & 1, "the index is refused");
  check(file, how_of(choices, file.frame.height, file.frame.width), choices[4] >> 1 & 3,
        choices[19]);
}

}  // namespace
}  // namespace fl::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fl::fuzz::run({data, size});
  return 0;
}
