// Functions on one image: probe, decode, crop_resize, store; and what this build is made of.
//
// These are the engine's steps one by one, for tests, for benchmarks and for what Python does with
// single images. Arguments are checked with the GIL held; pixels are made without it.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "bind/bind.h"
#include "bind/buffered.h"
#include "engine/sample.h"
#include "gpu/cuda/store.h"
#include "jpeg/turbo.h"
#include "png/decode.h"
#include "simd/hash.h"
#include "simd/targets.h"
#include "webp/region.h"

namespace fl::bind {
namespace {

using namespace nb::literals;

Bytes view(const nb::bytes& data) {
  return {static_cast<const uint8_t*>(data.data()), data.size()};
}

uint64_t hash(const nb::object& data) {
  const Buffered held(data);
  const nb::gil_scoped_release unlocked;
  return xxh3(held.bytes());
}

std::tuple<int, int, int, int, std::string> probe_image(const nb::bytes& data) {
  const Header header = probe(view(data));
  return {header.status, header.height, header.width, header.components, header.format};
}

nb::object decode(const nb::bytes& data, int scale) {
  cpu::check_scale(scale, "decode");
  const Header header = probe(view(data));
  if (header.status != kOk) throw std::invalid_argument("decode: " + header.why);
  const Region whole{0, 0, shrunk(header.height, scale), shrunk(header.width, scale)};
  const size_t line = static_cast<size_t>(whole.width) * kChannels;
  uint8_t* pixels = nullptr;
  {
    const nb::gil_scoped_release unlocked;
    Scratch scratch;
    const jpeg::Decoded decoded =
        jpeg::decode_region(view(data), header.height, header.width, whole, scratch, scale);
    if (!decoded.ok()) throw std::invalid_argument("decode: " + decoded.error);
    pixels = new uint8_t[line * whole.height];
    for (int y = 0; y < whole.height; ++y)
      std::copy_n(decoded.image.row(y), line, pixels + y * line);
  }
  const nb::capsule owner(pixels,
                          [](void* memory) noexcept { delete[] static_cast<uint8_t*>(memory); });
  const size_t shape[] = {static_cast<size_t>(whole.height), static_cast<size_t>(whole.width),
                          kChannels};
  return nb::cast(nb::ndarray<nb::numpy, uint8_t>(pixels, 3, shape, owner));
}

// The most px of an image that has `size` px at 1/scale.
int grown(int size, int scale) {
  return static_cast<int>(std::min<int64_t>(int64_t{size} * scale, INT32_MAX));
}

void crop_resize(const Input& image, const Input& crop, const Output& out,
                 const std::string& filter, const std::string& target, const std::string& order) {
  const uint8_t* from = checked<uint8_t>("crop_resize: image", image, {kAny, kAny, kChannels});
  uint8_t* to = checked<uint8_t>("crop_resize: out", out, {kAny, kAny, kChannels});
  const Crop how = one_crop("crop_resize: crop", crop);
  const auto height = static_cast<int>(image.shape(0)), width = static_cast<int>(image.shape(1));
  const auto out_height = static_cast<int>(out.shape(0)),
             out_width = static_cast<int>(out.shape(1));
  const cpu::Resampling by{cpu::parse_filter(filter), cpu::parse_order(order)};
  const cpu::Target on = parse_target(target);
  cpu::check_scale(how.scale, "crop_resize");
  cpu::check_crop(how, grown(height, how.scale), grown(width, how.scale), out_height, out_width,
                  "crop_resize");
  const nb::gil_scoped_release unlocked;
  cpu::CropPlan plan;
  cpu::plan_crop(how, by, out_height, out_width, plan);
  cpu::CropScratch scratch;
  const Image source{from, height, width, static_cast<ptrdiff_t>(width) * kChannels, false};
  const Pixels result{to, out_height, out_width, static_cast<ptrdiff_t>(out_width) * kChannels};
  cpu::crop_resize(source.part(plan.source), plan, result, scratch, on);
}

// Lists of rows or columns to keep: int32 [1 or count, kept], each below `limit`. None: all of
// them.
std::vector<int32_t> parse_list(const std::string& where, const std::optional<Input>& list,
                                int64_t count, int limit) {
  if (!list.has_value()) return {};
  const int32_t* values = checked<int32_t>(where, *list, {kAny, kAny});
  const auto lists = static_cast<int64_t>(list->shape(0)),
             kept = static_cast<int64_t>(list->shape(1));
  if (lists != 1 && lists != count)
    refuse(where, "lists", std::to_string(lists),
           "1 or " + std::to_string(count) + ", one per sample");
  if (kept < 1) refuse(where, "length", std::to_string(kept), "1 or more");
  std::vector<int32_t> out(values, values + lists * kept);
  for (const int32_t value : out)
    if (value < 0 || value >= limit)
      refuse(where, "number", std::to_string(value), "0.." + std::to_string(limit - 1));
  return out;
}

void store(const Input& image, const StoreRecords& how, const Output& out,
           const std::string& target) {
  const uint8_t* from = checked<uint8_t>("store: image", image, {kAny, kAny, kChannels});
  const auto height = static_cast<int64_t>(image.shape(0)),
             width = static_cast<int64_t>(image.shape(1));
  const cpu::Target on = parse_target(target);
  const KeptLists lists =
      parse_kept("store", how, 1, static_cast<int>(height), static_cast<int>(width));
  const cpu::Format format =
      how.channels_last ? check_store("store", how, out, {lists.height, lists.width, kChannels})
                        : check_store("store", how, out, {kChannels, lists.height, lists.width});
  void* to = out.data();
  const nb::gil_scoped_release unlocked;
  Kept kept;
  if (!lists.rows.empty()) kept = {lists.rows.data(), lists.columns.data(), lists.width, width};
  cpu::store({from, static_cast<int64_t>(lists.height) * lists.width, kept}, format, to, on);
}

std::string cuda_version() {
  const int version = cuda::version();
  return version == 0 ? "none"
                      : std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

nb::dict versions() {
  nb::dict out;
  out["compiler"] = __VERSION__;
  out["libjpeg-turbo"] = jpeg::turbo_version();
  out["highway"] = cpu::highway_version();
  out["xxhash"] = xxhash_version();
  out["libdeflate"] = png::libdeflate_version();
  out["libwebp"] = webp::libwebp_version();
  out["cuda"] = cuda_version();
  return out;
}

}  // namespace

cpu::Target parse_target(const std::string& name) {
  if (name == "scalar") return cpu::Target::kScalar;
  if (name == "best") return cpu::Target::kBest;
  refuse("target", "unknown", '"' + name + '"', "scalar or best");
}

cpu::Format check_store(const std::string& where, const StoreRecords& store, const Output& out,
                        std::initializer_list<int64_t> shape) {
  const std::optional<Input>& table = store.table;
  const nb::dlpack::dtype type = out.dtype();
  check(where + ": out", Facts(out), shape);
  const std::string got = name(type);
  if (got != "uint8" && got != "uint16" && got != "float16" && got != "float32")
    refuse(where + ": out", "dtype", got, "uint8, uint16, float16 or float32");
  if (!table.has_value() && got != "uint8")
    refuse(where + ": out", "dtype without a table", got, "uint8");
  if (table.has_value()) check(where + ": table", Facts(*table), {kChannels, 256}, type);
  return {table.has_value() ? table->data() : nullptr, type.bits / 8, store.channels_last};
}

cpu::Format check_batch(const std::string& where, const StoreRecords& store, const Output& out,
                        int64_t count, int height, int width) {
  if (store.patch != 0)
    refuse(where, "patch", std::to_string(store.patch), "0: only Job.run cuts images into patches");
  return store.channels_last ? check_store(where, store, out, {count, height, width, kChannels})
                             : check_store(where, store, out, {count, kChannels, height, width});
}

cpu::Format check_patches(const std::string& where, const StoreRecords& store, const Output& out,
                          int64_t count, int height, int width) {
  const int patch = store.patch;
  if (patch < 1 || height % patch != 0 || width % patch != 0)
    refuse(where, "patch", std::to_string(patch),
           "a side, px, of which " + std::to_string(height) + "x" + std::to_string(width) +
               " px are multiples");
  if (!store.channels_last) refuse(where, "channels_last", "False", "True: patches have it");
  if (store.partners.has_value()) refuse(where, "partners", "of patches", "none: images are mixed");
  const auto tokens = static_cast<int64_t>(out.ndim() == 3 ? out.shape(1) : 0),
             least = static_cast<int64_t>(height / patch) * (width / patch);
  if (out.ndim() == 3 && tokens < least)
    refuse(where + ": out", "tokens", std::to_string(tokens), std::to_string(least) + " or more");
  return check_store(where, store, out, {count, kAny, int64_t{patch} * patch * kChannels});
}

KeptLists parse_kept(const std::string& where, const StoreRecords& store, int64_t count, int height,
                     int width) {
  const std::optional<Input>&rows = store.rows, &columns = store.columns;
  if (rows.has_value() != columns.has_value())
    refuse(where, "rows and columns", rows.has_value() ? "rows only" : "columns only",
           "both or neither");
  KeptLists out{parse_list(where + ": rows", rows, count, height),
                parse_list(where + ": columns", columns, count, width), height, width};
  if (rows.has_value()) {
    out.height = static_cast<int>(rows->shape(1));
    out.width = static_cast<int>(columns->shape(1));
  }
  return out;
}

void bind_images(nb::module_& m) {
  m.attr("OK") = static_cast<int>(kOk);
  m.attr("FOREIGN") = static_cast<int>(kForeign);
  m.attr("FAILED") = static_cast<int>(kFailed);
  m.attr("MISSING") = "";
  m.attr("cuda_built") = cuda::built;
  m.def("targets", &cpu::targets);
  m.def("versions", &versions);
  m.def("xxh3", &hash, "data"_a);
  m.def("probe", &probe_image, "data"_a);
  m.def("decode", &decode, "data"_a, "scale"_a = 1);
  m.def("crop_resize", &crop_resize, "image"_a.noconvert(), "crop"_a.noconvert(),
        "out"_a.noconvert(), "filter"_a, "target"_a, "order"_a = "pillow13");
  m.def("store", &store, "image"_a.noconvert(), "how"_a, "out"_a.noconvert(), "target"_a);
}

}  // namespace fl::bind
