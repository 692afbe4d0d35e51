// The extension module _test_pixels: the steps of jpeg/pixels.h, unstuff.h and markers.h one by
// one, on any instruction set of this machine. For tests only; built with FASTLOAD_TEST_MODULES.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <string>

#include "simd/vectors.h"

#include "bind/arrays.h"
#include "hwy/highway.h"
#include "jpeg/markers.h"
#include "jpeg/pixels.h"
#include "jpeg/unstuff.h"
#include "simd/targets.h"

namespace fl::jpeg {
namespace {

using namespace nanobind::literals;
using bind::checked, bind::Input, bind::Output, bind::kAny;

int64_t parse_set(const std::string& name) {
  for (int64_t left = hwy::SupportedTargets() & HWY_TARGETS; left != 0; left &= left - 1)
    if (name == hwy::TargetName(left & -left)) return left & -left;
  throw std::invalid_argument("target: unknown on this machine (got \"" + name + "\")");
}

// The operations of "scalar", "best", or a set of instructions by name; holds Highway to that set
// while it lives. Not for two threads at a time: Highway's choice belongs to the process.
class Ops {
 public:
  explicit Ops(const std::string& name) : ops_(name == "scalar" ? kScalarPixels : kTunedPixels) {
    if (name != "scalar" && name != "best") choose(parse_set(name));
  }
  ~Ops() { choose(0); }
  Ops(const Ops&) = delete;
  Ops& operator=(const Ops&) = delete;
  bool scalar() const { return &ops_ == &kScalarPixels; }
  const PixelOps* operator->() const { return &ops_; }

 private:
  static void choose(int64_t set) {
    hwy::SetSupportedTargetsForTest(set);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  const PixelOps& ops_;
};

struct alignas(64) Block {
  int16_t values[kBlockValues];
};

// blocks int16 [MCUs, step, 64]: of each MCU the first `across` blocks are used (the others stand
// for other components). out uint8 [size, bytes]: tile n, of size (8, 4, 2 or 1) rows, at column n
// * size. Returns the verdict.
bool idct(const Output& blocks, const Input& quant, const Output& out, int across,
          const std::string& target) {
  const auto rows = static_cast<int>(out.ndim() == 2 ? out.shape(0) : 0);
  if (rows != 8 && rows != 4 && rows != 2 && rows != 1)
    throw std::invalid_argument("idct: size of a tile");
  int16_t* values = checked<int16_t>("idct: blocks", blocks, {kAny, kAny, kBlockValues});
  const uint16_t* table = checked<uint16_t>("idct: quant", quant, {kBlockValues});
  uint8_t* tiles = checked<uint8_t>("idct: out", out, {rows, kAny});
  const auto mcus = static_cast<int>(blocks.shape(0)), step = static_cast<int>(blocks.shape(1));
  const auto stride = static_cast<ptrdiff_t>(out.shape(1));
  if (across < 1 || across > step) throw std::invalid_argument("idct: across");
  if (mcus * across * rows > stride) throw std::invalid_argument("idct: out is too narrow");
  const auto aligned = std::make_unique<Block[]>(static_cast<size_t>(mcus) * step);
  const size_t size = static_cast<size_t>(mcus) * step * kBlockValues;
  std::copy_n(values, size, aligned[0].values);
  const Ops ops(target);
  Quantiser prepared;
  ops->prepare(table, prepared);
  const auto transform = ops->transform(rows);
  const Blocks all{aligned[0].values, step * ptrdiff_t{kBlockValues}, mcus * across, across,
                   kBlockValues};
  const bool good = transform(all, prepared, {tiles, stride});
  std::copy_n(aligned[0].values, size, values);
  return good;
}

// file uint8 [N], of which bytes begin..stop-1 are taken; out uint8 [room]. Returns the first byte
// that was not taken, how many were written, and whether it is at a marker or at the end.
nanobind::tuple take_unstuffed(const Input& file, int64_t begin, int64_t stop, const Output& out,
                               const std::string& target) {
  const uint8_t* bytes = checked<uint8_t>("unstuff: file", file, {kAny});
  uint8_t* to = checked<uint8_t>("unstuff: out", out, {kAny});
  const auto size = static_cast<int64_t>(file.shape(0));
  if (begin < 0 || begin > stop || stop > size)
    throw std::invalid_argument("unstuff: begin or stop");
  const Ops ops(target);
  const Unstuffed got = unstuff(bytes + begin, bytes + stop, bytes + size, to, out.shape(0),
                                ops.scalar() ? cpu::Target::kScalar : cpu::Target::kBest);
  return nanobind::make_tuple(got.in - bytes, got.out - to, got.ended);
}

Columns check_columns(int begin, const Input& in, const Output& out) {
  const Columns columns{begin, begin + static_cast<int>(out.shape(0)),
                        static_cast<int>(in.shape(0))};
  if (begin < 0 || columns.end <= begin || columns.end > 2 * columns.samples)
    throw std::invalid_argument("upsample: columns");
  return columns;
}

// The offset of the next marker from `begin` on; the file's size if there is none.
int64_t find_marker(const Input& file, int64_t begin, const std::string& target) {
  const uint8_t* bytes = checked<uint8_t>("next_marker: file", file, {kAny});
  const auto size = static_cast<int64_t>(file.shape(0));
  if (begin < 0 || begin > size) throw std::invalid_argument("next_marker: begin");
  const Ops ops(target);
  const cpu::Target on = ops.scalar() ? cpu::Target::kScalar : cpu::Target::kBest;
  return next_marker(bytes + begin, bytes + size, on) - bytes;
}

// Whole rows of samples in; pixels begin .. begin + len(out) - 1 out.
void upsample_h2v1(const Input& in, int begin, const Output& out, const std::string& target) {
  const uint8_t* samples = checked<uint8_t>("upsample: in", in, {kAny});
  uint8_t* pixels = checked<uint8_t>("upsample: out", out, {kAny});
  Ops(target)->upsample_h2v1(samples + begin / 2, check_columns(begin, in, out), pixels);
}

void upsample_h2v2(const Input& near, const Input& far, int begin, const Output& out,
                   const std::string& target) {
  const uint8_t* own = checked<uint8_t>("upsample: near", near, {kAny});
  const uint8_t* other =
      checked<uint8_t>("upsample: far", far, {static_cast<int64_t>(near.shape(0))});
  uint8_t* pixels = checked<uint8_t>("upsample: out", out, {kAny});
  Ops(target)->upsample_h2v2(own + begin / 2, other + begin / 2, check_columns(begin, near, out),
                             pixels);
}

void upsample_h1v2(const Input& near, const Input& far, bool below, const Output& out,
                   const std::string& target) {
  uint8_t* pixels = checked<uint8_t>("upsample: out", out, {kAny});
  const auto width = static_cast<int64_t>(out.shape(0));
  const uint8_t* own = checked<uint8_t>("upsample: near", near, {width});
  const uint8_t* other = checked<uint8_t>("upsample: far", far, {width});
  Ops(target)->upsample_h1v2(own, other, below, static_cast<int>(width), pixels);
}

void repeat(const Input& in, int times, int begin, const Output& out) {
  const uint8_t* samples = checked<uint8_t>("repeat: in", in, {kAny});
  uint8_t* pixels = checked<uint8_t>("repeat: out", out, {kAny});
  const auto end = begin + static_cast<int64_t>(out.shape(0));
  if (times < 1 || begin < 0 || end > static_cast<int64_t>(in.shape(0)) * times)
    throw std::invalid_argument("repeat: columns");
  repeat_samples(samples + begin / times, times, begin, static_cast<int>(end), pixels);
}

// how: rgb (of y, cb, cr), interleave or grey (the first row only).
void colour_row(const std::string& how, const Input& a, const Input& b, const Input& c,
                const Output& out, const std::string& target) {
  uint8_t* pixels = checked<uint8_t>("colour_row: out", out, {kAny, kChannels});
  const auto width = static_cast<int64_t>(out.shape(0));
  const uint8_t* first = checked<uint8_t>("colour_row: a", a, {width});
  const uint8_t* second = checked<uint8_t>("colour_row: b", b, {width});
  const uint8_t* third = checked<uint8_t>("colour_row: c", c, {width});
  const Ops ops(target);
  if (how == "rgb")
    ops->rgb_row(first, second, third, pixels, static_cast<int>(width));
  else if (how == "interleave")
    ops->interleave_row(first, second, third, pixels, static_cast<int>(width));
  else
    ops->grey_row(first, pixels, static_cast<int>(width));
}

std::string upsampling(int horizontal, int vertical, int samples) {
  constexpr const char* names[] = {"none", "h2v1", "h1v2", "h2v2", "repeat"};
  return names[static_cast<int>(choose_upsampling(horizontal, vertical, samples))];
}

}  // namespace
}  // namespace fl::jpeg

NB_MODULE(_test_pixels, m) {
  using namespace fl::jpeg;
  m.def("targets", &fl::cpu::targets);
  m.def("idct", &idct, "blocks"_a.noconvert(), "quant"_a.noconvert(), "out"_a.noconvert(),
        "across"_a, "target"_a);
  m.def("unstuff", &take_unstuffed, "file"_a.noconvert(), "begin"_a, "stop"_a, "out"_a.noconvert(),
        "target"_a);
  m.def("next_marker", &find_marker, "file"_a.noconvert(), "begin"_a, "target"_a);
  m.def("upsample_h2v1", &upsample_h2v1, "in_"_a.noconvert(), "begin"_a, "out"_a.noconvert(),
        "target"_a);
  m.def("upsample_h2v2", &upsample_h2v2, "near"_a.noconvert(), "far"_a.noconvert(), "begin"_a,
        "out"_a.noconvert(), "target"_a);
  m.def("upsample_h1v2", &upsample_h1v2, "near"_a.noconvert(), "far"_a.noconvert(), "below"_a,
        "out"_a.noconvert(), "target"_a);
  m.def("repeat", &repeat, "in_"_a.noconvert(), "times"_a, "begin"_a, "out"_a.noconvert());
  m.def("colour_row", &colour_row, "how"_a, "a"_a.noconvert(), "b"_a.noconvert(), "c"_a.noconvert(),
        "out"_a.noconvert(), "target"_a);
  m.def("upsampling", &upsampling, "horizontal"_a, "vertical"_a, "samples"_a);
}
