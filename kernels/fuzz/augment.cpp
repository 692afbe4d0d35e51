// Programs of AUGMENT: scalar against tuned, and against the GPU's machine by an emulated block, on
// an image with nothing but its padding behind it.
//
// Input: 6 bytes (height, width, two of the image, how), then 27 per instruction: code, filter,
// fill, eight arguments.
//
// Most inputs are mended to programs that can run; one in eight is taken as it is, and must then be
// refused or run.
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>

#include "augment/parse.h"
#include "augment/run.h"
#include "fuzz/check.h"
#include "gpu/block/emulated.h"
#include "gpu/block/machine.h"
#include "gpu/block/pack.h"

namespace fl::fuzz {
namespace {

using augment::Code;

constexpr size_t kChoices = 6, kRow = 3 + 3 * augment::kArguments;
constexpr size_t kMostRows = 6;
constexpr int kMostArea = 1 << 11;  // px

int32_t shift(uint8_t* image, int64_t height, int64_t width, int64_t channels,
              const double* uniforms, int64_t) {
  for (int64_t i = 0; i < height * width * channels; ++i)
    image[i] += static_cast<uint8_t>(uniforms[i % 3] * 255);
  return 0;
}

int32_t raise(uint8_t*, int64_t, int64_t, int64_t, const double*, int64_t) {
  return augment::kRaised;
}

constexpr augment::Function kFunctions[] = {{&shift, 3}, {&raise, 0}};

struct Picture {
  int height, width;
  uint8_t mask, base;  // of the noise
  uint8_t how;

  explicit Picture(const uint8_t* n)
      : height(1 + n[0]),
        width(1 + n[1]),
        mask(n[2]),
        base(n[3]),
        how(static_cast<uint8_t>(n[4] ^ n[5])) {
    if (height * width > kMostArea)
      (height > width ? height : width) = kMostArea / std::min(height, width);
  }

  size_t bytes() const { return static_cast<size_t>(height) * width * kChannels; }

  // Channels differ, except where nothing but `base` is left.
  std::unique_ptr<uint8_t[]> make() const {
    std::unique_ptr<uint8_t[]> out(new uint8_t[bytes() + kPadding]);
    uint32_t state = 1;
    for (size_t i = 0; i < bytes(); ++i) {
      state = state * 1664525U + 1013904223U;
      out[i] = static_cast<uint8_t>((state >> 24 & mask) ^ base);
    }
    return out;
  }
};

// Small numbers with fractions, whole ones, all sizes, and those that stand at an edge.
double number(const uint8_t* n) {
  constexpr double kEdges[] = {0.0,
                               -0.0,
                               1.0,
                               -1.0,
                               0.5,
                               2.0,
                               126.5,
                               127.0,
                               255.0,
                               256.0,
                               1e6,
                               -1e6,
                               32767.0,
                               32768.0,
                               -32768.0,
                               1e9,
                               -1e9,
                               1e15,
                               -1e15,
                               1e-6,
                               std::numeric_limits<double>::denorm_min(),
                               std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN()};
  const auto whole = static_cast<int16_t>(n[0] | n[1] << 8);
  if (n[2] < 96) return whole / 256.0;
  if (n[2] < 160) return whole % 512;
  if (n[2] < 224) return std::ldexp(whole, n[2] - 200);
  return kEdges[n[0] % std::size(kEdges)];
}

// What the arguments may be.
void mend(double* row, const Picture& picture, bool& started) {
  auto code = static_cast<Code>(static_cast<int>(row[0]));
  started |= code == Code::kStart;
  if (code > Code::kStart && code < Code::kCustom && !started) {
    row[0] = static_cast<double>(Code::kStart);
    started = true;
    return;
  }
  double* to = row + 5;
  for (const augment::Range& range : augment::ranges(code)) {
    double value = *to >= range.low ? std::min(*to, range.high) : range.low;  // NaN too
    *to++ = range.whole ? std::floor(value) : value;
  }
  if (code == Code::kCustom) row[5] = std::fmod(row[5], 2);
  for (int axis = 0; axis < 2 && code == Code::kBorder; ++axis) {
    const double side = axis == 0 ? picture.height : picture.width;
    row[6 + axis] = std::min(row[6 + axis], side - 1);
    row[8 + axis] = std::clamp(row[8 + axis], 1.0, side - row[6 + axis]);
  }
  for (int axis = 0; axis < 2 && code == Code::kGaussianBlur; ++axis) {
    const int most = 2 * (axis == 0 ? picture.width : picture.height) - 1;
    row[5 + axis] = static_cast<int>(std::min<double>(row[5 + axis], most)) | 1;
  }
}

std::vector<double> rows_of(Bytes input, const Picture& picture) {
  std::vector<double> out;
  bool started = false;
  for (size_t n = 0; n < std::min(kMostRows, input.size() / kRow); ++n) {
    const uint8_t* from = &input[n * kRow];
    const bool raw = picture.how % 8 == 0;
    out.push_back(raw ? from[0] : from[0] % augment::kCodes);
    out.push_back(raw ? from[1] : from[1] % 3);
    for (const int factor : {1, 7, 13}) out.push_back(static_cast<uint8_t>(from[2] * factor));
    for (int k = 0; k < augment::kArguments; ++k) out.push_back(number(from + 3 + 3 * k));
    if (!raw) mend(&out[out.size() - augment::kColumns], picture, started);
  }
  return out;
}

struct Made {
  std::unique_ptr<uint8_t[]> memory;  // the picture
  augment::Workspace workspace;
  const uint8_t* pixels = nullptr;
  std::string why;
};

void make(const augment::Program& program, const Picture& picture, cpu::Target target, Made& out) {
  out.memory = picture.make();
  out.why.clear();
  const Pixels image{out.memory.get(), picture.height, picture.width,
                     ptrdiff_t{picture.width} * kChannels};
  try {
    const augment::Result done = augment::run(program, image, out.workspace, target);
    augment::apply(done, target);
    out.pixels = done.image.data;
  } catch (const std::runtime_error& error) {
    out.why = error.what();
  }
}

// Shared memory for all of it, for a part or for nothing but the state; of several sizes of block.
void compare_with_block(const augment::Program& program, const Picture& picture,
                        const uint8_t* pixels) {
  constexpr int kThreads[] = {1, 7, 32, 97};
  std::vector<int32_t> order(kThreads[picture.how >> 3 & 3]);
  std::iota(order.rbegin(), order.rend(), 0);
  const block::EmulatedThreads threads{order.data(), static_cast<int>(order.size())};
  const block::Packed packed = block::pack("fuzz", {program}, picture.height, picture.width);
  const auto bytes = static_cast<int64_t>(picture.bytes());
  const int64_t limits[] = {0, 9000, 48 << 10};
  const block::Layout how = block::layout(bytes, packed.needs, limits[(picture.how >> 5) % 3]);
  const block::Guarded data(static_cast<int64_t>(packed.bytes.size())), shared(how.shared),
      workspace(how.workspace), out(bytes);
  std::copy(packed.bytes.begin(), packed.bytes.end(), data.data());
  const block::Programs all = packed.at(data.data());
  const auto from = picture.make();
  block::Machine(threads, {how, shared.data(), workspace.data(), out.data()}, picture.height,
                 picture.width)
      .run(from.get(), all.ops + all.first[0], all.ops + all.first[1], all.extras);
  want(std::memcmp(out.data(), pixels, picture.bytes()) == 0,
       "the GPU's machine gives other pixels");
}

bool on_device(const augment::Program& program) {
  return std::none_of(program.begin(), program.end(),
                      [](const auto& it) { return it.code == Code::kCustom; });
}

void run(Bytes input) {
  static Made scalar, tuned;
  if (input.size() < kChoices) return;
  const Picture picture(input.data());
  const std::vector<double> rows = rows_of(input.subspan(kChoices), picture);
  augment::Program program;
  try {
    program =
        augment::parse("fuzz", rows.data(), static_cast<int64_t>(rows.size()) / augment::kColumns,
                       picture.height, picture.width, kFunctions);
  } catch (const std::invalid_argument& error) {
    return want(picture.how % 8 == 0 && std::string_view(error.what()).starts_with("fuzz["),
                error.what());
  }
  make(program, picture, cpu::Target::kScalar, scalar);
  make(program, picture, cpu::Target::kBest, tuned);
  want(scalar.why == tuned.why,
       "scalar and tuned disagree: \"" + scalar.why + "\", \"" + tuned.why + "\"");
  if (!scalar.why.empty()) return;
  want(std::memcmp(scalar.pixels, tuned.pixels, picture.bytes()) == 0,
       "scalar and tuned give other pixels");
  if (picture.how % 2 == 1 && on_device(program))
    compare_with_block(program, picture, scalar.pixels);
}

}  // namespace
}  // namespace fl::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fl::fuzz::run({data, size});
  return 0;
}
