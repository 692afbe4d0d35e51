// AUGMENT: every instruction by itself on small images, then programs of several.
#include <algorithm>
#include <cstring>

#include "augment/run.h"
#include "body/augment_blur.h"
#include "check.h"

namespace fl::check {
namespace {

using augment::Code, augment::Instruction;

// Uneven in every direction and channel, and the cases that ops treat apart.
void paint(Random& random, uint8_t* image, int64_t pixels) {
  const int kind = random.between(0, 5);
  fill(random, image, pixels * kChannels);
  for (int64_t i = 0; i < pixels; ++i) {
    uint8_t* px = image + i * kChannels;
    if (kind == 1) std::memcpy(px, image, kChannels);  // one colour
    if (kind == 2) px[1] = px[2] = px[0];              // grey
    if (kind == 3)                                     // low contrast
      for (int c = 0; c < kChannels; ++c) px[c] = static_cast<uint8_t>(100 + px[c] % 40);
    if (kind == 4) std::memset(px, 127 + i % 2, kChannels);  // every blur of it is near a tie
  }
}

double factor(Random& random) { return random.one_in(3) ? random.between(-1, 3) : random.real(-1, 12); }

// Turns, shears and scales around the image; shifts, mirrors; maps from far away.
void map(Random& random, double* a, int height, int width) {
  const int kind = random.between(0, 5);
  const double far = kind == 5 ? 1e9 : 1.0;
  const double sides[] = {1, 1, width / 4.0, 1, 1, height / 4.0};
  for (int n = 0; n < 6; ++n) a[n] = random.real(-1, 1) * far * sides[n] + (n % 4 == 0 ? 1 : 0);
  if (kind == 1) a[1] = a[3] = 0;
  if (kind == 2) {
    a[0] = a[4] = 1;
    a[1] = a[3] = 0;
    a[2] = random.between(-width - 2, width + 2);
    a[5] = random.between(-height - 2, height + 2);
  }
  if (kind == 3) a[1] = a[3] = random.pick({0.0, 1e-7, 1e-3});
  if (kind == 4) {
    a[0] = a[4] = random.pick({-1.0, 0.0});
    a[2] = width;
    a[5] = height;
  }
  a[6] = random.real(-0.3, 0.3) / width;
  a[7] = random.real(-0.3, 0.3) / height;
}

void arguments(Random& random, Instruction& it, int height, int width) {
  double* a = it.arguments.data();
  switch (it.code) {
    case Code::kPosterize:
      a[0] = random.between(0, 8);
      return;
    case Code::kSolarize:
      a[0] = random.real(-3, 260);
      return;
    case Code::kSolarizeAdd:
      a[0] = random.between(-255, 255);
      a[1] = random.real(-3, 260);
      return;
    case Code::kAffine:
    case Code::kPerspective:
      return map(random, a, height, width);
    case Code::kGaussianBlur:
      a[0] = 1 + 2 * random.between(0, std::min(width - 1, 12));
      a[1] = 1 + 2 * random.between(0, std::min(height - 1, 12));
      a[2] = random.real(0.05, 8);
      a[3] = random.real(0.05, 8);
      return;
    case Code::kHue:
      a[0] = random.between(0, 255);
      return;
    case Code::kBoxBlur:
      for (int n = 0; n < 2; ++n) a[n] = random.one_in(8) ? kMaxBoxRadius : random.real(0, 9);
      a[2] = random.between(1, 3);
      return;
    case Code::kBorder:
      a[0] = random.between(0, 3);
      a[3] = random.between(1, height);
      a[4] = random.between(1, width);
      a[1] = random.between(0, height - static_cast<int>(a[3]));
      a[2] = random.between(0, width - static_cast<int>(a[4]));
      return;
    case Code::kAdd:
    case Code::kMix:
    case Code::kBlend:
      a[0] = random.real(0, 1);
      return;
    default:
      a[0] = factor(random);
  }
}

Instruction any_instruction(Random& random, Code code, int height, int width) {
  Instruction it;
  it.code = code;
  it.sampling = random.pick({augment::Sampling::kNearest, augment::Sampling::kBilinear, augment::Sampling::kBicubic});
  for (uint8_t& value : it.fill) value = static_cast<uint8_t>(random.one_in(2) ? 0 : random.between(0, 255));
  arguments(random, it, height, width);
  return it;
}

std::string text(const Instruction& it, int height, int width) {
  std::string out = augment::kCodeNames[static_cast<int>(it.code)];
  for (const double value : it.arguments) out.append(" ").append(std::to_string(value));
  out.append(", filter ").append(std::to_string(static_cast<int>(it.sampling)));
  return out.append(", on ").append(std::to_string(height)).append("x").append(std::to_string(width));
}

void one_program(Check& check, Random& random, std::initializer_list<Code> codes) {
  const int height = random.between(1, 45), width = random.between(1, 90);
  const size_t size = static_cast<size_t>(height) * width * kChannels;
  Bytes scalar(size + kPadding), tuned(size + kPadding);
  paint(random, scalar.data(), int64_t{height} * width);
  std::memcpy(tuned.data(), scalar.data(), size);
  augment::Program program;
  std::string what;
  for (const Code code : codes) {
    program.push_back(any_instruction(random, code, height, width));
    what += text(program.back(), height, width) + "; ";
  }
  const ptrdiff_t stride = ptrdiff_t{width} * kChannels;
  augment::Workspace ours, theirs;
  const auto want = augment::run(program, {scalar.data(), height, width, stride}, ours, cpu::Target::kScalar);
  const auto got = augment::run(program, {tuned.data(), height, width, stride}, theirs, cpu::Target::kBest);
  augment::apply(want, cpu::Target::kScalar);
  augment::apply(got, cpu::Target::kBest);
  check.equal(what, want.image.data, got.image.data, size);
}

}  // namespace

void check_augment() {
  Random random(9);
  for (int code = 1; code < static_cast<int>(Code::kCustom); ++code) {  // 0: nothing happens
    Check check(augment::kCodeNames[code]);
    const auto one = static_cast<Code>(code);
    const bool map = one == Code::kAffine || one == Code::kPerspective;
    const bool mixes = one >= Code::kStart;  // these work on what a Start has kept
    for (int n = 0; n < (map ? 1200 : 200); ++n)
      mixes ? one_program(check, random, {Code::kStart, Code::kContrast, Code::kAdd, Code::kColor, one})
            : one_program(check, random, {one});
  }
}

void check_programs() {
  Check check("programs of three");
  Random random(10);
  const auto any = [&] { return static_cast<Code>(random.between(1, static_cast<int>(Code::kStart) - 1)); };
  for (int n = 0; n < 600; ++n) {
    const Code first = any(), second = any(), third = any();  // apart: arguments have no order
    one_program(check, random, {first, second, third});
  }
}

}  // namespace fl::check
