// AUGMENT's instructions: what a row float64 [13] says, and the check that makes it safe to run.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <vector>

namespace fl::augment {

enum class Code : uint8_t {
  kIdentity,
  kBrightness,   // factor
  kPosterize,    // bits kept
  kSolarize,     // threshold
  kSolarizeAdd,  // what is added, threshold
  kInvert,
  kContrast,   // factor
  kColor,      // factor
  kSharpness,  // factor
  kAutoContrast,
  kEqualize,
  kAffine,       // six coefficients, output px to input px
  kPerspective,  // eight
  kGrayscale,
  kFlipX,  // left-right
  kFlipY,
  kGaussianBlur,  // taps across, taps down, sigma across, sigma down (px)
  kHue,           // turn, of 256
  kBoxBlur,       // radius across, down (px), how often
  kStart,         // what the next four start from: this image, and a sum of 0
  kAdd,           // weight: of the image in the sum; the image is the start again
  kSum,           // the image is the sum, cut to uint8
  kMix,           // weight: of the sum, against the start
  kBlend,         // weight: of the image, against the start
  kCustom,        // number of a function, key of its uniforms
};
constexpr const char* kCodeNames[] = {
    "Identity", "Brightness", "Posterize",    "Solarize", "SolarizeAdd", "Invert",      "Contrast",
    "Color",    "Sharpness",  "AutoContrast", "Equalize", "Affine",      "Perspective", "Grayscale",
    "FlipX",    "FlipY",      "GaussianBlur", "Hue",      "BoxBlur",     "Start",       "Add",
    "Sum",      "Mix",        "Blend",        "Custom"};
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
