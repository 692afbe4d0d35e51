// Constants of the tuned code: how to take packed numbers apart, and where values go.
#pragma once

#include <array>
#include <cstdint>

#include "jpeg/layer/format.h"

namespace fl::jpeg::layer {

constexpr int kWidths = 16;  // that four bits can say
constexpr int kGroup = 8;    // numbers in 16 bytes

// Eight packed numbers of one width: two bytes that hold each, the factor that brings its sign to
// the top of them, and the factor that brings the rest down again. bad: no such width.
struct alignas(16) Unpacking {
  uint8_t bytes[2 * kGroup];
  uint16_t up[kGroup];
  uint16_t down[kGroup];
};

constexpr std::array<Unpacking, kWidths> make_unpacking() {
  std::array<Unpacking, kWidths> out{};
  for (int width = 1; width < kWidths; ++width) {
    if (!is_width(width)) continue;
    for (int n = 0; n < kGroup; ++n) {
      const int bit = n * width;
      out[width].bytes[2 * n] = static_cast<uint8_t>(bit / 8);
      out[width].bytes[2 * n + 1] = static_cast<uint8_t>(bit / 8 + 1);
      out[width].up[n] = static_cast<uint16_t>(1U << (16 - width - bit % 8));
      out[width].down[n] = static_cast<uint16_t>(1U << (width - 1));
    }
  }
  return out;
}

// The same for the first 32 numbers of a block, by both widths: its first kFirst, then others.
struct alignas(64) UnpackingBoth {
  uint8_t bytes[64];
  uint16_t up[32];
  uint16_t down[32];
};

constexpr UnpackingBoth make_unpacking_both(int first_width, int other_width) {
  UnpackingBoth out{};
  for (int n = 0, bit = 0; n < 32; ++n) {
    const int width = n < kFirst ? first_width : other_width;
    if (width > 0) {
      out.bytes[2 * n] = static_cast<uint8_t>(bit / 8);
      out.bytes[2 * n + 1] = static_cast<uint8_t>(bit / 8 + 1);
      out.up[n] = static_cast<uint16_t>(1U << (16 - width - bit % 8));
      out.down[n] = static_cast<uint16_t>(1U << (width - 1));
    }
    bit += width;
  }
  return out;
}

constexpr std::array<UnpackingBoth, 256> make_both() {
  std::array<UnpackingBoth, 256> out{};
  for (int widths = 0; widths < 256; ++widths)
    if (is_width(widths & 15) && is_width(widths >> 4))
      out[widths] = make_unpacking_both(widths & 15, widths >> 4);
  return out;
}

// By eight bits of a mask: the bytes of the next values, each at its place; 0x80: a zero.
struct alignas(16) Spreading {
  uint8_t bytes[2 * kGroup];
};

constexpr std::array<Spreading, 256> make_spreading() {
  std::array<Spreading, 256> out{};
  for (int mask = 0; mask < 256; ++mask) {
    int from = 0;
    for (int n = 0; n < kGroup; ++n) {
      const bool set = (mask >> n & 1) != 0;
      out[mask].bytes[2 * n] = static_cast<uint8_t>(set ? 2 * from : 0x80);
      out[mask].bytes[2 * n + 1] = static_cast<uint8_t>(set ? 2 * from + 1 : 0x80);
      from += set ? 1 : 0;
    }
  }
  return out;
}

// 1 where four bits are a width.
struct alignas(16) IsWidth {
  uint8_t bytes[kWidths];
};

constexpr IsWidth make_is_width() {
  IsWidth out{};
  for (int bits = 0; bits < kWidths; ++bits) out.bytes[bits] = is_width(bits) ? 1 : 0;
  return out;
}

// From any place in it on, the next lanes' numbers.
struct Counting {
  uint16_t from[64];
};

constexpr Counting make_counting() {
  Counting out{};
  for (int n = 0; n < 64; ++n) out.from[n] = static_cast<uint16_t>(n);
  return out;
}

// What is kept of eight bytes of which `n` are a mask's; 0 where there is no such number.
constexpr std::array<uint64_t, 16> make_kept() {
  std::array<uint64_t, 16> out{};
  for (int n = 1; n <= kMostMask; ++n) out[n] = ~uint64_t{0} >> (64 - 8 * n);
  return out;
}

inline constexpr auto kUnpacking = make_unpacking();
inline constexpr auto kBoth = make_both();
inline constexpr auto kSpreading = make_spreading();
inline constexpr auto kIsWidth = make_is_width();
inline constexpr auto kCounting = make_counting();
inline constexpr auto kKept = make_kept();

}  // namespace fl::jpeg::layer
