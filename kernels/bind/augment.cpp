// augment on one image; and the check of a batch's programs.
//
// Checks are made with the GIL held, pixels without it.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include "augment/run.h"
#include "base/error.h"
#include "bind/bind.h"

namespace fl::bind {
namespace {

using namespace nb::literals;

// For tests and benchmarks; the engine runs programs itself. The result owns its memory, with
// padding behind it.
nb::object augment_image(const Input& image, const Input& program, const std::string& target,
                         const nb::object& functions) {
  const uint8_t* from = checked<uint8_t>("augment: image", image, {kAny, kAny, kChannels});
  const auto height = static_cast<int64_t>(image.shape(0)),
             width = static_cast<int64_t>(image.shape(1));
  if (height < 1 || width < 1 || height > kMaxPixels / width)
    refuse("augment: image", "size", std::to_string(height) + "x" + std::to_string(width),
           "1.." + std::to_string(kMaxPixels) + " px");
  const double* rows = checked<double>("augment: program", program, {kAny, augment::kColumns});
  const auto depth = static_cast<int64_t>(program.shape(0));
  const cpu::Target on = parse_target(target);
  const auto steps = augment::parse("augment: program", rows, depth, static_cast<int>(height),
                                    static_cast<int>(width), parse_functions(functions));
  const size_t bytes = static_cast<size_t>(height * width) * kChannels;
  auto* result = new uint8_t[bytes + kPadding];
  const nb::capsule owner(result,
                          [](void* memory) noexcept { delete[] static_cast<uint8_t*>(memory); });
  {
    const nb::gil_scoped_release unlocked;
    std::memcpy(result, from, bytes);
    augment::Workspace workspace;
    const Pixels pixels{result, static_cast<int>(height), static_cast<int>(width),
                        static_cast<ptrdiff_t>(width) * kChannels};
    const augment::Result done = augment::run(steps, pixels, workspace, on);
    augment::apply(done, on);
    if (done.image.data != result) std::memcpy(result, done.image.data, bytes);
  }
  const size_t shape[] = {static_cast<size_t>(height), static_cast<size_t>(width), kChannels};
  return nb::cast(nb::ndarray<nb::numpy, uint8_t>(result, 3, shape, owner));
}

void make_functions(PyFunctions* self, const std::vector<std::pair<uintptr_t, int64_t>>& pairs,
                    nb::object owner) {
  std::vector<augment::Function> out;
  for (const auto& [address, uniforms] : pairs) {
    const std::string where = "Functions[" + std::to_string(out.size()) + "]";
    if (address == 0) refuse(where, "address", "0", "that of a function");
    if (uniforms < 0 || uniforms > augment::kMaxUniforms)
      refuse(where, "uniforms", std::to_string(uniforms),
             "0.." + std::to_string(augment::kMaxUniforms));
    out.push_back({reinterpret_cast<augment::Call>(address), uniforms});
  }
  new (self) PyFunctions{std::move(out), std::move(owner)};
}

}  // namespace

std::span<const augment::Function> parse_functions(const nb::object& functions) {
  if (functions.is_none()) return {};
  if (!nb::isinstance<PyFunctions>(functions))
    throw nb::type_error("functions: want _native.Functions or None");
  return nb::cast<const PyFunctions&>(functions).functions;
}

std::vector<augment::Program> parse_programs(const std::string& where, const Programs& programs,
                                             int64_t count, int height, int width,
                                             std::span<const augment::Function> functions) {
  const double* rows = checked<double>(where, programs.rows, {count, kAny, augment::kColumns});
  const auto depth = static_cast<int64_t>(programs.rows.shape(1));
  std::vector<augment::Program> out;
  out.reserve(count);
  const Where list(where);
  for (int64_t n = 0; n < count; ++n)
    out.push_back(augment::parse({list, n}, rows + n * depth * augment::kColumns, depth, height,
                                 width, functions));
  return out;
}

void bind_augment(nb::module_& m) {
  nb::list names, arguments;
  for (int code = 0; code < augment::kCodes; ++code) {
    names.append(augment::kCodeNames[code]);
    nb::list own;
    for (const augment::Range& range : augment::ranges(static_cast<augment::Code>(code)))
      own.append(nb::make_tuple(range.name, range.low, range.high, range.whole));
    arguments.append(nb::tuple(own));
  }
  m.attr("INSTRUCTIONS") = nb::tuple(names);
  m.attr("ARGUMENTS") = nb::tuple(arguments);
  m.attr("MAX_DEPTH") = augment::kMaxDepth;
  m.attr("MAX_UNIFORMS") = augment::kMaxUniforms;
  nb::class_<PyFunctions>(m, "Functions", nb::is_final())
      .def("__init__", &make_functions, "functions"_a, "owner"_a)
      .def("__len__", [](const PyFunctions& self) { return self.functions.size(); });
  m.def("augment", &augment_image, "image"_a.noconvert(), "program"_a.noconvert(),
        "target"_a = "best", "functions"_a = nb::none());
}

}  // namespace fl::bind
