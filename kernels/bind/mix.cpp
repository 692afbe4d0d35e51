// What STORE does beyond one image's own values: boxes that are erased, and partners.
//
// The parse_ functions are shared by the job, by DeviceStore and by store_mixed: one check, one
// error text. They copy what they have checked, but for the tables of noise.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "bind/bind.h"

namespace fl::bind {
namespace {

using namespace nb::literals;

constexpr int64_t kPartnerColumns = sizeof(Partner) / sizeof(int32_t);

// box: top, left, height, width; px.
void check_box(const std::string& where, const int32_t* box, int height, int width) {
  const bool inside = *std::min_element(box, box + 4) >= 0 && box[2] <= height && box[3] <= width &&
                      box[0] <= height - box[2] && box[1] <= width - box[3];
  if (inside) return;
  refuse(where, "top, left, height, width",
         std::to_string(box[0]) + ", " + std::to_string(box[1]) + ", " + std::to_string(box[2]) +
             ", " + std::to_string(box[3]),
         "a box inside " + std::to_string(height) + "x" + std::to_string(width));
}

// Whole batches as uint8 [N, h, w, 3], mixed into `out`.
void store_mixed(const Input& images, const StoreRecords& records, const Output& out,
                 const std::string& target) {
  const std::string where = "store_mixed";
  const uint8_t* from = checked<uint8_t>(where + ": images", images, {kAny, kAny, kAny, kChannels});
  const auto count = static_cast<int64_t>(images.shape(0));
  const auto height = static_cast<int>(images.shape(1)), width = static_cast<int>(images.shape(2));
  const cpu::Target on = parse_target(target);
  const cpu::Format format = check_batch(where, records, out, count, height, width);
  if (!records.partners.has_value()) refuse(where, "partners", "none", "one of each image");
  const std::vector<Partner> how = parse_partners(where, records, count, height, width);
  const ErasedLists erased = parse_erased(where, records, out.dtype(), count, height, width);
  const cpu::Mixture batch{
      from,        height,        width, how.data(), erased.boxes.data(), erased.fills.data(),
      erased.each, number_of(out)};
  auto* to = static_cast<uint8_t*>(out.data());
  const nb::gil_scoped_release unlocked;
  Scratch scratch;
  const int64_t bytes = int64_t{height} * width * kChannels * format.item_size;
  for (int64_t n = 0; n < count; ++n) cpu::mix(batch, n, format, to + n * bytes, scratch, on);
}

}  // namespace

ErasedLists parse_erased(const std::string& where, const StoreRecords& store,
                         nb::dlpack::dtype type, int64_t count, int height, int width) {
  const std::optional<Input>&boxes = store.boxes, &fills = store.fills;
  if (boxes.has_value() != fills.has_value())
    refuse(where, "boxes and fills", boxes.has_value() ? "boxes only" : "fills only",
           "both or neither");
  if (!boxes.has_value()) return {};
  const int32_t* values = checked<int32_t>(where + ": boxes", *boxes, {count, kAny, 4});
  const auto each = static_cast<int64_t>(boxes->shape(1));
  check(where + ": fills", Facts(*fills), {each, kChannels}, type);
  for (int64_t k = 0; k < count * each; ++k)
    check_box(where + ": boxes[" + std::to_string(k / each) + "][" + std::to_string(k % each) + "]",
              values + 4 * k, height, width);
  const auto* bytes = static_cast<const uint8_t*>(fills->data());
  return {{values, values + count * each * 4},
          {bytes, bytes + each * kChannels * (type.bits / 8)},
          static_cast<int>(each)};
}

NoiseLists parse_noise(const std::string& where, const std::optional<Noise>& noise,
                       nb::dlpack::dtype type, int64_t count, int64_t each) {
  if (!noise.has_value()) return {};
  const auto& [key, filling, table] = *noise;
  const uint32_t* keys = checked<uint32_t>(where + ": keys", key, {count, each});
  const int32_t* pairs = checked<int32_t>(where + ": fillings", filling, {each, 2});
  check(where + ": tables", Facts(table), {kAny, kChannels, NoiseLevels::kCount}, type);
  const auto tables = static_cast<int64_t>(table.shape(0));
  NoiseLists out{
      {}, {keys, keys + count * each}, {static_cast<const uint8_t*>(table.data()), table.nbytes()}};
  for (int64_t k = 0; k < each; ++k) {
    const int32_t kind = pairs[2 * k], number = pairs[2 * k + 1];
    const std::string here = where + ": fillings[" + std::to_string(k) + "]";
    if (kind < 0 || kind > 2)
      refuse(here, "kind", std::to_string(kind), "0 (a colour), 1 (noise) or 2 (its colour)");
    if (kind != 0 && (number < 0 || number >= tables))
      refuse(here, "no such table", std::to_string(number), "0.." + std::to_string(tables - 1));
    out.fillings.push_back({static_cast<Filling::Kind>(kind), number});
  }
  return out;
}

std::vector<Partner> parse_partners(const std::string& where, const StoreRecords& store,
                                    int64_t count, int height, int width) {
  if (!store.partners.has_value()) return {};
  const int32_t* values =
      checked<int32_t>(where + ": partners", *store.partners, {count, kPartnerColumns});
  std::vector<Partner> out(count);
  for (int64_t n = 0; n < count; ++n) {
    const int32_t* row = values + n * kPartnerColumns;
    const std::string here = where + ": partners[" + std::to_string(n) + "]";
    if (row[0] < 0 || row[0] >= count)
      refuse(here, "no such sample", std::to_string(row[0]), "0.." + std::to_string(count - 1));
    check_box(here, row + 1, height, width);
    std::memcpy(&out[n], row, sizeof(Partner));
    for (const float weight : {out[n].own, out[n].other})
      if (!(weight >= 0 && weight <= 1)) refuse(here, "weight", std::to_string(weight), "0 to 1");
  }
  return out;
}

Number number_of(const Output& out) {
  const std::string got = name(out.dtype());
  if (got == "uint8") return Number::kUint8;
  return got == "float16"  ? Number::kFloat16
         : got == "uint16" ? Number::kBfloat16
                           : Number::kFloat32;
}

void bind_mix(nb::module_& m) {
  m.def("store_mixed", &store_mixed, "images"_a.noconvert(), "how"_a, "out"_a.noconvert(),
        "target"_a);
}

}  // namespace fl::bind
