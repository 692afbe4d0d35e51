// One scan of a progressive JPEG to coefficients, down to the last block that a region needs.
#pragma once

#include <string>

#include "jpeg/coefficients.h"
#include "jpeg/progressive_blocks.h"
#include "jpeg/progressive_scans.h"

namespace fl::jpeg {

// Empty, or why not. Scans must come in their order.
std::string decode_scan(Bytes bytes, const Frame& frame, const ProgressiveScan& scan,
                        const Coefficients& coefficients, ScanTables& tables, Feed& feed,
                        cpu::Target target);

}  // namespace fl::jpeg
