// The check of a program: after `parse` every instruction can run on an image of that size without
// a further look. Ranges are as wide as the kernels can take, not as a user should choose: what
// stays inside overflows no integer and indexes nothing outside. Values are doubles from Python, so
// NaN is refused too.
#include "augment/parse.h"

#include <cmath>
#include <initializer_list>

#include "base/error.h"
#include "body/augment_blur.h"
#include "body/border.h"

namespace fl::augment {
namespace {

constexpr double kFar = 1e9;      // larger numbers are slips; with these nothing overflows
constexpr double kFarMap = 1e15;  // such maps show the fill, but for a px

std::string text(double value) {
  char out[32];
  std::snprintf(out, sizeof out, "%.9g", value);
  return out;
}

double checked(const Where& where, double value, const Range& range) {
  const bool good =
      value >= range.low && value <= range.high && (!range.whole || value == std::floor(value));
  if (!good)  // NaN too
    refuse(where, range.name, text(value),
           (range.whole ? "a whole number, " : "") + text(range.low) + ".." + text(range.high));
  return value;
}

// A mirrored border has no more px than the image less one: more taps would read outside.
void check_blur(const Where& where, const Instruction& it, int height, int width) {
  for (int axis = 0; axis < 2; ++axis) {
    const int taps = static_cast<int>(it.arguments[axis]), side = axis == 0 ? width : height;
    const char* name = axis == 0 ? "taps across" : "taps down";
    if (taps % 2 == 0) refuse(where, name, std::to_string(taps), "an odd number");
    if (taps / 2 >= side)
      refuse(where, name, std::to_string(taps),
             "at most " + std::to_string(2 * side - 1) + " on this image");
  }
}

// Mirrored px come from inside, so there has to be something.
void check_border(const Where& where, const Instruction& it, int height, int width) {
  const auto& a = it.arguments;
  if (a[1] + a[3] > height || a[2] + a[4] > width)
    refuse(where, "what stands inside the border",
           text(a[3]) + "x" + text(a[4]) + " px from row " + text(a[1]) + ", column " + text(a[2]),
           "a part of " + std::to_string(height) + "x" + std::to_string(width) + " px");
  if (static_cast<Border>(a[0]) != Border::kConstant && a[3] * a[4] == 0)
    refuse(where, "what stands inside the border", "nothing", "1 px or more");
}

// The program keeps a pointer into the caller's table, which must outlive it.
const Function* find(const Where& where, double number, std::span<const Function> functions) {
  if (number >= static_cast<double>(functions.size()))
    refuse(where, "function", text(number),
           functions.empty() ? "none, since there are no functions"
                             : "0.." + std::to_string(functions.size() - 1));
  return &functions[static_cast<size_t>(number)];
}

Instruction instruction(const Where& where, const double* row, int height, int width,
                        std::span<const Function> functions) {
  Instruction out;
  out.code = static_cast<Code>(checked(where, row[0], {"code", 0, kCodes - 1, true}));
  out.sampling = static_cast<Sampling>(checked(where, row[1], {"filter", 0, 2, true}));
  for (int c = 0; c < 3; ++c)
    out.fill[c] = static_cast<uint8_t>(checked(where, row[2 + c], {"fill", 0, 255, true}));
  const auto named = ranges(out.code);
  for (size_t k = 0; k < named.size(); ++k) out.arguments[k] = checked(where, row[5 + k], named[k]);
  if (out.code == Code::kGaussianBlur) check_blur(where, out, height, width);
  if (out.code == Code::kBorder) check_border(where, out, height, width);
  if (out.code == Code::kCustom) out.function = find(where, out.arguments[0], functions);
  return out;
}

}  // namespace

#define FL_MAP(number) {"coefficient " #number, -kFarMap, kFarMap}
#define FL_OTHER(name, ...)                                           \
  case Code::k##name: {                                               \
    static constexpr std::initializer_list<Range> all{__VA_ARGS__};   \
    return {all.begin(), all.size()};                                 \
  }
#define FL_LOOKUP(name, result, ...) FL_OTHER(name, __VA_ARGS__)
std::span<const Range> ranges(Code code) {
  switch (code) {
    FL_LOOKUPS(FL_LOOKUP)
    FL_OTHERS(FL_OTHER)
    default:
      return {};
  }
}
#undef FL_LOOKUP
#undef FL_OTHER
#undef FL_MAP

// Sums and mixes need a Start before them: it makes the memory that they use.
Program parse(const Where& where, const double* rows, int64_t depth, int height, int width,
              std::span<const Function> functions) {
  Program out;
  bool started = false;
  if (depth > kMaxDepth)
    refuse(where, "depth", std::to_string(depth), "at most " + std::to_string(kMaxDepth));
  if (height > kMaxSide || width > kMaxSide)
    refuse(where, "image", std::to_string(height) + "x" + std::to_string(width),
           "at most " + std::to_string(kMaxSide) + " px a side");
  for (int64_t k = 0; k < depth; ++k) {
    const Where row(where, k);
    const Instruction it = instruction(row, rows + k * kColumns, height, width, functions);
    if (it.code == Code::kStart) started = true;
    if (it.code > Code::kStart && it.code < Code::kCustom && !started)
      refuse(row, "instruction", kCodeNames[static_cast<int>(it.code)], "a Start before it");
    if (it.code != Code::kIdentity) out.push_back(it);
  }
  return out;
}

}  // namespace fl::augment
