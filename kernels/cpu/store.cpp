// STORE on the CPU. Table lookups stay scalar: a gather is not faster than the loads it replaces (measured on Zen 3).
#include "cpu/store.h"

#include <cstring>

#include "cpu/vectors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/store.cpp"
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

template <class T>
void lookup_planes(const Store<T>& how) {
  const T *red = how.table, *green = red + 256, *blue = green + 256;
  const uint8_t* __restrict in = how.image;
  T* __restrict r = how.out, * __restrict g = r + how.pixels, * __restrict b = g + how.pixels;
  for (int64_t i = 0; i < how.pixels; ++i, in += 3) {
    r[i] = red[in[0]];
    g[i] = green[in[1]];
    b[i] = blue[in[2]];
  }
}

template <class T>
void lookup_pixels(const Store<T>& how) {
  const T *red = how.table, *green = red + 256, *blue = green + 256;
  const uint8_t* __restrict in = how.image;
  T* __restrict out = how.out;
  for (int64_t i = 0; i < how.pixels; ++i, in += 3, out += 3) {
    out[0] = red[in[0]];
    out[1] = green[in[1]];
    out[2] = blue[in[2]];
  }
}

template <class T>
void store_tuned(const Store<T>& how) {
  if (how.table != nullptr) return how.channels_last ? lookup_pixels(how) : lookup_planes(how);
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

template <class T>
void store_as(const uint8_t* image, int64_t pixels, const Format& format, void* out, Target target) {
  const Store<T> how{image, static_cast<const T*>(format.table), static_cast<T*>(out), pixels, format.channels_last};
  if (target == Target::kBest) return store_tuned(how);
  for (int64_t i = 0; i < pixels; ++i) how(i);
}

}  // namespace

void store(const uint8_t* image, int64_t pixels, const Format& format, void* out, Target target) {
  switch (format.item_size) {
    case 1:
      return store_as<uint8_t>(image, pixels, format, out, target);
    case 2:
      return store_as<uint16_t>(image, pixels, format, out, target);
    default:
      return store_as<uint32_t>(image, pixels, format, out, target);
  }
}

}  // namespace fl::cpu
#endif
