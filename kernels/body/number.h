// The types that STORE writes, where it calculates with them: their bits, exactly to float32, and
// rounded once back.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/host_device.h"

namespace fl {

FL_HD uint32_t float_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

FL_HD float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

struct Uint8 {
  using Bits = uint8_t;

  FL_HD static float load(Bits bits) { return bits; }
  // Of 0..255; ties to even
  FL_HD static Bits round(float value) { return static_cast<Bits>(rintf(value)); }
};

// IEEE 754 binary16. Written out in integers: nvcc and C++ compilers have different half types, and
// some machines none.
struct Float16 {
  using Bits = uint16_t;

  FL_HD static float load(Bits bits) {
    const uint32_t sign = (bits & 0x8000u) << 16, exponent = (bits >> 10) & 31u,
                   mantissa = bits & 1023u;
    // Infinite, or no number
    if (exponent == 31) return float_of(sign | 0x7F800000u | mantissa << 13);
    if (exponent > 0) return float_of(sign | (exponent + 112) << 23 | mantissa << 13);
    const float small = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -small : small;
  }

  // Half to even. Below 2^-14 adding 0.5 moves the value to where the last bit of a float32 is
  // 2^-24, so that the FPU rounds it.
  FL_HD static Bits round(float value) {
    const uint32_t bits = float_bits(value), magnitude = bits & 0x7FFFFFFFu;
    const auto sign = static_cast<Bits>((bits >> 16) & 0x8000u);
    uint32_t rounded;
    if (magnitude > 0x7F800000u)
      rounded = 0x7E00u | ((magnitude >> 13) & 1023u);  // no number
    else if (magnitude >= 0x477FF000u)
      rounded = 0x7C00u;  // 65520 and more: infinite
    else if (magnitude < 0x38800000u)
      rounded =
          float_bits(float_of(magnitude) + 0.5f) - 0x3F000000u;  // below 2^-14: multiples of 2^-24
    else
      rounded = (magnitude - 0x38000000u + 0xFFFu + ((magnitude >> 13) & 1u)) >> 13;
    return static_cast<Bits>(sign | rounded);
  }
};

// The upper half of a float32, rounded half to even; what is no number stays none.
struct Bfloat16 {
  using Bits = uint16_t;

  FL_HD static float load(Bits bits) { return float_of(static_cast<uint32_t>(bits) << 16); }
  FL_HD static Bits round(float value) {
    const uint32_t bits = float_bits(value);
    const bool none = (bits & 0x7FFFFFFFu) > 0x7F800000u;
    return static_cast<Bits>(none ? (bits >> 16) | 0x40u
                                  : (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
  }
};

struct Float32 {
  using Bits = uint32_t;

  FL_HD static float load(Bits bits) { return float_of(bits); }
  FL_HD static Bits round(float value) { return float_bits(value); }
};

enum class Number { kUint8, kFloat16, kBfloat16, kFloat32 };

// Calls back with a value of the type.
template <class Call>
void with_number(Number number, const Call& call) {
  switch (number) {
    case Number::kUint8:
      return call(Uint8{});
    case Number::kFloat16:
      return call(Float16{});
    case Number::kBfloat16:
      return call(Bfloat16{});
    default:
      return call(Float32{});
  }
}

}  // namespace fl
