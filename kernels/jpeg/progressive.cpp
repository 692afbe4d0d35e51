// First all scans to coefficients, then the region strip by strip, as of baseline files.
//
// Nothing is taken before the markers have said that the scans are complete. Memory is bounded by
// the frame and the region, work by kMaxProgressiveScans passes over the masks of the blocks.
#include "jpeg/progressive.h"

#include "jpeg/progressive_scan.h"
#include "jpeg/region_strips.h"

namespace fl::jpeg {

Decoded decode_progressive(Bytes bytes, const Frame& frame, const Region& region,
                           Workspace& workspace, cpu::Target target) {
  if (!inside(region, frame)) return {{}, "not covered: region outside the image"};
  if (std::string why = read_scans(bytes, frame, workspace.scans); !why.empty())
    return {{}, std::move(why)};
  Strips strips(frame, region, workspace, target);
  const Tiles2d& tiles = strips.tiles();
  const Coefficients coefficients(frame, tiles, workspace.coefficients);
  Feed feed(workspace.window, target);
  for (const ProgressiveScan& scan : workspace.scans) {
    std::string why =
        decode_scan(bytes, frame, scan, coefficients, workspace.scan_tables, feed, target);
    if (!why.empty()) return {{}, std::move(why)};
  }
  return strips.make([&](int row, int end, Planes& planes) -> std::string {
    for (; row < end; ++row) {
      for (int c = 0; c < frame.components; ++c) {
        const Grid& grid = coefficients.of(c);
        if (!planes.take_rows(c, row, grid.block(row * frame.component[c].v, grid.left)))
          return "damaged: a block that no encoder makes";
      }
    }
    return {};
  });
}

size_t progressive_bytes(const Frame& frame, const Region& region) {
  return Coefficients::bytes(frame, tiles_of(frame, region)) +
         size_t(region.height) * size_t(region.width) * kChannels;
}

}  // namespace fl::jpeg
