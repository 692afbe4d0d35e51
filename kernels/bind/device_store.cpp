// class DeviceStore: what STORE does to a batch on the GPU, checked and packed, and its launch.
// Pointers and the stream are the caller's.
//
// Lists are checked before they are packed: indices lie in the image, boxes too, tables exist.
// After that neither the device nor run_on_host looks again.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "base/error.h"
#include "bind/bind.h"
#include "gpu/cuda/store.h"

namespace fl::bind {
namespace {

using namespace nb::literals;

constexpr size_t kAlign = 16;  // bytes

struct DeviceStore {
  block::StoreShape shape{};
  std::vector<uint8_t> bytes;
  int64_t tables = 0;  // of noise

  // Where the list begins; kNone if it is empty.
  template <class Item>
  int64_t pack(const std::vector<Item>& list) {
    if (list.empty()) return block::kNone;
    const size_t from = (bytes.size() + kAlign - 1) / kAlign * kAlign,
                 size = list.size() * sizeof(Item);
    bytes.resize(from + size);
    std::memcpy(bytes.data() + from, list.data(), size);
    return static_cast<int64_t>(from);
  }
};

struct Type {
  Number number;
  nb::dlpack::dtype dtype;
};

Type parse_type(const std::string& name) {
  if (name == "uint8") return {Number::kUint8, nb::dtype<uint8_t>()};
  if (name == "float16")
    return {Number::kFloat16, {static_cast<uint8_t>(nb::dlpack::dtype_code::Float), 16, 1}};
  if (name == "bfloat16") return {Number::kBfloat16, nb::dtype<uint16_t>()};
  if (name == "float32") return {Number::kFloat32, nb::dtype<float>()};
  refuse("DeviceStore", "dtype", '"' + name + '"', "uint8, float16, bfloat16 or float32");
}

void check_images(int64_t count, int height, int width) {
  if (count >= 0 && height >= 1 && width >= 1 && height <= kMaxPixels / width) return;
  refuse("DeviceStore", "images",
         std::to_string(count) + " of " + std::to_string(height) + "x" + std::to_string(width),
         "at most " + std::to_string(kMaxPixels) + " px each");
}

void make(DeviceStore* self, int64_t count, int height, int width, const std::string& dtype,
          const StoreRecords& store) {
  const std::string where = "DeviceStore";
  check_images(count, height, width);
  const auto [number, type] = parse_type(dtype);
  const KeptLists kept = parse_kept(where, store, count, height, width);
  // Lists may repeat
  if (kept.height > kMaxPixels / kept.width) check_images(count, kept.height, kept.width);
  const ErasedLists erased = parse_erased(where, store, type, count, kept.height, kept.width);
  const NoiseLists drawn = parse_noise(where + ": noise", store.noise, type, count, erased.each);
  DeviceStore out{
      {count, height, width, kept.height, kept.width, number, store.channels_last, {}}, {}, 0};
  block::StoreLists& at = out.shape.lists;
  at.rows_step = kept.rows.size() > static_cast<size_t>(kept.height) ? kept.height : 0;
  at.columns_step = kept.columns.size() > static_cast<size_t>(kept.width) ? kept.width : 0;
  at.rows = out.pack(kept.rows);
  at.columns = out.pack(kept.columns);
  at.erased = erased.each;
  at.boxes = out.pack(erased.boxes);
  at.fills = out.pack(erased.fills);
  at.fillings = out.pack(drawn.fillings);
  at.keys = out.pack(drawn.keys);
  at.partners = out.pack(parse_partners(where, store, count, kept.height, kept.width));
  if (!drawn.tables.empty()) out.tables = static_cast<int64_t>(drawn.tables.size());
  new (self) DeviceStore(std::move(out));
}

// What an address has to be there for.
void check_addresses(const std::string& where, const DeviceStore& self, bool table, bool noise,
                     bool lists) {
  if (!table && self.shape.number != Number::kUint8)
    refuse(where, "table", "none", "one, unless uint8 are stored");
  if (!noise && self.tables > 0) refuse(where, "noise", "none", "the tables");
  if (!lists && !self.bytes.empty()) refuse(where, "lists", "none", "a copy of data");
}

void launch(const DeviceStore& self, uintptr_t images, uintptr_t table, uintptr_t noise,
            uintptr_t lists, uintptr_t out, uintptr_t stream) {
  const std::string where = "DeviceStore.launch";
  check_addresses(where, self, table != 0, noise != 0, lists != 0);
  if (lists % kAlign != 0)
    refuse(where, "lists",
           "an address at " + std::to_string(lists % kAlign) + " beyond a multiple of 16",
           "a multiple");
  cuda::store(self.shape, {images, table, noise, lists, out}, stream);
}

// The same on the host, px after px, with arrays in place of addresses; `lists` are the object's
// own. What tests compare with the device and with cpu::store.
void run_on_host(const DeviceStore& self, const Input& images, const std::optional<Input>& table,
                 const std::optional<Input>& noise, const Output& out) {
  const std::string where = "DeviceStore.run_on_host";
  const block::StoreShape& shape = self.shape;
  check_addresses(where, self, table.has_value(), noise.has_value(), true);
  checked<uint8_t>(where + ": images", images,
                   {shape.count, shape.image_height, shape.image_width, kChannels});
  const StoreRecords how{.channels_last = shape.channels_last, .table = table};
  check_batch(where, how, out, shape.count, shape.height, shape.width);
  if (number_of(out) != shape.number)
    refuse(where + ": out", "dtype", name(out.dtype()), "the object's");
  if (noise.has_value())
    check(where + ": noise", Facts(*noise), {kAny, kChannels, NoiseLevels::kCount}, out.dtype());
  if (noise.has_value() && static_cast<int64_t>(noise->nbytes()) < self.tables)
    refuse(where, "noise", std::to_string(noise->nbytes()) + " bytes", std::to_string(self.tables));
  const auto address = [](const auto& array) { return reinterpret_cast<uintptr_t>(array.data()); };
  const block::StoreArgs args{address(images), table.has_value() ? address(*table) : 0,
                              noise.has_value() ? address(*noise) : 0, address(self.bytes),
                              address(out)};
  const nb::gil_scoped_release unlocked;
  with_number(shape.number, [&](auto type) {
    using Type = decltype(type);
    const block::StoreBatch<typename Type::Bits> batch(shape, args);
    for (int64_t n = 0; n < shape.count; ++n)
      for (int64_t pixel = 0; pixel < batch.pixels; ++pixel)
        shape.lists.partners == block::kNone ? batch.store(n, pixel)
                                             : batch.template mix<Type>(n, pixel);
  });
}

}  // namespace

void bind_device_store(nb::module_& m) {
  nb::class_<DeviceStore>(m, "DeviceStore", nb::is_final())
      .def("__init__", &make, "count"_a, "height"_a, "width"_a, "dtype"_a, "store"_a)
      .def("__len__", [](const DeviceStore& self) { return self.shape.count; })
      .def_prop_ro("size",
                   [](const DeviceStore& self) {
                     return nb::make_tuple(self.shape.height, self.shape.width);
                   })
      .def_prop_ro("data",
                   [](const DeviceStore& self) {
                     return to_numpy<uint8_t, 1>(self.bytes, {self.bytes.size()});
                   })
      .def("launch", &launch, "images"_a, "table"_a, "noise"_a, "lists"_a, "out"_a, "stream"_a,
           nb::call_guard<nb::gil_scoped_release>())
      .def("run_on_host", &run_on_host, "images"_a.noconvert(), "table"_a.noconvert().none(),
           "noise"_a.noconvert().none(), "out"_a.noconvert());
}

}  // namespace fl::bind
