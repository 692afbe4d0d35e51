// From the rows that Python gives to programs that can run. Not for device code, which is C++17.
#pragma once

#include <span>
#include <string>

#include "augment/program.h"
#include "base/error.h"

namespace fl::augment {

// What an argument may be.
struct Range {
  const char* name;
  double low, high;
  bool whole = false;
};

std::span<const Range> ranges(Code code);  // of its arguments, those that it has

// Column by column as _native.pyi states them. Throws ValueError for the first bad one; identities
// are left out. `where` names the program; height and width (px) are of the image it runs on. The
// program points to `functions`.
Program parse(const Where& where, const double* rows, int64_t depth, int height, int width,
              std::span<const Function> functions = {});

}  // namespace fl::augment
