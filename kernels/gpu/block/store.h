// STORE of a batch as a device runs it, one thread a px: what each image keeps, is erased of and
// mixed with lies in one buffer that the host has packed and checked (bind/device_store.cpp).
#pragma once

#include "body/erase.h"
#include "body/mix.h"
#include "body/number.h"
#include "body/store.h"

namespace fl::block {

constexpr int64_t kNone = -1;

// Bytes of the buffer where the lists begin, multiples of 16; kNone: there is none.
struct StoreLists {
  // Int32 [1 or images, height] and [.., width]: what is kept
  int64_t rows = kNone, columns = kNone;
  // From an image's list to the next one's; 0: there is one for all
  int64_t rows_step = 0, columns_step = 0;
  int64_t boxes = kNone, fills = kNone;  // Erased's; boxes and keys of every image
  int64_t fillings = kNone, keys = kNone;
  int32_t erased = 0;        // boxes of an image
  int64_t partners = kNone;  // one each
};

struct StoreShape {
  int64_t count;                      // images
  int64_t image_height, image_width;  // px, as they lie there
  int64_t height, width;              // px, as they are stored
  Number number;
  bool channels_last;
  StoreLists lists;
};

// Where it all is: addresses, of a device or of the host.
struct StoreArgs {
  uintptr_t images;  // uint8 [count, image_height, image_width, 3]
  uintptr_t table;   // [3, 256]; 0 stores the uint8 value
  uintptr_t noise;   // [tables, 3, 4096]; 0: there is none
  uintptr_t lists;   // the buffer, at a multiple of 16; 0: it is empty
  uintptr_t out;
};

template <class T>  // uint8_t, or the bits of a 16- or 32-bit type
struct StoreBatch {
  const uint8_t* images;
  const T *table, *noise;
  const uint8_t* lists;
  T* out;
  int64_t image_pixels, image_width;
  int64_t pixels, width;
  bool channels_last;
  StoreLists where;

  StoreBatch(const StoreShape& shape, const StoreArgs& args)
      : images(reinterpret_cast<const uint8_t*>(args.images)),
        table(reinterpret_cast<const T*>(args.table)),
        noise(reinterpret_cast<const T*>(args.noise)),
        lists(reinterpret_cast<const uint8_t*>(args.lists)),
        out(reinterpret_cast<T*>(args.out)),
        image_pixels(shape.image_height * shape.image_width),
        image_width(shape.image_width),
        pixels(shape.height * shape.width),
        width(shape.width),
        channels_last(shape.channels_last),
        where(shape.lists) {}

  template <class Item>
  FL_HD const Item* list(int64_t from, int64_t first) const {
    return from == kNone ? nullptr : reinterpret_cast<const Item*>(lists + from) + first;
  }

  FL_HD const uint8_t* image(int64_t n) const { return images + n * image_pixels * 3; }

  FL_HD Kept kept(int64_t n) const {
    return {list<int32_t>(where.rows, n * where.rows_step),
            list<int32_t>(where.columns, n * where.columns_step), width, image_width};
  }

  FL_HD Erased<T> erased(int64_t n) const {
    const int64_t first = n * where.erased;
    return {list<int32_t>(where.boxes, first * 4), list<T>(where.fills, 0),           where.erased,
            list<Filling>(where.fillings, 0),      list<uint32_t>(where.keys, first), noise};
  }

  // One px of image n.
  FL_HD void store(int64_t n, int64_t pixel) const {
    const Store<T> to{image(n), table, out + n * pixels * 3, pixels, channels_last, kept(n)};
    if (where.erased > 0) {
      const Erased<T> boxes = erased(n);
      const int64_t y = pixel / width, x = pixel % width;
      const int box = boxes.over(y, x);
      if (box >= 0) {
        for (int c = 0; c < 3; ++c) to.out[to.offset(pixel, c)] = boxes.value(box, y, x, c);
        return;
      }
    }
    to(pixel);
  }

  // The same, of a batch with partners; Type is T's, of number.h.
  template <class Type>
  FL_HD void mix(int64_t n, int64_t pixel) const {
    const Partner& how = list<Partner>(where.partners, 0)[n];
    const Mix<Type> to{{image(n), kept(n), erased(n)},
                       {image(how.position), kept(how.position), erased(how.position)},
                       table,
                       out + n * pixels * 3,
                       pixels,
                       width,
                       channels_last,
                       how};
    to(pixel);
  }
};

}  // namespace fl::block
