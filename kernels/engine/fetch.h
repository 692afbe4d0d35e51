// What `fetch` and `run` (sample.h) share.
#pragma once

#include "engine/sample.h"

namespace fl {

// What is being handled becomes the sample's status; its text may find no memory either.
void fail(Sample& sample) noexcept;

// The bytes that a layer was to stand for, once it was refused: then the JPEG decides. False: the
// sample is not OK any more. Throws FileError.
bool read_now(Sample& sample, Worker& worker);

}  // namespace fl
