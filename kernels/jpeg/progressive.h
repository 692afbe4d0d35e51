// A region of a progressive JPEG to RGB rows: libjpeg-turbo's pixels, for the work of all its scans
// down to the region's last row, and of the region's own tiles from there.
#pragma once

#include "jpeg/region.h"

namespace fl::jpeg {

// The image is in workspace.pixels. The error begins with "damaged " or "not covered: " (ask
// libjpeg-turbo). Without an error the pixels are libjpeg-turbo's. frame: of parse_progressive.
Decoded decode_progressive(Bytes bytes, const Frame& frame, const Region& region,
                           Workspace& workspace, cpu::Target target);

// What that takes at most.
size_t progressive_bytes(const Frame& frame, const Region& region);

}  // namespace fl::jpeg
