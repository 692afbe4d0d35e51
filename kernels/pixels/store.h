// STORE of one image on the CPU: body/store.h at the speed of this machine.
#pragma once

#include "body/erase.h"
#include "body/store.h"
#include "pixels/resize.h"

namespace fl::cpu {

// What an image is stored as. item_size 1, 2 or 4 bytes; table [3, 256] of that size, or null for
// item_size 1.
struct Format {
  const void* table;
  int item_size;
  bool channels_last;

  bool plain() const { return table == nullptr && channels_last; }  // the bytes as they are
};

using Lookup = uint8_t[3][256];

// What is stored: uint8 [height, width, 3], contiguous. `first`, if any, is what each value becomes
// before the format's table.
struct Pixel8 {
  const uint8_t* image;
  int64_t pixels;  // that are stored
  Kept kept{};
  const Lookup* first = nullptr;
};

// out: pixels * 3 values of the format, a slot of its own. Must not overlap the image.
void store(const Pixel8& from, const Format& format, void* out, Target target);

// body/erase.h's, whose fills and tables are of the format's type.
struct Boxes {
  const int32_t* boxes = nullptr;
  const void* fills = nullptr;
  int count = 0;
  const Filling* fillings = nullptr;
  const uint32_t* keys = nullptr;
  const void* tables = nullptr;
};

// In an image that is stored already, box after box.
void erase(const Boxes& what, const Format& format, int height, int width, void* out);

// An image that is stored as [height, width, 3] of values of item_size bytes, cut into squares of
// `patch` px, of which both sides are multiples: [tokens, patch, patch, 3], row by row. Zeros fill
// what is behind the last. Must not overlap.
void patches(const void* image, int item_size, int height, int width, int patch, int64_t tokens,
             void* out);

}  // namespace fl::cpu
