// class DeviceDecode: the host's part of decoding a batch on the GPU, and the launch. Pointers and
// the stream are the caller's. The GIL is given up in every wait, and taken ten times a second so
// that Ctrl-C works.
#include "engine/device_decode.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/error.h"
#include "bind/job.h"
#include "gpu/cuda/decode.h"

namespace fl::bind {
namespace {

using namespace nb::literals;

constexpr std::chrono::milliseconds kSlice{100};
constexpr uintptr_t kAlign = 16;  // bytes

struct PyDeviceDecode {
  std::shared_ptr<DeviceDecode> work;
  nb::object job;              // whose arrays its own tasks use
  std::vector<Output> packed;  // what is being written
  bool chosen = false;

  ~PyDeviceDecode() {
    const nb::gil_scoped_release unlocked;  // running tasks end first
    work.reset();
  }
};

void make(PyDeviceDecode* self, const nb::object& owner, const CropRecords& crops, int64_t most) {
  const auto& job = nb::cast<const PyJob&>(owner).job;
  job->check_idle("DeviceDecode");
  const auto [height, width] = std::pair(crops.height, crops.width);
  if (height < 1 || width < 1 || height > kMaxPixels / width)
    refuse("DeviceDecode", "size", std::to_string(height) + "x" + std::to_string(width),
           "1.." + std::to_string(kMaxPixels) + " px");
  if (most < 0) refuse("DeviceDecode", "most", std::to_string(most), "0 bytes or more");
  DeviceDecode::How how;
  how.crops = bind::crops("DeviceDecode: crops", crops.rows, job->size());
  how.filters = parse_filters("DeviceDecode", crops.filter, job->size());
  how.order = crops.order;
  how.height = height;
  how.width = width;
  how.most = most;
  check_crops("DeviceDecode", *job, how.crops, nullptr, height, width);
  new (self) PyDeviceDecode{DeviceDecode::start(job, std::move(how)), owner, {}, false};
}

void wait(PyDeviceDecode& self) {
  for (bool done = false; !done;) {
    {
      const nb::gil_scoped_release unlocked;
      done = self.work->wait(kSlice);
    }
    if (!done && PyErr_CheckSignals() != 0) throw nb::python_error();
  }
  self.work->check_idle("DeviceDecode.wait");
  self.packed.clear();
}

std::vector<std::string> reasons(const PyDeviceDecode& self) {
  self.work->check_idle("DeviceDecode.reasons");
  std::vector<std::string> out;
  for (int64_t n = 0; n < self.work->size(); ++n) out.push_back(self.work->why(n));
  return out;
}

void choose(PyDeviceDecode& self, const Input& positions) {
  self.work->check_idle("DeviceDecode.choose");
  const int64_t* values = checked<int64_t>("DeviceDecode.choose: positions", positions, {kAny});
  std::vector<int64_t> list(values, values + positions.shape(0));
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string where = "DeviceDecode.choose: positions[" + std::to_string(i) + "]";
    const int64_t least = i == 0 ? 0 : list[i - 1] + 1;
    if (list[i] < least || list[i] >= self.work->size())
      refuse(where, "out of order or no such sample", std::to_string(list[i]),
             std::to_string(least) + ".." + std::to_string(self.work->size() - 1));
    if (const std::string& why = self.work->why(list[i]); !why.empty())
      refuse(where, "not for the device", why, "a sample without a reason");
  }
  self.chosen = false;
  self.work->choose(list);
  self.chosen = true;
}

const block::DecodeHeader& header(const PyDeviceDecode& self, const char* where) {
  self.work->check_idle(where);
  if (!self.chosen)
    throw std::runtime_error(std::string(where) + ": no samples are chosen; call choose first");
  return self.work->batch().header();
}

void check_address(const std::string& where, const char* what, uintptr_t address) {
  if (address % kAlign != 0)
    refuse(where, what,
           "an address at " + std::to_string(address % kAlign) + " beyond a multiple of 16",
           "a multiple");
}

void pack(PyDeviceDecode& self, const Output& out) {
  const int64_t bytes = header(self, "DeviceDecode.pack").bytes;
  uint8_t* to = checked<uint8_t>("DeviceDecode.pack: out", out, {bytes});
  check_address("DeviceDecode.pack", "out", reinterpret_cast<uintptr_t>(to));
  self.packed.push_back(out);
  self.work->pack(to);
}

void launch(const PyDeviceDecode& self, uintptr_t data, uintptr_t scratch, uintptr_t out,
            uintptr_t flags, uintptr_t stream) {
  const block::DecodeHeader& how = header(self, "DeviceDecode.launch");
  check_address("DeviceDecode.launch", "data", data);
  check_address("DeviceDecode.launch", "scratch", scratch);
  if (flags % sizeof(uint32_t) != 0)
    refuse("DeviceDecode.launch", "flags",
           "an address at " + std::to_string(flags % 4) + " beyond a multiple of 4", "a multiple");
  const nb::gil_scoped_release unlocked;
  cuda::decode(how, {data, scratch, out, flags}, stream);
}

}  // namespace

void bind_device_decode(nb::module_& m) {
  const nb::lock_self alone;
  nb::class_<PyDeviceDecode>(m, "DeviceDecode", nb::is_final())
      .def("__init__", &make, "job"_a.lock(), "crops"_a, "most"_a = int64_t{1} << 30)
      .def("__len__", [](const PyDeviceDecode& self) { return self.work->size(); })
      .def("wait", &wait, alone)
      .def_prop_ro("reasons", &reasons, alone)
      .def("choose", &choose, "positions"_a.noconvert(), alone)
      .def_prop_ro(
          "nbytes",
          [](const PyDeviceDecode& self) { return header(self, "DeviceDecode.nbytes").bytes; },
          alone)
      .def_prop_ro(
          "scratch",
          [](const PyDeviceDecode& self) { return header(self, "DeviceDecode.scratch").scratch; },
          alone)
      .def("pack", &pack, "out"_a.noconvert(), alone)
      .def("launch", &launch, "data"_a, "scratch"_a, "out"_a, "flags"_a, "stream"_a, alone);
}

}  // namespace fl::bind
