// class DevicePrograms: a batch's programs as the GPU reads them, and their launch. Pointers and
// the stream are the caller's.
//
// The launch releases the GIL, allocates nothing and does not wait for the device.
#include <nanobind/stl/string.h>

#include "base/error.h"
#include "bind/bind.h"
#include "gpu/block/pack.h"
#include "gpu/cuda/augment.h"

namespace fl::bind {
namespace {

using namespace nb::literals;

struct DevicePrograms {
  block::Packed packed;
};

void check_size(const char* where, int height, int width) {
  if (height < 1 || width < 1 || height > kMaxPixels / width)
    refuse(where, "size", std::to_string(height) + "x" + std::to_string(width),
           "1.." + std::to_string(kMaxPixels) + " px");
}

void make(DevicePrograms* self, const Programs& programs, int height, int width) {
  const std::string where = "DevicePrograms: programs";
  check_size("DevicePrograms", height, width);
  check(where, Facts(programs.rows), {kAny, kAny, augment::kColumns}, nb::dtype<double>());
  if (!programs.functions.is_none())
    refuse(where, "functions", "some", "none: users' functions run on the host");
  const auto count = static_cast<int64_t>(programs.rows.shape(0));
  new (self) DevicePrograms{block::pack(
      where,
      parse_programs(where, programs, count, height, width, parse_functions(programs.functions)),
      height, width)};
}

nb::object data(const DevicePrograms& self) {
  return to_numpy<uint8_t, 1>(self.packed.bytes, {self.packed.bytes.size()});
}

void check_address(const char* what, uintptr_t address) {
  if (address % 16 != 0)
    refuse("DevicePrograms.launch", what,
           "an address at " + std::to_string(address % 16) + " beyond a multiple of 16",
           "a multiple");
}

void launch(const DevicePrograms& self, uintptr_t images, uintptr_t data, uintptr_t out,
            uintptr_t workspace, uintptr_t stream) {
  const auto size = static_cast<uintptr_t>(self.packed.count) * self.packed.height *
                    self.packed.width * kChannels;
  if (images < out + size && out < images + size)
    refuse("DevicePrograms.launch", "out", "memory of the images",
           "memory of its own: threads read what others write");
  check_address("data", data);
  check_address("workspace", workspace);
  cuda::augment(self.packed, {images, data, out, workspace}, stream);
}

}  // namespace

void bind_device_programs(nb::module_& m) {
  nb::class_<DevicePrograms>(m, "DevicePrograms", nb::is_final())
      .def("__init__", &make, "programs"_a, "height"_a, "width"_a)
      .def("__len__", [](const DevicePrograms& self) { return self.packed.count; })
      .def_prop_ro("size",
                   [](const DevicePrograms& self) {
                     return nb::make_tuple(self.packed.height, self.packed.width);
                   })
      .def_prop_ro("data", &data)
      .def("workspace",
           [](const DevicePrograms& self) { return cuda::augment_workspace(self.packed); })
      .def("launch", &launch, "images"_a, "data"_a, "out"_a, "workspace"_a, "stream"_a,
           nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace fl::bind
