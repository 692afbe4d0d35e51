// class Draws: a recorded program of what ops draw, see _native.pyi.
//
// It is checked once, when it is made: running it looks at nothing but values.
#include "bind/draws.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/libm.h"

namespace fl::bind {
namespace {

using namespace nb::literals;
using Numbers = std::vector<int32_t>;

// Python's round(value, 15): the nearest decimal number, and the double nearest to that.
double round15(double value) {
  char text[352];  // the largest double has 309 digits before the point
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, 15);
  double out = value;
  std::from_chars(text, end.ptr, out);
  return out;
}

// Python's math has the C library's functions.
const std::map<std::string, draws::Function::Plain>& plain() {
  static const auto* const table = new std::map<std::string, draws::Function::Plain>{
      {"cos", &libm::cos}, {"sin", &libm::sin}, {"tan", &libm::tan}, {"round15", &round15}};
  return *table;
}

draws::Function function(const std::tuple<std::string, uintptr_t, uintptr_t>& given) {
  const auto& [name, loop, data] = given;
  if (loop != 0)
    return {reinterpret_cast<draws::Function::Loop>(loop), reinterpret_cast<void*>(data), nullptr};
  const auto found = plain().find(name);
  if (found == plain().end()) refuse("Draws", "function", name, "one of MATH");
  return {nullptr, nullptr, found->second};
}

draws::Kind kind(const std::string& name) {
  if (name == "int32") return draws::Kind::kInt32;
  if (name == "uint32") return draws::Kind::kUint32;
  if (name == "float64") return draws::Kind::kDouble;
  refuse("Draws", "dtype", name, "int32, uint32 or float64");
}

void make(PyDraws* self, int32_t registers, const Input& steps, const Numbers& lists,
          const std::vector<std::pair<int32_t, double>>& constants, const Input& uniforms,
          const Numbers& sizes, const Numbers& given, const Numbers& refusals,
          const std::vector<std::pair<std::string, Numbers>>& outputs,
          const std::vector<std::tuple<std::string, uintptr_t, uintptr_t>>& functions) {
  draws::Program out{registers, {}, lists, constants, {}, sizes, given, refusals, {}, {}};
  const int32_t* step = checked<int32_t>("Draws: steps", steps, {kAny, 5});
  for (size_t n = 0; n < steps.shape(0); ++n, step += 5) {
    if (step[0] < 0 || step[0] >= draws::kCodes)
      refuse("Draws", "step", std::to_string(step[0]), "0.." + std::to_string(draws::kCodes - 1));
    out.steps.push_back({static_cast<draws::Code>(step[0]), step[1], step[2], step[3], step[4]});
  }
  const int32_t* uniform = checked<int32_t>("Draws: uniforms", uniforms, {kAny, 3});
  for (size_t n = 0; n < uniforms.shape(0); ++n, uniform += 3)
    out.uniforms.push_back({uniform[0], uniform[1], uniform[2]});
  for (const auto& [name, of] : outputs) out.outputs.push_back({kind(name), of});
  for (const auto& it : functions) out.functions.push_back(function(it));
  draws::check(out);
  new (self) PyDraws{std::make_shared<const draws::Program>(std::move(out))};
}

bool in_range(int64_t number, int64_t below) { return number >= 0 && number < below; }

void* output(const draws::Output& of, const Output& out, int64_t count) {
  const auto width = static_cast<int64_t>(of.of.size());
  constexpr const char* where = "Draws: outs";
  switch (of.kind) {
    case draws::Kind::kInt32:
      return checked<int32_t>(where, out, {count, width});
    case draws::Kind::kUint32:
      return checked<uint32_t>(where, out, {count, width});
    default:
      return checked<double>(where, out, {count, width});
  }
}

bool run(const PyDraws& self, uint64_t seed, int64_t epoch, const Input& samples,
         const Input& occurrences, const Input& sizes, const Input& given,
         const std::vector<Output>& outs) {
  const Drawn drawn = Drawn::of(self, samples, occurrences, given, outs);
  const int32_t* px = checked<int32_t>("Draws.run: sizes", sizes, {drawn.count(), 2});
  if (!in_range(epoch, int64_t{1} << 32)) return false;
  const nb::gil_scoped_release unlocked;
  return drawn.run(seed, static_cast<uint32_t>(epoch), px);
}

}  // namespace

Drawn Drawn::of(const PyDraws& draws, const Input& samples, const Input& occurrences,
                const Input& given, const std::vector<Output>& outs) {
  const auto count = static_cast<int64_t>(samples.ndim() == 1 ? samples.shape(0) : 0);
  const int64_t* sample = checked<int64_t>("Draws: samples", samples, {count});
  const int64_t* occurrence = checked<int64_t>("Draws: occurrences", occurrences, {count});
  return of(draws.program, {sample, sample + count}, {occurrence, occurrence + count}, given, outs);
}

Drawn Drawn::of(const std::shared_ptr<const draws::Program>& program, std::vector<int64_t> samples,
                std::vector<int64_t> occurrences, const Input& given,
                const std::vector<Output>& outs) {
  if (outs.size() != program->outputs.size())
    refuse("Draws: outs", "length", std::to_string(outs.size()),
           std::to_string(program->outputs.size()));
  Drawn out{program, std::move(samples), std::move(occurrences), nullptr, {}};
  for (size_t k = 0; k < outs.size(); ++k)
    out.outs.push_back(output(program->outputs[k], outs[k], out.count()));
  const auto width = static_cast<int64_t>(program->given.size());
  out.given = checked<double>("Draws: given", given, {out.count(), width});
  return out;
}

bool Drawn::run(uint64_t seed, uint32_t epoch, const int32_t* sizes) const {
  const auto good = [](const std::vector<int64_t>& numbers, int64_t below) {
    return std::all_of(numbers.begin(), numbers.end(),
                       [&](int64_t it) { return in_range(it, below); });
  };
  if (!good(samples, int64_t{1} << 48) || !good(occurrences, 1 << 16)) return false;
  return draws::run(*program, {seed, epoch, samples, occurrences}, sizes, given, outs);
}

void bind_draws(nb::module_& m) {
  nb::list names, math;
  for (const char* name : draws::kStepNames) names.append(name);
  for (const auto& [name, made] : plain()) math.append(name);
  m.attr("DRAW_STEPS") = nb::tuple(names);
  m.attr("DRAW_MATH") = nb::tuple(math);
  nb::class_<PyDraws>(m, "Draws", nb::is_final())
      .def("__init__", &make, nb::kw_only(), "registers"_a, "steps"_a.noconvert(), "lists"_a,
           "constants"_a, "uniforms"_a.noconvert(), "sizes"_a, "given"_a, "refusals"_a, "outputs"_a,
           "functions"_a)
      .def("run", &run, "seed"_a, "epoch"_a, "samples"_a.noconvert(), "occurrences"_a.noconvert(),
           "sizes"_a.noconvert(), "given"_a.noconvert(), "outs"_a.noconvert());
}

}  // namespace fl::bind
