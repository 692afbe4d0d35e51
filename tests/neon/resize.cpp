// CROP and STORE: both passes of a resize by themselves, whole crops, and what a batch is made of.
#include <cstring>

#include "check.h"
#include "pixels/passes.h"
#include "pixels/resize.h"
#include "pixels/store.h"

namespace fl::check {
namespace {

using cpu::Axis;

constexpr std::initializer_list<Filter> kFilters = {Filter::kNearest, Filter::kBox,     Filter::kBilinear,
                                                    Filter::kHamming, Filter::kBicubic, Filter::kLanczos};

// Any ratio, any window; enlarging and halving (few taps, code of its own) more often.
cpu::Span any_span(Random& random) {
  const int size = random.between(1, 150);
  int resized = random.pick({random.between(1, 150), size * 2, (size + 1) / 2, size + 1});
  return {size, resized,   random.between(-3, resized), random.between(1, resized + 3), random.one_in(3),
          0.0,  1.0 * size};
}

std::string text(const cpu::Span& span, const Axis& axis) {
  return std::to_string(span.size) + " px to " + std::to_string(span.resized) + ", window " +
         std::to_string(span.window) + " + " + std::to_string(span.out) + ", " + std::to_string(axis.taps) + " taps";
}

void horizontal(Check& check, Random& random, const Axis& axis, const std::string& what) {
  const int height = random.between(1, 7), width = axis.end - axis.begin;
  const ptrdiff_t stride = width * kChannels;
  const size_t line = cpu::row_bytes(axis.count);
  Bytes source(stride * height + kPadding), scalar(line * height), tuned(line * height);
  fill(random, source.data(), source.size());
  const Image in{source.data(), height, width, stride, true};
  const Pixels want{scalar.data(), height, axis.count, static_cast<ptrdiff_t>(line)};
  const Pixels got{tuned.data(), height, axis.count, static_cast<ptrdiff_t>(line)};
  cpu::scalar::horizontal(in, axis, want);
  cpu::tuned::horizontal(in, axis, got);
  for (int y = 0; y < height; ++y) check.equal(what, want.row(y), got.row(y), axis.count * kChannels);
}

void vertical(Check& check, Random& random, const Axis& axis, const std::string& what) {
  const int bytes = random.between(1, 130), height = axis.end - axis.begin;
  Bytes source(static_cast<size_t>(bytes) * height), scalar(bytes), tuned(bytes);
  fill(random, source.data(), source.size());
  for (int row = 0; row < axis.count; ++row) {
    cpu::scalar::vertical_row(source.data(), bytes, axis, row, scalar.data(), bytes);
    cpu::tuned::vertical_row(source.data(), bytes, axis, row, tuned.data(), bytes);
    check.equal(what, scalar.data(), tuned.data(), bytes);
  }
}

Crop any_crop(Random& random, int height, int width, int out_height, int out_width) {
  Crop crop{};
  crop.scale = 1;
  crop.top = random.between(0, height - 1);
  crop.left = random.between(0, width - 1);
  crop.height = random.between(1, height - crop.top);
  crop.width = random.between(1, width - crop.left);
  crop.resized_height = random.pick({out_height, crop.height, random.between(1, 120)});
  crop.resized_width = random.pick({out_width, crop.width, random.between(1, 120)});
  crop.window_top = random.one_in(2) ? 0 : random.between(-5, crop.resized_height);
  crop.window_left = random.one_in(2) ? 0 : random.between(-5, crop.resized_width);
  crop.flip = random.between(0, 1);
  return crop;
}

void one_crop(Check& check, Random& random) {
  const int height = random.between(1, 130), width = random.between(1, 130);
  const int out_height = random.between(1, 90), out_width = random.between(1, 90);
  const Crop crop = any_crop(random, height, width, out_height, out_width);
  cpu::check_crop(crop, height, width, out_height, out_width, "crop");
  cpu::CropPlan plan;
  const auto order = random.pick({cpu::Order::kPillow12, cpu::Order::kPillow12_2, cpu::Order::kPillow13});
  cpu::plan_crop(crop, {random.pick(kFilters), order}, out_height, out_width, plan);
  const bool padded = random.one_in(2);
  Bytes source(static_cast<size_t>(height) * width * kChannels + (padded ? kPadding : 0));
  fill(random, source.data(), source.size());
  const Image in{source.data(), height, width, ptrdiff_t{width} * kChannels, padded};
  const size_t size = static_cast<size_t>(out_height) * out_width * kChannels;
  Bytes scalar(size), tuned(size);
  cpu::CropScratch scratch;
  const ptrdiff_t stride = ptrdiff_t{out_width} * kChannels;
  for (const auto& [out, target] : {std::pair{&scalar, cpu::Target::kScalar}, {&tuned, cpu::Target::kBest}})
    cpu::crop_resize(in.part(plan.source), plan, {out->data(), out_height, out_width, stride}, scratch, target);
  check.equal(std::to_string(height) + "x" + std::to_string(width), scalar.data(), tuned.data(), size);
}

void one_store(Check& check, Random& random) {
  const int height = random.between(1, 40), width = random.between(1, 70);
  const int rows = random.between(1, height), columns = random.between(1, width);
  const int item_size = random.pick({1, 2, 4});
  Bytes image(static_cast<size_t>(height) * width * kChannels), table(size_t{3} * 256 * item_size);
  Bytes first(sizeof(cpu::Lookup));
  for (Bytes* bytes : {&image, &table, &first}) fill(random, bytes->data(), bytes->size());
  std::vector<int32_t> kept_rows(rows), kept_columns(columns);
  for (int32_t& row : kept_rows) row = random.between(0, height - 1);
  for (int32_t& column : kept_columns) column = random.between(0, width - 1);
  cpu::Pixel8 from{image.data(), int64_t{height} * width};
  if (random.one_in(3)) from.first = reinterpret_cast<const cpu::Lookup*>(first.data());
  if (random.one_in(3)) {
    from.pixels = int64_t{rows} * columns;
    from.kept = {kept_rows.data(), kept_columns.data(), columns, width};
  }
  const bool plain = item_size == 1 && random.one_in(2);
  const cpu::Format format{plain ? nullptr : table.data(), item_size, random.one_in(2)};
  const size_t size = from.pixels * kChannels * item_size;
  Bytes scalar(size), tuned(size);
  cpu::store(from, format, scalar.data(), cpu::Target::kScalar);
  cpu::store(from, format, tuned.data(), cpu::Target::kBest);
  check.equal(std::to_string(height) + "x" + std::to_string(width), scalar.data(), tuned.data(), size);
}

}  // namespace

void check_resize() {
  Check across("resize, horizontal"), down("resize, vertical");
  Random random(1);
  for (int n = 0; n < 3000; ++n) {
    const cpu::Span span = any_span(random);
    Axis axis;
    cpu::plan_axis(random.pick(kFilters), span, axis);
    if (axis.kind != Axis::Kind::kWeigh || axis.count == 0) continue;
    horizontal(across, random, axis, text(span, axis));
    vertical(down, random, axis, text(span, axis));
  }
}

void check_crop() {
  Check check("crops");
  Random random(2);
  for (int n = 0; n < 1500; ++n) one_crop(check, random);
}

void check_store() {
  Check check("store");
  Random random(3);
  for (int n = 0; n < 1500; ++n) one_store(check, random);
}

}  // namespace fl::check
