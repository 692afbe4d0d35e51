// JPEG decoding's part of the extension module _test_block.
#pragma once

#include <nanobind/nanobind.h>

namespace fl::block {

void bind_decode(nanobind::module_& m);

}  // namespace fl::block
