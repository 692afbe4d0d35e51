// Strip by strip: tiles to planes (by index, by restart markers or in one pass), then planes to the
// region's rows.
#include "jpeg/region.h"

#include "jpeg/region_scan.h"
#include "jpeg/region_strips.h"

namespace fl::jpeg {

Decoded decode_region(Bytes bytes, const Frame& frame, const SeekIndex* index, const Region& region,
                      Workspace& workspace, cpu::Target target, SeekNotes* notes) {
  if (!inside(region, frame)) return {{}, "not covered: region outside the image"};
  workspace.tables.prepare(frame, bytes.size() - frame.scan);
  Strips strips(frame, region, workspace, target);
  Scan scan(bytes, frame, index, strips.tiles(), workspace, target, notes);
  Decoded out = strips.make(
      [&scan](int row, int end, Planes& planes) { return scan.decode(row, end, planes); });
  if (out.ok()) scan.note_rest();
  return out;
}

}  // namespace fl::jpeg
