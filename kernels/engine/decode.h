// Which decoder a sample's region comes from: the own one, by the seek index where there is one;
// else libjpeg-turbo.
#pragma once

#include "engine/sample.h"
#include "engine/worker.h"
#include "jpeg/turbo.h"

namespace fl {

// Needs a sample that `fetch` found OK. All ways give the same pixels; the error is
// libjpeg-turbo's. At 1/scale of its size, of which the region is px.
jpeg::Decoded decode_jpeg(Sample& sample, const Region& region, int scale, Worker& worker);

}  // namespace fl
