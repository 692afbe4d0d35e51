// philox, uniforms, permute and noise_levels.
//
// What fastload/rng.py is made of. All numbers come from body/philox.h; that the arguments are
// within its ranges is checked here.
#include "body/keyed.h"

#include <nanobind/stl/vector.h>

#include "base/error.h"
#include "bind/bind.h"
#include "body/permute.h"

namespace fl::bind {
namespace {

using namespace nb::literals;

void in_range(const char* what, int64_t got, int64_t below, const char* where = "uniforms") {
  if (got < 0 || got >= below)
    refuse(where, what, std::to_string(got), "0.." + std::to_string(below - 1));
}

uint64_t seed64(const nb::int_& seed) {
  const unsigned long long value = PyLong_AsUnsignedLongLong(seed.ptr());
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    refuse("uniforms", "seed", nb::str(seed).c_str(), "0..18446744073709551615");
  }
  return value;
}

std::vector<uint32_t> philox(const std::vector<uint32_t>& counter,
                             const std::vector<uint32_t>& key) {
  if (counter.size() != 4 || key.size() != 2)
    refuse("philox", "words", std::to_string(counter.size()) + " and " + std::to_string(key.size()),
           "4 and 2");
  const Philox out = Philox::words(counter[0], counter[1], counter[2], counter[3], key[0], key[1]);
  return {out.word, out.word + 4};
}

void fill(Draw draw, int64_t draws, double* out) {
  for (int64_t block = 0; block * 4 < draws; ++block) {
    const Philox words = draw.words(static_cast<uint32_t>(block));
    for (int64_t k = block * 4; k < std::min(draws, block * 4 + 4); ++k)
      out[k] = to_unit(words.word[k % 4]);
  }
}

void uniforms(const nb::int_& seed, int64_t epoch, const Input& samples, const Input& occurrences,
              int64_t op, const Output& out) {
  check("uniforms: out", Facts(out), {kAny, kAny}, nb::dtype<double>());
  const auto count = static_cast<int64_t>(out.shape(0)), draws = static_cast<int64_t>(out.shape(1));
  const int64_t* sample = checked<int64_t>("uniforms: samples", samples, {count});
  const int64_t* occurrence = checked<int64_t>("uniforms: occurrences", occurrences, {count});
  in_range("epoch", epoch, int64_t{1} << 32);
  in_range("op", op, 1 << 16);
  in_range("draws per sample", draws, (4 << 16) + 1);
  const uint64_t key = seed64(seed);
  for (int64_t n = 0; n < count; ++n) {
    in_range("sample", sample[n], int64_t{1} << 48);
    in_range("occurrence", occurrence[n], 1 << 16);
  }
  auto* values = static_cast<double*>(out.data());
  const nb::gil_scoped_release unlocked;
  for (int64_t n = 0; n < count; ++n) {
    const Draw draw{key, static_cast<uint32_t>(epoch), static_cast<uint64_t>(sample[n]),
                    static_cast<uint32_t>(occurrence[n]), static_cast<uint32_t>(op)};
    fill(draw, draws, values + n * draws);
  }
}

void permute(const Input& positions, int64_t n, const nb::int_& seed, int64_t epoch,
             const Output& out) {
  check("permute: out", Facts(out), {kAny}, nb::dtype<int64_t>());
  const auto count = static_cast<int64_t>(out.shape(0));
  const int64_t* position = checked<int64_t>("permute: positions", positions, {count});
  in_range("n - 1", n - 1, int64_t{1} << 62, "permute");
  in_range("epoch", epoch, int64_t{1} << 32, "permute");
  for (int64_t i = 0; i < count; ++i) in_range("position", position[i], n, "permute");
  const Permutation of{static_cast<uint64_t>(n), seed64(seed), static_cast<uint32_t>(epoch)};
  auto* element = static_cast<int64_t*>(out.data());
  for (int64_t i = 0; i < count; ++i)
    element[i] = static_cast<int64_t>(of(static_cast<uint64_t>(position[i])));
}

void noise_levels(uint32_t key, const Output& out) {
  check("noise_levels: out", Facts(out), {kAny}, nb::dtype<uint16_t>());
  auto* levels = static_cast<uint16_t*>(out.data());
  const auto count = static_cast<uint64_t>(out.shape(0));
  const nb::gil_scoped_release unlocked;
  NoiseLevels from{{key}};
  for (uint64_t i = 0; i < count; ++i) levels[i] = static_cast<uint16_t>(from.at(i));
}

}  // namespace

void bind_random(nb::module_& m) {
  m.def("philox", &philox, "counter"_a, "key"_a);
  m.def("uniforms", &uniforms, "seed"_a, "epoch"_a, "samples"_a.noconvert(),
        "occurrences"_a.noconvert(), "op"_a, "out"_a.noconvert());
  m.def("permute", &permute, "positions"_a.noconvert(), "n"_a, "seed"_a, "epoch"_a,
        "out"_a.noconvert());
  m.attr("NOISE_LEVELS") = NoiseLevels::kCount;
  m.def("noise_levels", &noise_levels, "key"_a, "out"_a.noconvert());
}

}  // namespace fl::bind
