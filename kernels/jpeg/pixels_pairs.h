// What the transforms in vector code share: a block's coefficients from zigzag order to pairs, sums
// of four products, columns to rows. Built once per instruction set, as Highway asks.
//
// 16-bit multiply-adds take two values of one line at a time, so a lane of 32 bits holds a pair:
// rows 0 and 2 of one column, 4 and 6, 1 and 3, 5 and 7. Four lanes (16 bytes) are four columns, in
// the order 0 2 1 3: packed to 16 bits, the results of pass 1 are then the pairs of pass 2, and
// only rows and columns are left to be exchanged.
#if defined(FL_JPEG_PIXELS_PAIRS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef FL_JPEG_PIXELS_PAIRS_H
#undef FL_JPEG_PIXELS_PAIRS_H
#else
#define FL_JPEG_PIXELS_PAIRS_H
#endif

#include "jpeg/pixels_tables.h"
#include "jpeg/pixels_vectors.h"

HWY_BEFORE_NAMESPACE();
namespace fl::jpeg::HWY_NAMESPACE {
#if !FL_NO_VECTORS

// Vectors that the pairs of one block need: columns 0..3, 4..7
constexpr int kParts = kBytes == 16 ? 2 : 1;
constexpr int kTogether = kBytes == 64 ? 2 : 1;  // blocks in one vector

struct Pairs {
  V16 p02, p46, p13, p57;

  HWY_INLINE Pairs() {}  // spelled out: GCC does not give a generated one the target's attributes
  HWY_INLINE Pairs(V16 a, V16 b, V16 c, V16 d) : p02(a), p46(b), p13(c), p57(d) {}
};

// ---- zigzag order to pairs

#if HWY_MAX_BYTES >= 64

HWY_INLINE V16 gather(const int16_t* block, int pairs) {
  const V16 lower = hn::Load(kD16, block), upper = hn::Load(kD16, block + 32);
  const auto indices = hn::Load(hn::RebindToUnsigned<decltype(kD16)>(), kIndices.lanes[pairs]);
  return V16{_mm512_permutex2var_epi16(lower.raw, indices.raw, upper.raw)};
}

HWY_INLINE Pairs load_pairs(const int16_t* a, const int16_t* b, int /*part*/) {
  const V16 a0 = gather(a, 0), a1 = gather(a, 1), b0 = gather(b, 0), b1 = gather(b, 1);
  return {hn::ConcatLowerLower(kD16, b0, a0), hn::ConcatUpperUpper(kD16, b0, a0),
          hn::ConcatLowerLower(kD16, b1, a1), hn::ConcatUpperUpper(kD16, b1, a1)};
}

#else

#if HWY_MAX_BYTES >= 32
HWY_INLINE V8 load_groups(const int16_t* block, const int* groups, int /*part*/) {
  if (groups[1] == groups[0] + 1) return hn::BitCast(kD8, hn::LoadU(kD16, block + 8 * groups[0]));
  const hn::Half<decltype(kD16)> half;
  return hn::BitCast(kD8, hn::Combine(kD16, hn::LoadU(half, block + 8 * groups[1]),
                                      hn::LoadU(half, block + 8 * groups[0])));
}
#else
HWY_INLINE V8 load_groups(const int16_t* block, const int* groups, int part) {
  return hn::BitCast(kD8, hn::Load(kD16, block + 8 * groups[part]));
}
#endif

template <int kPair>
HWY_INLINE V16 gather(const int16_t* block, int part) {
  V8 out = hn::Zero(kD8);
  for (int step = kFirstStep[kPair]; step < kFirstStep[kPair + 1]; ++step) {
    const V8 shuffle = hn::Load(kD8, kShuffles.bytes[step] + 16 * part);
    out = hn::Or(out, hn::TableLookupBytesOr0(load_groups(block, kGroups[step], part), shuffle));
  }
  return hn::BitCast(kD16, out);
}

HWY_INLINE Pairs load_pairs(const int16_t* block, const int16_t* /*other*/, int part) {
  return {gather<0>(block, part), gather<1>(block, part), gather<2>(block, part),
          gather<3>(block, part)};
}

#endif

// The sums of plausible_block, but of one column each: if no two of them can be too much, that is
// all there is to say. Where this says no, the specification's plausible_block decides.
HWY_INLINE bool surely_plausible(const Pairs& values, const Pairs& quant) {
  // A DC may be -32768, of which Abs is -32768; all other values are nearer to 0.
  const V16 with_dc = hn::Max(values.p02, hn::SaturatedSub(hn::Zero(kD16), values.p02));
  V32 odd = hn::Zero(kD32);  // what NEON's multiply-add leaves in a second vector
  V32 sums = add_products(with_dc, quant.p02, hn::Zero(kD32), odd);
  sums = add_products(hn::Abs(values.p46), quant.p46, sums, odd);
  sums = add_products(hn::Abs(values.p13), quant.p13, sums, odd);
  sums = add_products(hn::Abs(values.p57), quant.p57, sums, odd);
  sums = hn::RearrangeToOddPlusEven(sums, odd);
  return hn::AllFalse(kD32, hn::Gt(sums, hn::Set(kD32, kMaxBlockSum / 2)));
}

HWY_INLINE Pairs operator*(const Pairs& a, const Pairs& b) {  // keeps the low 16 bits
  return {hn::Mul(a.p02, b.p02), hn::Mul(a.p46, b.p46), hn::Mul(a.p13, b.p13),
          hn::Mul(a.p57, b.p57)};
}

constexpr int kLanes16 = kBytes / 2;

HWY_INLINE Pairs prepared(const Quantiser& quant, int part) {
  const int16_t* values = quant.values + 4 * kLanes16 * part;
  return {hn::Load(kD16, values), hn::Load(kD16, values + kLanes16),
          hn::Load(kD16, values + 2 * kLanes16), hn::Load(kD16, values + 3 * kLanes16)};
}

HWY_INLINE void store_pairs(const Pairs& pairs, Quantiser& out, int part) {
  int16_t* values = out.values + 4 * kLanes16 * part;
  hn::Store(pairs.p02, kD16, values);
  hn::Store(pairs.p46, kD16, values + kLanes16);
  hn::Store(pairs.p13, kD16, values + 2 * kLanes16);
  hn::Store(pairs.p57, kD16, values + 3 * kLanes16);
}

// ---- one pass: line by line in the lanes

// `start` and four products, of a's pairs with the first factors and of b's with the second.
HWY_INLINE V32 dot(V16 a, V16 b, const int16_t (*by)[32], int32_t start) {
  V32 rest;
  const V32 first = begin_sum(start, rest),
            sum = add_products(a, hn::Load(kD16, by[0]), first, rest);
  return hn::RearrangeToOddPlusEven(add_products(b, hn::Load(kD16, by[1]), sum, rest), rest);
}

// The same with two products.
HWY_INLINE V32 dot(V16 a, const int16_t (*by)[32], int32_t start) {
  V32 rest;
  const V32 first = begin_sum(start, rest),
            sum = add_products(a, hn::Load(kD16, by[0]), first, rest);
  return hn::RearrangeToOddPlusEven(sum, rest);
}

// ---- columns to rows

// 16 bytes: four rows (in kOrder) of two pairs of columns: p02 or p46 in `even`, p13 or p57 in
// `odd`
struct Turned {
  V32 even, odd;
};

HWY_INLINE Turned turn(const V32* lines) {
  const V32 a = hn::BitCast(kD32, hn::ReorderDemote2To(kD16, lines[0], lines[1]));  // saturates
  const V32 b = hn::BitCast(kD32, hn::ReorderDemote2To(kD16, lines[2], lines[3]));
  return {hn::OddEven(hn::Shuffle2301(b), a), hn::OddEven(b, hn::Shuffle2301(a))};
}

HWY_INLINE V16 left(V32 upper, V32 lower) {  // columns 0..3 of rows 0..3 and of rows 4..7
  return hn::BitCast(kD16, hn::OddEvenBlocks(hn::SwapAdjacentBlocks(lower), upper));
}

HWY_INLINE V16 right(V32 upper, V32 lower) {
  return hn::BitCast(kD16, hn::OddEvenBlocks(lower, hn::SwapAdjacentBlocks(upper)));
}

// ---- samples

// Four columns of samples: in every 16 bytes, four of each.
HWY_INLINE V8 columns_to_bytes(const V32* lines) {
  return pack_bytes(hn::ReorderDemote2To(kD16, lines[0], lines[1]),
                    hn::ReorderDemote2To(kD16, lines[2], lines[3]));
}

// Columns of samples to rows: in every 16 bytes, four rows of four.
HWY_INLINE V32 four_columns(const V32* lines) {
  return hn::BitCast(kD32,
                     hn::TableLookupBytes(columns_to_bytes(lines), hn::LoadDup128(kD8, kTurn)));
}

HWY_INLINE void clear(int16_t* block) {
  for (int i = 0; i < kBlockValues; i += kBytes / 2) hn::Store(hn::Zero(kD16), kD16, block + i);
}
#endif
}  // namespace fl::jpeg::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
