// Mixed batches: every type, with boxes and erased parts.
#include "pixels/mix.h"

#include <cmath>
#include <string>

#include "check.h"

namespace fl::check {
namespace {

constexpr int kImages = 3, kErased = 2, kChannels = 3;

void any_box(Random& random, int height, int width, int32_t* box) {
  box[2] = random.one_in(3) ? 0 : random.between(0, height);
  box[3] = random.between(0, width);
  box[0] = random.between(0, height - box[2]);
  box[1] = random.between(0, width - box[3]);
}

Partner any_partner(Random& random, int height, int width) {
  Partner out{};
  out.position = random.between(0, kImages - 1);
  any_box(random, height, width, &out.top);
  out.own = random.one_in(4) ? 1.0f : static_cast<float>(random.real(0, 1));
  out.other = 1.0f - out.own;
  return out;
}

// Finite values of the type, as bits.
template <class Type>
void any_values(Random& random, Bytes& bytes) {
  auto* values = reinterpret_cast<typename Type::Bits*>(bytes.data());
  const double most = std::pow(10.0, random.between(-8, 2));
  for (size_t i = 0; i < bytes.size() / sizeof *values; ++i)
    values[i] = sizeof *values == 1 ? static_cast<typename Type::Bits>(random.between(0, 255))
                                    : Type::round(static_cast<float>(random.real(-most, most)));
}

template <class Type>
void one_batch(Check& check, Random& random, Number number) {
  const int height = random.between(1, 20), width = random.between(1, 70), item_size = sizeof(typename Type::Bits);
  Bytes images(size_t{kImages} * height * width * kChannels), table(size_t{3} * 256 * item_size);
  Bytes fills(size_t{kErased} * kChannels * item_size);
  fill(random, images.data(), images.size());
  any_values<Type>(random, table);
  any_values<Type>(random, fills);
  Partner partners[kImages];
  int32_t boxes[kImages][kErased][4];
  for (int n = 0; n < kImages; ++n) {
    partners[n] = any_partner(random, height, width);
    for (auto& box : boxes[n]) any_box(random, height, width, box);
  }
  const int erased = random.one_in(2) ? kErased : 0;
  const bool plain = item_size == 1 && random.one_in(2);
  const cpu::Format format{plain ? nullptr : table.data(), item_size, random.one_in(2)};
  const cpu::Mixture batch{images.data(), height, width, partners, erased ? &boxes[0][0][0] : nullptr,
                           fills.data(),  erased, number};
  Scratch scratch;
  for (int n = 0; n < kImages; ++n) {
    Bytes scalar(size_t{3} * height * width * item_size), tuned(scalar.size());
    cpu::mix(batch, n, format, scalar.data(), scratch, cpu::Target::kScalar);
    cpu::mix(batch, n, format, tuned.data(), scratch, cpu::Target::kBest);
    check.equal(std::to_string(height) + "x" + std::to_string(width), scalar.data(), tuned.data(), scalar.size());
  }
}

}  // namespace

void check_mix() {
  Check check("mix");
  Random random(11);
  for (int n = 0; n < 250; ++n) {
    one_batch<Uint8>(check, random, Number::kUint8);
    one_batch<Float16>(check, random, Number::kFloat16);
    one_batch<Bfloat16>(check, random, Number::kBfloat16);
    one_batch<Float32>(check, random, Number::kFloat32);
  }
}

}  // namespace fl::check
