// The horizontal pass where bytes can be moved anywhere in 64 and four of them multiplied and added
// up at once (AVX-512 with VBMI and VNNI): 16 output bytes of one row at a time. Where each of them
// looks, and its weights, are worked out once and used for all rows. Built once per instruction
// set, as Highway asks.
#if defined(FL_CPU_HORIZONTAL_BYTES_H) == defined(HWY_TARGET_TOGGLE)
#ifdef FL_CPU_HORIZONTAL_BYTES_H
#undef FL_CPU_HORIZONTAL_BYTES_H
#else
#define FL_CPU_HORIZONTAL_BYTES_H
#endif

#include "simd/vector_ops.h"

#if FL_BYTE_VECTORS
HWY_BEFORE_NAMESPACE();
namespace fl::cpu::HWY_NAMESPACE::bytes {
using namespace fl::HWY_NAMESPACE;

constexpr int kOutputs = 16;      // bytes
constexpr int kWindow = 64;       // source bytes that one step can see
constexpr int kTaps = 4;          // of one step
constexpr int kMost = 4 * kTaps;  // taps, so that all weights stay in registers
constexpr int kDigits = 3;        // of a weight to the base 256, each -128..127
constexpr int kMaxWidth = 32768;  // px

// Pixels that output bytes 16 * group .. + 15 belong to.
HWY_INLINE int first_pixel(int group) { return group * kOutputs / kChannels; }
HWY_INLINE int last_pixel(int group, const Axis& axis) {
  return std::min((group * kOutputs + kOutputs - 1) / kChannels, axis.count - 1);
}

HWY_INLINE int groups(const Axis& axis) {
  return (axis.count * kChannels + kOutputs - 1) / kOutputs;
}

// Do all bytes that each group's step looks at stand in one window? Positions rise, or fall where
// mirrored. Where not (strong shrinking, or too many taps), the general pass of tuned.cpp is taken.
HWY_INLINE bool fits(const Axis& axis) {
  if (axis.taps > kMost || axis.count > kMaxWidth) return false;
  for (int group = 0; group < groups(axis); ++group) {
    const int apart =
        std::abs(axis.first[last_pixel(group, axis)] - axis.first[first_pixel(group)]);
    if ((apart + kTaps) * kChannels > kWindow) return false;
  }
  return true;
}

// What 16 output bytes need, for each step of four taps: where they look, and their weights. A
// weight is split into three signed digits to the base 256, so that it goes through multipliers of
// 8 bits (dpbusd: unsigned values times signed weights). Sums of digits are exact, and are put
// together at the end.
template <int kSteps>
struct Group {
  ptrdiff_t base;  // byte of the row where the first step's window begins
  V8 indices;      // in the window: four taps of each output
  V32 weights[kSteps][kDigits];

  HWY_INLINE Group(const Axis& axis, int group) {
    const V32 byte = hn::Add(hn::Iota(kD32, 0), hn::Set(kD32, group * kOutputs));
    // By 3, exact below kMaxWidth * 3
    const V32 whole = hn::ShiftRight<17>(hn::Mul(byte, hn::Set(kD32, 43691)));
    const V32 channel = hn::Sub(byte, hn::Mul(whole, hn::Set(kD32, kChannels)));
    const V32 pixel = hn::Min(whole, hn::Set(kD32, axis.count - 1));
    const int lowest =
        std::min(axis.first[first_pixel(group)], axis.first[last_pixel(group, axis)]);
    base = lowest * ptrdiff_t{kChannels};
    const V32 first =
        hn::Sub(hn::GatherIndex(kD32, axis.first.data(), pixel), hn::Set(kD32, lowest));
    const V32 start = hn::Add(hn::Mul(first, hn::Set(kD32, kChannels)), channel);
    const V32 four = hn::Add(hn::Mul(start, hn::Set(kD32, 0x01010101)), hn::Set(kD32, 0x09060300));
    indices = hn::BitCast(kD8, four);
    const V32 of_pixel = hn::Mul(pixel, hn::Set(kD32, axis.taps));
    for (int step = 0; step < kSteps; ++step) take_weights(axis, of_pixel, step);
  }

  // The digit is the low byte with its sign; what is left after subtracting it is a multiple of
  // 256. Taps beyond axis.taps weigh 0, so what is read for them does not count.
  HWY_INLINE void take_weights(const Axis& axis, V32 of_pixel, int step) {
    for (V32& packed : weights[step]) packed = hn::Zero(kD32);
    for (int tap = kTaps - 1; tap >= 0; --tap) {
      V32 rest = hn::Zero(kD32);
      if (step * kTaps + tap < axis.taps)
        rest = hn::GatherIndex(kD32, axis.weights.data() + step * kTaps + tap, of_pixel);
      for (V32& packed : weights[step]) {
        const V32 digit = hn::ShiftRight<24>(hn::ShiftLeft<24>(rest));
        rest = hn::ShiftRight<8>(hn::Sub(rest, digit));
        packed = hn::Or(hn::ShiftLeft<8>(packed), hn::And(digit, hn::Set(kD32, 0xFF)));
      }
    }
  }
};

// Of one row. Reads kWindow bytes per step from group.base on, more than the row may have: the
// caller's image is padded.
template <int kSteps>
HWY_INLINE V32 weighed(const Group<kSteps>& group, const uint8_t* in) {
  V32 sums[kDigits] = {hn::Set(kD32, 1 << (kWeightBits - 1)), hn::Zero(kD32), hn::Zero(kD32)};
  in += group.base;
  for (int step = 0; step < kSteps; ++step, in += kTaps * kChannels) {
    const __m512i values = _mm512_permutexvar_epi8(group.indices.raw, hn::LoadU(kD8, in).raw);
    for (int i = 0; i < kDigits; ++i)
      sums[i] = V32{_mm512_dpbusd_epi32(sums[i].raw, values, group.weights[step][i].raw)};
  }
  const V32 upper = hn::Add(hn::ShiftLeft<8>(sums[2]), sums[1]);
  return hn::ShiftRight<kWeightBits>(hn::Add(hn::ShiftLeft<8>(upper), sums[0]));
}

// Rows top..bottom-1. Writes 16 bytes to each; beyond the last output they are padding of the row.
template <int kSteps>
HWY_INLINE void weigh_group(const Group<kSteps> group, const Image& in, int top, int bottom,
                            const Pixels& out, int at) {
  const hn::FixedTag<uint8_t, kOutputs> d;
  for (int y = top; y < bottom; ++y)
    hn::StoreU(hn::DemoteTo(d, weighed(group, in.row(y))), d, out.row(y) + at);
}

// The same for four groups side by side, whose bytes are one vector.
constexpr int kTogether = 4;

// Packed, every 16 bytes have four outputs of each group.
alignas(64) constexpr uint32_t kByGroup[16] = {0, 4, 8,  12, 1, 5, 9,  13,
                                               2, 6, 10, 14, 3, 7, 11, 15};

HWY_INLINE void weigh_four(const Group<1>* four, const Image& in, int top, int bottom,
                           const Pixels& out, int at) {
  const Group<1> a = four[0], b = four[1], c = four[2], d = four[3];
  const __m512i by_group = _mm512_load_si512(kByGroup);
  for (int y = top; y < bottom; ++y) {
    const uint8_t* const from = in.row(y);
    const V16 first = hn::ReorderDemote2To(kD16, weighed(a, from), weighed(b, from)),
              second = hn::ReorderDemote2To(kD16, weighed(c, from), weighed(d, from));
    const __m512i bytes = _mm512_permutexvar_epi32(by_group, pack_bytes(first, second).raw);
    _mm512_storeu_si512(out.row(y) + at, bytes);
  }
}

// What stays in the first-level cache until all groups are done with it: rows, in and out, and the
// groups.
constexpr int kRowsTogether = 16;
constexpr size_t kGroupBytes = 16 << 10;

// As many groups as the memory holds at a time; for these all rows, a few rows at a time for all
// groups. So neither weights nor pixels are fetched twice from further away than the first-level
// cache.
template <int kSteps>
HWY_NOINLINE void all_groups(const Image& in, const Axis& axis, const Pixels& out) {
  constexpr int kMost = kGroupBytes / sizeof(Group<kSteps>);
  alignas(64) uint8_t memory[kGroupBytes];
  auto* const prepared = reinterpret_cast<Group<kSteps>*>(memory);
  for (int begin = 0; begin < groups(axis); begin += kMost) {
    const int count = std::min(groups(axis) - begin, kMost);
    for (int g = 0; g < count; ++g) new (prepared + g) Group<kSteps>(axis, begin + g);
    for (int top = 0; top < in.height; top += kRowsTogether) {
      const int bottom = std::min(top + kRowsTogether, in.height);
      int g = 0;
      if constexpr (kSteps == 1)
        for (; g + kTogether <= count; g += kTogether)
          weigh_four(prepared + g, in, top, bottom, out, (begin + g) * kOutputs);
      for (; g < count; ++g) weigh_group(prepared[g], in, top, bottom, out, (begin + g) * kOutputs);
    }
  }
}

HWY_INLINE void horizontal(const Image& in, const Axis& axis, const Pixels& out) {
  switch ((axis.taps + kTaps - 1) / kTaps) {
    case 1:
      return all_groups<1>(in, axis, out);
    case 2:
      return all_groups<2>(in, axis, out);
    case 3:
      return all_groups<3>(in, axis, out);
    default:
      return all_groups<4>(in, axis, out);
  }
}

}  // namespace fl::cpu::HWY_NAMESPACE::bytes
HWY_AFTER_NAMESPACE();
#endif  // FL_BYTE_VECTORS

#endif  // toggle
