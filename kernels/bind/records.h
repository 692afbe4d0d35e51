// The records of one picture of a batch, as classes that the job, the GPU's parts and the tests
// take alike. They hold arrays that Python has drawn and change nothing; values are checked against
// the batch where they are used, so that a record may be drawn before its images are known. What
// each column means: fastload/_native.pyi.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "bind/arrays.h"
#include "pixels/resize.h"

namespace fl::bind {

// CROP.
struct CropRecords {
  Input rows;                               // int32 [N, 9 or 10]
  std::variant<std::string, Input> filter;  // one for all, or int32 [N]
  int height, width;                        // of the crop, px
  cpu::Order order;                         // of a resize's passes
};

// AUGMENT.
struct Programs {
  Input rows;            // float64 [N, depth, 13]
  nb::object functions;  // PyFunctions or None
};

// What fills erased boxes besides a colour.
struct Noise {
  Input keys;      // uint32 [N, K]
  Input fillings;  // int32 [K, 2]
  Input tables;    // [T, 3, levels] of the output's type
};

// STORE. All lists are of the image as it is stored.
struct StoreRecords {
  bool channels_last = false;
  std::optional<Input> table;          // [3, 256] of the output's type
  std::optional<Input> rows, columns;  // int32 [1 or N, kept]
  std::optional<Input> boxes;          // int32 [N, K, 4]
  std::optional<Input> fills;          // [K, 3] of the output's type
  std::optional<Noise> noise;
  std::optional<Input> partners;  // int32 [N, 7]
  int patch = 0;  // px; 0: images stay whole
};

// One picture of every sample of a batch, and where it goes.
struct PictureWork {
  CropRecords crops;
  StoreRecords store;
  Output out;
  std::optional<Programs> programs;
};

}  // namespace fl::bind
