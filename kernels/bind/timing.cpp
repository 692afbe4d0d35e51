// For the decode benchmark: one JPEG's way through DECODE and CROP, timed step by step in one
// thread.
//
// Not for tests, and not part of the engine: it repeats the engine's calls with a clock between
// them. Each thread has a worker of its own, so runs in a row find warm memory.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <chrono>

#include "base/error.h"
#include "bind/bind.h"
#include "engine/sample.h"
#include "jpeg/layer/layer.h"
#include "jpeg/progressive.h"
#include "jpeg/region_scan.h"
#include "jpeg/region_tiles.h"
#include "jpeg/turbo.h"
#include "simd/targets.h"

namespace fl::bind {
namespace {

using namespace nb::literals;
using Clock = std::chrono::steady_clock;

// Headers, entropy and planes stop on the way of kIndex, so that its stages can be told apart.
enum class Route { kHeaders, kEntropy, kPlanes, kIndex, kScan, kTurbo, kTurboWhole };

Route parse_route(const std::string& name) {
  constexpr const char* kNames[] = {"headers", "entropy", "planes",     "index",
                                    "scan",    "turbo",   "turbo-whole"};
  for (int i = 0; i < 7; ++i)
    if (name == kNames[i]) return static_cast<Route>(i);
  refuse("time_crop: route", "unknown", '"' + name + '"',
         "headers, entropy, planes, index, scan, turbo or turbo-whole");
}

Bytes view(const nb::bytes& data) {
  return {static_cast<const uint8_t*>(data.data()), data.size()};
}

struct Work {
  Bytes bytes, index;
  int scale;
  Route route;
  cpu::Target target;
};

// As decode_region begins; no pixels.
std::string decode_part(const Work& work, const jpeg::SeekIndex& index, const Region& region,
                        Worker& worker) {
  const jpeg::Frame& frame = worker.frame;
  worker.jpeg.tables.prepare(frame, work.bytes.size() - frame.scan);
  if (work.route == Route::kHeaders) return {};
  const jpeg::Tiles2d tiles = jpeg::tiles_of(frame, region);
  jpeg::Scan scan(work.bytes, frame, &index, tiles, worker.jpeg, work.target);
  jpeg::Discard discard(frame.mcu_blocks);
  if (work.route == Route::kEntropy) return scan.decode(tiles.top, tiles.bottom, discard);
  jpeg::Planes planes(frame, tiles, tiles.bottom - tiles.top, worker.jpeg.planes, work.target);
  planes.begin_strip(tiles.top);
  return scan.decode(tiles.top, tiles.bottom, planes);
}

// By a layer: the same stages. The JPEG is not read, as where an index has its size and checksum.
jpeg::Decoded decode_layer(const Work& work, const Region& region, Worker& worker) {
  jpeg::Frame frame;
  jpeg::layer::Layer layer;
  std::string why = layer.open(work.index, frame);
  jpeg::shrink(frame, work.scale);
  if (!why.empty() || work.route == Route::kHeaders) return {{}, std::move(why)};
  if (work.route == Route::kIndex)
    return jpeg::layer::decode(layer, frame, region, worker.jpeg, work.target);
  const jpeg::Tiles2d tiles = jpeg::tiles_of(frame, region);
  const auto fill = [&](jpeg::Planes* planes) {
    return jpeg::layer::fill(layer, frame, tiles, tiles.top, tiles.bottom, planes, worker.jpeg,
                             work.target);
  };
  if (work.route == Route::kEntropy) return {{}, fill(nullptr)};
  jpeg::Planes planes(frame, tiles, tiles.bottom - tiles.top, worker.jpeg.planes, work.target);
  planes.begin_strip(tiles.top);
  return {{}, fill(&planes)};
}

jpeg::Decoded decode_own(const Work& work, const Region& region, Worker& worker) {
  if (work.route <= Route::kIndex && jpeg::layer::is_layer(work.index))
    return decode_layer(work, region, worker);
  std::string why = jpeg::parse_frame(work.bytes, worker.frame);
  if (work.route == Route::kScan && !why.empty() &&
      jpeg::parse_progressive(work.bytes, worker.frame).empty()) {
    jpeg::shrink(worker.frame, work.scale);
    return jpeg::decode_progressive(work.bytes, worker.frame, region, worker.jpeg, work.target);
  }
  jpeg::SeekIndex index;
  const bool indexed = work.route != Route::kScan;
  if (why.empty() && indexed) why = index.open(work.index, work.bytes, worker.frame);
  jpeg::shrink(worker.frame, work.scale);
  if (why.empty() && work.route < Route::kIndex) why = decode_part(work, index, region, worker);
  if (!why.empty() || work.route < Route::kIndex) return {{}, std::move(why)};
  return jpeg::decode_region(work.bytes, worker.frame, indexed ? &index : nullptr, region,
                             worker.jpeg, work.target);
}

jpeg::Decoded decode(const Work& work, const Region& region, Worker& worker) {
  if (work.route <= Route::kScan) return decode_own(work, region, worker);
  const Header header = probe(work.bytes);
  const Region whole{0, 0, shrunk(header.height, work.scale), shrunk(header.width, work.scale)};
  const Region& wanted = work.route == Route::kTurbo ? region : whole;
  jpeg::Decoded out = jpeg::decode_region(work.bytes, header.height, header.width, wanted,
                                          worker.decoded, work.scale);
  if (work.route == Route::kTurbo) return out;
  if (out.ok()) out.image = out.image.part(region);
  return out;
}

int64_t between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(to - from).count();
}

// Nanoseconds of decoding, and of planning and making the resize.
std::tuple<int64_t, int64_t> time_crop(const nb::bytes& data, const std::optional<nb::bytes>& index,
                                       const Input& crop, const Output& out,
                                       const std::string& route, const std::string& target) {
  uint8_t* to = checked<uint8_t>("time_crop: out", out, {kAny, kAny, kChannels});
  const Crop how = one_crop("time_crop: crop", crop);
  const Work work{view(data), index ? view(*index) : Bytes{}, how.scale, parse_route(route),
                  parse_target(target)};
  const Pixels pixels{to, static_cast<int>(out.shape(0)), static_cast<int>(out.shape(1)),
                      static_cast<ptrdiff_t>(out.shape(1)) * kChannels};
  const Header header = probe(work.bytes);
  cpu::check_crop(how, header.height, header.width, pixels.height, pixels.width, "time_crop");
  const nb::gil_scoped_release unlocked;
  thread_local Worker worker;
  const Clock::time_point start = Clock::now();
  thread_local cpu::CropPlan plan;
  cpu::plan_crop(how, {}, pixels.height, pixels.width, plan);
  const Clock::time_point planned = Clock::now();
  const jpeg::Decoded decoded = decode(work, plan.source, worker);
  if (!decoded.ok()) throw std::invalid_argument("time_crop: " + decoded.error);
  const Clock::time_point done = Clock::now();
  if (work.route < Route::kIndex) return {between(planned, done), between(start, planned)};
  cpu::crop_resize(decoded.image, plan, pixels, worker.passes, work.target);
  return {between(planned, done), between(start, planned) + between(done, Clock::now())};
}

}  // namespace

void bind_timing(nb::module_& m) {
  m.def("time_crop", &time_crop, "data"_a, "index"_a.none(), "crop"_a.noconvert(),
        "out"_a.noconvert(), "route"_a, "target"_a = "best");
  m.def("limit_targets", &cpu::limit_targets, "name"_a);
}

}  // namespace fl::bind
