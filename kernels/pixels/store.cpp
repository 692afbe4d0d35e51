// STORE on the CPU. Table lookups stay scalar: a gather is not faster than the loads it replaces
// (measured on Zen 3).
#include "pixels/store.h"

#include <cstring>

#include "simd/vectors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixels/store.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace fl::cpu::HWY_NAMESPACE {
#if FL_NO_VECTORS
int64_t Planes(const uint8_t*, int64_t, uint8_t*) { return 0; }
#else
namespace hn = hwy::HWY_NAMESPACE;

// uint8 [pixels, 3] to [3, pixels]; returns how many pixels whole vectors covered.
int64_t Planes(const uint8_t* image, int64_t pixels, uint8_t* out) {
  const hn::ScalableTag<uint8_t> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= pixels; i += lanes) {
    hn::Vec<decltype(d)> r, g, b;
    hn::LoadInterleaved3(d, image + i * 3, r, g, b);
    hn::StoreU(r, d, out + i);
    hn::StoreU(g, d, out + pixels + i);
    hn::StoreU(b, d, out + 2 * pixels + i);
  }
  return i;
}
#endif

}  // namespace fl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fl::cpu {
namespace {

HWY_EXPORT(Planes);

// One row, or the whole image at once; kGather: of the columns that are kept.
template <bool kGather, class T>
void lookup_planes(const Store<T>& how, const uint8_t* __restrict in, int64_t at, int64_t count) {
  const T *red = how.table, *green = red + 256, *blue = green + 256;
  T* __restrict r = how.out + at, * __restrict g = r + how.pixels, * __restrict b = g + how.pixels;
  for (int64_t i = 0; i < count; ++i) {
    const uint8_t* px = in + 3 * (kGather ? how.kept.columns[i] : i);
    r[i] = red[px[0]];
    g[i] = green[px[1]];
    b[i] = blue[px[2]];
  }
}

template <bool kGather, class T>
void lookup_pixels(const Store<T>& how, const uint8_t* __restrict in, int64_t at, int64_t count) {
  const T *red = how.table, *green = red + 256, *blue = green + 256;
  T* __restrict out = how.out + at * 3;
  for (int64_t i = 0; i < count; ++i, out += 3) {
    const uint8_t* px = in + 3 * (kGather ? how.kept.columns[i] : i);
    out[0] = red[px[0]];
    out[1] = green[px[1]];
    out[2] = blue[px[2]];
  }
}

template <bool kGather, class T>
void lookup(const Store<T>& how, const uint8_t* in, int64_t at, int64_t count) {
  how.channels_last ? lookup_pixels<kGather>(how, in, at, count)
                    : lookup_planes<kGather>(how, in, at, count);
}

// A table lookup is one load per value; what is left of the work is the interleaving. Without a
// table, uint8 is copied or dealt out to planes by vectors.
template <class T>
void store_tuned(const Store<T>& how) {
  if (how.kept.rows != nullptr) {
    for (int64_t y = 0, at = 0; at < how.pixels; ++y, at += how.kept.width)
      lookup<true>(how, how.image + how.kept.rows[y] * how.kept.image_width * 3, at,
                   how.kept.width);
    return;
  }
  if (how.table != nullptr) return lookup<false>(how, how.image, 0, how.pixels);
  int64_t done = 0;
  if constexpr (sizeof(T) == 1) {
    if (how.channels_last) {
      std::memcpy(how.out, how.image, how.pixels * 3);
      return;
    }
    done = HWY_DYNAMIC_DISPATCH(Planes)(how.image, how.pixels, how.out);
  }
  for (int64_t i = done; i < how.pixels; ++i) how(i);
}

// AUGMENT's pending lookups are put into the table, so they cost no pass over the pixels: 768
// values are looked up instead of 150,000.
template <class T>
void store_as(const Pixel8& from, const Format& format, void* out, Target target) {
  Store<T> how{from.image,           static_cast<const T*>(format.table),
               static_cast<T*>(out), from.pixels,
               format.channels_last, from.kept};
  T table[3 * 256];
  if (from.first != nullptr || (from.kept.rows != nullptr && how.table == nullptr)) {
    for (int i = 0; i < 3 * 256; ++i)
      table[i] =
          how.value(from.first != nullptr ? (*from.first)[i / 256][i % 256] : i % 256, i / 256);
    how.table = table;
  }
  if (target == Target::kBest) return store_tuned(how);
  for (int64_t i = 0; i < from.pixels; ++i) how(i);
}

template <class T>
struct Erase {            // box by box, so that neighbours share a block of the noise's words
  T* out;                 // [3, height, width] or, channels_last, [height, width, 3]
  int64_t height, width;  // px
  bool channels_last;

  // Fills a box, which lies inside: top, left, height, width (px), with one value per channel.
  void operator()(const int32_t* box, const T* values) const {
    for (int64_t y = box[0]; y < box[0] + box[2]; ++y) {
      for (int channel = 0; channel < 3; ++channel) {
        T* to = channels_last ? out + (y * width + box[1]) * 3 + channel
                              : out + (channel * height + y) * width + box[1];
        for (int64_t x = 0; x < box[3]; ++x) to[channels_last ? x * 3 : x] = values[channel];
      }
    }
  }

  // With table [3, 4096]: one level per value, numbered by row, column and channel of the box.
  void noise(const int32_t* box, uint32_t key, const T* table) const {
    NoiseLevels levels{{key}};
    uint64_t number = 0;
    for (int64_t y = box[0]; y < box[0] + box[2]; ++y) {
      for (int64_t x = box[1]; x < box[1] + box[3]; ++x) {
        for (int channel = 0; channel < 3; ++channel, ++number) {
          const int64_t at =
              channels_last ? (y * width + x) * 3 + channel : (channel * height + y) * width + x;
          out[at] = table[channel * NoiseLevels::kCount + levels.at(number)];
        }
      }
    }
  }

  // With one level per channel.
  void noise_colour(const int32_t* box, uint32_t key, const T* table) const {
    NoiseLevels levels{{key}};
    T values[3];
    for (int channel = 0; channel < 3; ++channel)
      values[channel] = table[channel * NoiseLevels::kCount + levels.at(channel)];
    (*this)(box, values);
  }
};

template <class T>
void erase_as(const Boxes& what, const Format& format, int height, int width, void* out) {
  const Erase<T> fill{static_cast<T*>(out), height, width, format.channels_last};
  for (int k = 0; k < what.count; ++k) {
    const int32_t* box = what.boxes + 4 * k;
    const Filling how = what.fillings != nullptr ? what.fillings[k] : Filling{};
    if (how.kind == Filling::kColour) {
      fill(box, static_cast<const T*>(what.fills) + 3 * k);
      continue;
    }
    const T* table =
        static_cast<const T*>(what.tables) + int64_t{3} * NoiseLevels::kCount * how.table;
    how.kind == Filling::kNoise ? fill.noise(box, what.keys[k], table)
                                : fill.noise_colour(box, what.keys[k], table);
  }
}

}  // namespace

void erase(const Boxes& what, const Format& format, int height, int width, void* out) {
  switch (format.item_size) {
    case 1:
      return erase_as<uint8_t>(what, format, height, width, out);
    case 2:
      return erase_as<uint16_t>(what, format, height, width, out);
    default:
      return erase_as<uint32_t>(what, format, height, width, out);
  }
}

void patches(const void* image, int item_size, int height, int width, int patch, int64_t tokens,
             void* out) {
  const int64_t px = int64_t{3} * item_size, line = px * width, part = px * patch;
  const auto* from = static_cast<const uint8_t*>(image);
  auto* to = static_cast<uint8_t*>(out);
  const uint8_t* end = to + tokens * part * patch;
  for (int64_t top = 0; top < height; top += patch)
    for (int64_t left = 0; left < width; left += patch)
      for (int64_t y = top; y < top + patch; ++y, to += part)
        std::memcpy(to, from + y * line + left * px, part);
  std::memset(to, 0, end - to);
}

void store(const Pixel8& from, const Format& format, void* out, Target target) {
  switch (format.item_size) {
    case 1:
      return store_as<uint8_t>(from, format, out, target);
    case 2:
      return store_as<uint16_t>(from, format, out, target);
    default:
      return store_as<uint32_t>(from, format, out, target);
  }
}

}  // namespace fl::cpu
#endif
