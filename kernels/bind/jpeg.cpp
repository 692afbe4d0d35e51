// JPEG for the conversion and for tests: what an image is, how a file is coded, rewrite it, build
// an index, decode a region.
//
// What reads a whole file gives the GIL up; the bytes object keeps the memory alive and cannot
// change. What a file is like is an answer, not an exception, but for jpeg_index; wrong arguments
// raise ValueError.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>

#include "base/error.h"
#include "bind/bind.h"
#include "jpeg/examine.h"
#include "jpeg/layer/layer.h"
#include "jpeg/progressive.h"
#include "jpeg/region.h"
#include "jpeg/transcode.h"
#include "simd/hash.h"

namespace fl::bind {
namespace {

using namespace nb::literals;
using Box = std::tuple<int, int, int, int>;

jpeg::Bytes view(const nb::bytes& data) {
  return {static_cast<const uint8_t*>(data.data()), data.size()};
}

nb::bytes jpeg_index(const nb::bytes& data, int step, const std::string& target) {
  if (step < 0 || step > 0xFFFF) refuse("jpeg_index", "step", std::to_string(step), "0..65535");
  const cpu::Target how = parse_target(target);
  jpeg::Built built;
  {
    const nb::gil_scoped_release unlocked;
    built = jpeg::build_index(view(data), step, nullptr, how);
  }
  if (!built.why.empty()) throw std::invalid_argument("jpeg_index: " + built.why);
  return nb::bytes(built.index.data(), built.index.size());
}

nb::bytes jpeg_layer(const nb::bytes& data, const std::string& target) {
  const cpu::Target how = parse_target(target);
  jpeg::Built built;
  {
    const nb::gil_scoped_release unlocked;
    built = jpeg::layer::build(view(data), nullptr, how);
  }
  if (!built.why.empty()) throw std::invalid_argument("jpeg_layer: " + built.why);
  return nb::bytes(built.index.data(), built.index.size());
}

// What its bytes are damaged by cannot be said of another version, which no decoder here takes.
bool jpeg_layer_intact(const nb::bytes& data) {
  const Bytes bytes = view(data);
  constexpr size_t kNamed = 6;  // bytes that say the version
  if (bytes.size() >= kNamed && jpeg::layer::is_layer(bytes) && !jpeg::layer::is_known(bytes))
    return true;
  jpeg::layer::Layer layer;
  jpeg::Frame frame;
  return layer.open(bytes, frame).empty() && layer.intact();
}

Check parse_check(const std::string& name) {
  if (name == "none") return Check::kNone;
  if (name == "markers") return Check::kMarkers;
  if (name == "decode") return Check::kDecode;
  refuse("examine: check", "unknown", '"' + name + '"', "none, markers or decode");
}

nb::tuple examine_image(const nb::bytes& data, const std::string& check,
                        const std::optional<int>& step) {
  if (step.has_value() && *step != jpeg::layer::kStep && (*step < 0 || *step > 0xFFFF))
    refuse("examine", "step", std::to_string(*step), "0..65535, 1048576 or None");
  const Check how = parse_check(check);
  Examined out;
  {
    const nb::gil_scoped_release unlocked;
    out = examine(view(data), step.value_or(-1), how);
  }
  return nb::make_tuple(out.header.height, out.header.width, out.header.format,
                        jpeg::name(out.coding), out.hash, out.sound,
                        nb::bytes(out.index.data(), out.index.size()), out.why);
}

std::string jpeg_coding(const nb::bytes& data) { return jpeg::name(jpeg::coding_of(view(data))); }

std::tuple<nb::object, std::string> jpeg_transcode(const nb::bytes& data) {
  jpeg::Transcoded done;
  {
    const nb::gil_scoped_release unlocked;
    done = jpeg::transcode(view(data));
  }
  if (!done.why.empty()) return {nb::none(), done.why};
  return {nb::bytes(done.bytes.data(), done.bytes.size()), ""};
}

jpeg::Decoded by_layer(jpeg::Bytes bytes, const Region& region, jpeg::Bytes packed, int scale,
                       jpeg::Workspace& workspace, cpu::Target target) {
  jpeg::Frame frame;
  jpeg::layer::Layer layer;
  std::string why = layer.open(packed, frame);
  if (why.empty() && !layer.is_of(bytes.size(), xxh3(bytes))) why = "of another file";
  if (!why.empty()) return {{}, "index refused: " + why};
  jpeg::shrink(frame, scale);
  return jpeg::layer::decode(layer, frame, region, workspace, target);
}

jpeg::Decoded decode(jpeg::Bytes bytes, const Region& region,
                     const std::optional<jpeg::Bytes>& packed, int scale,
                     jpeg::Workspace& workspace, cpu::Target target) {
  if (packed.has_value() && jpeg::layer::is_layer(*packed))
    return by_layer(bytes, region, *packed, scale, workspace, target);
  jpeg::Frame frame;
  std::string why = jpeg::parse_frame(bytes, frame);
  if (!why.empty() && !packed.has_value() && jpeg::parse_progressive(bytes, frame).empty()) {
    jpeg::shrink(frame, scale);
    return jpeg::decode_progressive(bytes, frame, region, workspace, target);
  }
  if (!why.empty()) return {{}, std::move(why)};
  jpeg::shrink(frame, scale);
  jpeg::SeekIndex index;
  if (!packed.has_value())
    return jpeg::decode_region(bytes, frame, nullptr, region, workspace, target);
  why = index.open(*packed, bytes, frame);
  if (!why.empty()) return {{}, "index refused: " + why};
  return jpeg::decode_region(bytes, frame, &index, region, workspace, target);
}

std::tuple<nb::object, std::string> jpeg_region(const nb::bytes& data, const Box& box,
                                                const std::optional<nb::bytes>& index,
                                                const std::string& target, int scale) {
  cpu::check_scale(scale, "jpeg_region");
  if (target != "scalar" && target != "best")
    refuse("jpeg_region: target", "unknown", '"' + target + '"', "scalar or best");
  const cpu::Target on = target == "scalar" ? cpu::Target::kScalar : cpu::Target::kBest;
  const auto [top, left, height, width] = box;
  std::optional<jpeg::Bytes> packed;
  if (index.has_value()) packed = view(*index);
  thread_local jpeg::Workspace workspace;
  jpeg::Decoded decoded;
  {
    const nb::gil_scoped_release unlocked;
    decoded = decode(view(data), {top, left, height, width}, packed, scale, workspace, on);
  }
  if (!decoded.ok()) return {nb::none(), decoded.error};
  std::vector<uint8_t> pixels;
  pixels.reserve(static_cast<size_t>(height) * width * kChannels);
  for (int y = 0; y < height; ++y)
    pixels.insert(pixels.end(), decoded.image.row(y), decoded.image.row(y) + width * kChannels);
  const std::array<size_t, 3> shape{static_cast<size_t>(height), static_cast<size_t>(width),
                                    kChannels};
  return {to_numpy(pixels, shape), ""};
}

}  // namespace

void bind_jpeg(nb::module_& m) {
  m.def("examine", &examine_image, "data"_a, "check"_a, "step"_a.none());
  m.def("jpeg_coding", &jpeg_coding, "data"_a);
  m.def("jpeg_transcode", &jpeg_transcode, "data"_a);
  m.def("jpeg_index", &jpeg_index, "data"_a, "step"_a, "target"_a = "best");
  m.def("jpeg_layer", &jpeg_layer, "data"_a, "target"_a = "best");
  m.def("jpeg_layer_intact", &jpeg_layer_intact, "data"_a);
  m.def("jpeg_region", &jpeg_region, "data"_a, "region"_a, "index"_a.none(), "target"_a,
        "scale"_a = 1);
}

}  // namespace fl::bind
