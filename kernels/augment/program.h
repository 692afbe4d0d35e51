// AUGMENT's instructions: what a row float64 [13] says, and the check that makes it safe to run.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <vector>

namespace fl::augment {

// The one table of codes, in C++ and in Python (`_native.INSTRUCTIONS`, `_native.ARGUMENTS`).
//
// A lookup makes a new value of each value, wherever it stands. One line holds all that is known of
// it: its name; its result, of an int `value` (0..255) and the arguments `a`, by body/
// augment_point.h; and what each argument may be (Range in augment/parse.h).
#define FL_LOOKUPS(X)                                                                              \
  X(Brightness, blend(0, value, static_cast<float>(a[0])), {"factor", -1e6, 1e6})                  \
  X(Posterize, posterize(value, static_cast<int>(a[0])), {"bits", 0, 8, true})                     \
  X(Solarize, solarize(value, a[0]), {"threshold", -kFar, kFar})                                   \
  X(SolarizeAdd, solarize_add(value, static_cast<int>(a[0]), a[1]), {"addition", -255, 255, true}, \
    {"threshold", -kFar, kFar})                                                                    \
  X(Invert, static_cast<uint8_t>(255 - value), )

// All others. Add to Blend go on from what Start has kept: the image then, and a sum of 0.
#define FL_OTHERS(X)                                                                          \
  X(Contrast, {"factor", -1e6, 1e6})                                                          \
  X(Color, {"factor", -1e6, 1e6})                                                             \
  X(Sharpness, {"factor", -1e6, 1e6})                                                         \
  X(AutoContrast, )                                                                           \
  X(Equalize, )                                                                               \
  /* Pillow's coefficients, output px to input px */                                          \
  X(Affine, FL_MAP(0), FL_MAP(1), FL_MAP(2), FL_MAP(3), FL_MAP(4), FL_MAP(5))                 \
  X(Perspective, FL_MAP(0), FL_MAP(1), FL_MAP(2), FL_MAP(3), FL_MAP(4), FL_MAP(5), FL_MAP(6), \
    FL_MAP(7))                                                                                \
  X(Grayscale, )                                                                              \
  X(FlipX, ) /* left-right */                                                                 \
  X(FlipY, )                                                                                  \
  X(GaussianBlur, {"taps across", 1, kMaxBlur, true}, {"taps down", 1, kMaxBlur, true},       \
    {"sigma across", 1e-6, 1e6}, {"sigma down", 1e-6, 1e6}) /* sigma: px */                   \
  X(Hue, {"turn", 0, 255, true})                            /* of 256 */                      \
  X(BoxBlur, {"radius across", 0, kMaxBoxRadius}, {"radius down", 0, kMaxBoxRadius},          \
    {"repetitions", 1, 16, true}) /* radius: px */                                            \
  /* What lies around an image that stands in this one: `kind` is body/border.h's */          \
  X(Border, {"kind", 0, 3, true}, {"top", 0, kMaxSide, true}, {"left", 0, kMaxSide, true},    \
    {"height", 0, kMaxSide, true}, {"width", 0, kMaxSide, true}) /* px */                     \
  X(Start, )                                                                                  \
  X(Add, {"weight", -1e6, 1e6})   /* of the image in the sum; the image is the start again */ \
  X(Sum, )                        /* the image is the sum, cut to uint8 */                    \
  X(Mix, {"weight", -1e6, 1e6})   /* of the sum, against the start */                         \
  X(Blend, {"weight", -1e6, 1e6}) /* of the image, against the start */                       \
  X(Custom, {"function", 0, kFar, true}, {"key", 0, 4294967295.0, true}) /* key of its uniforms */

// clang-format off
#define FL_LOOKUP(name, result, ...) k##name,
#define FL_OTHER(name, ...) k##name,
enum class Code : uint8_t { kIdentity, FL_LOOKUPS(FL_LOOKUP) FL_OTHERS(FL_OTHER) };
#undef FL_LOOKUP
#undef FL_OTHER
#define FL_LOOKUP(name, result, ...) #name,
#define FL_OTHER(name, ...) #name,
constexpr const char* kCodeNames[] = {"Identity", FL_LOOKUPS(FL_LOOKUP) FL_OTHERS(FL_OTHER)};
#undef FL_LOOKUP
#undef FL_OTHER
// clang-format on
constexpr int kCodes = static_cast<int>(std::size(kCodeNames));
constexpr int kArguments = 8;
constexpr int kColumns = 5 + kArguments;  // code, filter, fill (3), arguments
constexpr int kMaxDepth = 256;
constexpr int kMaxSide = 32767;  // px: positions are 16.16

// A user's function, compiled: it changes uint8 [height, width, channels] in place and gets `count`
// uniforms. Returns 0, or one of the two below. Never called with the GIL.
using Call = int32_t (*)(uint8_t* image, int64_t height, int64_t width, int64_t channels,
                         const double* uniforms, int64_t count);
constexpr int32_t kRaised = 1, kOtherShape = 2;
constexpr int64_t kMaxUniforms = int64_t{1} << 18;

struct Function {
  Call call = nullptr;
  int64_t uniforms = 0;  // how many it gets
};

enum class Sampling : uint8_t { kNearest, kBilinear, kBicubic };

// A checked row. The same numbers go to the GPU (gpu/block/program.h).
struct Instruction {
  Code code = Code::kIdentity;
  Sampling sampling = Sampling::kNearest;
  std::array<uint8_t, 3> fill{};
  std::array<double, kArguments> arguments{};
  const Function* function = nullptr;  // kCustom
};

using Program = std::vector<Instruction>;

}  // namespace fl::augment
