// RUN: what becomes of a sample that was fetched. Nothing leaves this file as an exception: what
// goes wrong becomes the sample's status and message.
//
// Each function has its sample alone and runs without the GIL.
#include "engine/sample.h"

#include <algorithm>
#include <utility>

#include "engine/decode.h"
#include "engine/fetch.h"
#include "engine/together.h"

namespace fl {
namespace {

// The region of an image of raw rows: whole rows are read, since they lie together.
Image raw_rows(const Sample& sample, const Region& region, Scratch& scratch) {
  const int64_t line = int64_t{sample.width} * kChannels;
  const Location rows{sample.location.file, sample.location.offset + region.top * line,
                      region.height * line};
  Image all{sample.rows->in_memory(rows), region.height, sample.width, line, false};
  if (all.data == nullptr) {
    sample.rows->read(rows, [&](int64_t size) {
      uint8_t* into = scratch.reserve(size + kPadding);
      all.data = into;
      return into;
    });
    all.padded = true;
  }
  return all.part({0, region.left, region.height, region.width});
}

// Where nothing of an image is seen, one px is decoded all the same: whether it is bad must not
// depend on the crop. Not where the own decoder covers it: of such a file its markers have decided
// (jpeg/certain.h). A layer is only of such files.
Region seen(const Sample& sample, const Region& region, Worker& worker) {
  const bool encoded = sample.pixels.data == nullptr && sample.rows == nullptr;
  if (!region.empty() || !encoded || sample.unread.files != nullptr) return region;
  if (sample.codec != Codec::kJpeg) return {0, 0, 1, 1};
  if (jpeg::parse_frame(sample.encoded.bytes(), worker.frame).empty()) return region;
  return {0, 0, 1, 1};
}

int64_t area(const Region& region) {
  return region.empty() ? 0 : int64_t{region.height} * region.width;
}

// Pixels of the region: cut from what the caller gave, or decoded. False: the sample is not OK any
// more.
bool source(Sample& sample, const Region& wanted, int scale, Worker& worker, Image& image) {
  const Region region = seen(sample, wanted, worker);
  if (region.empty()) return true;
  if (sample.pixels.data != nullptr) {
    image = sample.pixels.part(region);
    return true;
  }
  if (sample.rows != nullptr) {
    worker.ask(static_cast<size_t>(region.height) * sample.width * kChannels);
    image = raw_rows(sample, region, worker.decoded);
    return true;
  }
  if (sample.unread.files != nullptr) {
    if (decode_layer(sample, region, scale, worker, image)) return true;
    if (!read_now(sample, worker)) return false;
  }
  const std::string why =
      sample.codec == Codec::kJpeg
          ? decode_jpeg(sample, region, scale, worker, image)
          : decode_other(sample.codec, sample.encoded.bytes(), region, scale, worker, image);
  if (!why.empty()) sample.end(kForeign, why);
  return why.empty();
}

// Whether all pictures' pixels are decoded at once: always where decoding begins at the image's
// first tile, and with a seek index where that is not more than each for itself.
bool at_once(const Sample& sample, std::span<const cpu::CropPlan> plans, const Region& whole) {
  if (sample.pixels.data != nullptr || sample.seek.bytes().empty()) return true;
  int64_t each = 0;
  for (const cpu::CropPlan& plan : plans) each += area(plan.source);
  return area(whole) <= each;
}

// AUGMENT and STORE of a crop that is still in cache.
void finish(const Pixels& crop, const Steps& steps, const Output& output, void* to, Worker& worker,
            Stopwatch& watch) {
  cpu::Pixel8 from{crop.data, output.pixels(), steps.kept, nullptr};
  if (steps.program != nullptr) {
    const augment::Result done =
        augment::run(*steps.program, crop, worker.augment, cpu::Target::kBest);
    from.image = done.image.data;
    from.first = done.pending != nullptr ? &done.pending->of : nullptr;  // costs nothing there
    watch.lap(Stage::kAugment);
  }
  cpu::store(from, output.format, to, cpu::Target::kBest);
}

// CROP and what follows; `image` holds exactly plan.source.
void store(const Image& image, const cpu::CropPlan& plan, const Picture& picture, Worker& worker,
           Stopwatch& watch) {
  const auto& [steps, output] = picture;
  const ptrdiff_t line = static_cast<ptrdiff_t>(output.width) * kChannels;
  // Patches are cut from the stored image, which is in cache.
  auto* to = output.patch == 0
                 ? static_cast<uint8_t*>(steps.slot)
                 : worker.stored.reserve(output.pixels() * kChannels * output.format.item_size);
  // Whether the crop is the result.
  const bool plain =
      output.format.plain() && steps.program == nullptr && steps.kept.rows == nullptr;
  uint8_t* pixels = plain ? to : worker.pixels.reserve(line * output.height + kPadding);
  const Pixels crop{pixels, output.height, output.width, line};
  cpu::crop_resize(image, plan, crop, worker.passes, cpu::Target::kBest);
  watch.lap(Stage::kResize);
  if (!plain) finish(crop, steps, output, to, worker, watch);
  cpu::erase(steps.erased, output.format, output.kept_height, output.kept_width, to);
  if (output.patch > 0)
    cpu::patches(to, output.format.item_size, output.kept_height, output.kept_width, output.patch,
                 output.tokens, steps.slot);
  watch.lap(Stage::kStore);
}

// Pictures that are windows of one resize. Mirror images are windows of a mirrored one: to turn
// each of them would take longer.
void make_windows(Sample& sample, std::span<const Picture> pictures, const Region& shown,
                  Worker& worker, Stopwatch& watch) {
  const Steps& first = pictures.front().steps;
  const auto plan_for = [&](const Crop& crop, int height, int width) -> cpu::CropPlan& {
    cpu::plan_crop(crop, first.resampling, height, width, worker.plans.front());
    return worker.plans.front();
  };
  const cpu::CropPlan& needs = plan_for(resize_of(first.crop, shown, 0), shown.height, shown.width);
  const ptrdiff_t line = static_cast<ptrdiff_t>(shown.width) * kChannels;
  const size_t bytes = line * shown.height + kPadding;
  worker.beside = bytes + between(needs, shown.height, shown.width);
  Image image;
  if (!source(sample, needs.source, first.crop.scale, worker, image)) return;
  watch.lap(Stage::kDecode);
  const Pixels resized{worker.shared.reserve(bytes), shown.height, shown.width, line};
  for (const int flip : {0, 1}) {
    bool begun = false;
    for (const Picture& picture : pictures) {
      if (picture.steps.crop.flip != flip) continue;
      if (!std::exchange(begun, true))
        cpu::crop_resize(image,
                         plan_for(resize_of(first.crop, shown, flip), shown.height, shown.width),
                         resized, worker.passes, cpu::Target::kBest);
      const Output& output = picture.output;
      const cpu::CropPlan& plan = plan_for(window_of(picture, shown), output.height, output.width);
      const Image all{resized.data, shown.height, shown.width, line, true};
      store(all.part(plan.source), plan, picture, worker, watch);
    }
  }
  sample.stored = true;
}

void make(Sample& sample, std::span<const Picture> pictures, Worker& worker, Stopwatch& watch) {
  if (worker.plans.size() < pictures.size()) worker.plans.resize(pictures.size());
  const Region shown = shared_resize(pictures);
  if (!shown.empty()) return make_windows(sample, pictures, shown, worker, watch);
  const std::span<cpu::CropPlan> plans(worker.plans.data(), pictures.size());
  for (size_t i = 0; i < pictures.size(); ++i) {
    const Output& output = pictures[i].output;
    cpu::plan_crop(pictures[i].steps.crop, pictures[i].steps.resampling, output.height,
                   output.width, plans[i]);
  }
  const int scale = pictures.front().steps.crop.scale;
  const Region whole = hull(plans);
  worker.beside = between(pictures, plans);
  const bool once = at_once(sample, plans, whole);
  Image image;
  if (once && !source(sample, whole, scale, worker, image)) return;
  for (size_t i = 0; i < pictures.size(); ++i) {
    const Region& need = plans[i].source;
    if (!once && !source(sample, need, scale, worker, image)) return;
    if (i == 0 || !once) watch.lap(Stage::kDecode);
    const bool part = once && !need.empty();
    store(part ? image.part({need.top - whole.top, need.left - whole.left, need.height, need.width})
               : image,
          plans[i], pictures[i], worker, watch);
  }
  sample.stored = true;
}

}  // namespace

void Sample::end(Status to, std::string why, int error) {
  status = to;
  code = error;
  message = std::move(why);
}

void out_of_memory(Sample& sample) noexcept {
  sample.status = kFailed;
  sample.message = "out of memory";  // short: every string has room for that
  sample.code = ENOMEM;
}

void run(Sample& sample, std::span<const Picture> pictures, Worker& worker,
         int stands_for) noexcept {
  Stopwatch watch(worker.stats, stands_for);
  try {
    make(sample, pictures, worker, watch);
  } catch (...) {
    fail(sample);
  }
}

}  // namespace fl
