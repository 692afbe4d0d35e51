// Strip by strip: tiles to planes (by index, by restart markers or in one pass), then planes to the
// region's rows.
//
// A strip is as many MCU rows as its planes fit into the second-level cache, and each strip's
// pixels are made while its samples are there. Smooth upsampling looks one row of samples up and
// down: so a strip's last pixel row waits for the next strip, and the planes keep the MCU row
// before.
#include "jpeg/region.h"

#include <algorithm>

#include "jpeg/region_rows.h"
#include "jpeg/region_scan.h"
#include "jpeg/region_tiles.h"

namespace fl::jpeg {
namespace {

constexpr size_t kStripBytes = 512 << 10;  // of planes: what a second-level cache holds

// MCU rows per strip.
int strip_rows(const Frame& frame, const Tiles2d& tiles) {
  const size_t fit = kStripBytes / Planes::row_bytes(frame, tiles);
  return std::clamp(static_cast<int>(fit), 1, tiles.bottom - tiles.top);
}

// Of one call. All memory is the workspace's; its sizes follow from the frame and the region, not
// from the coded bytes.
class RegionDecoder {
 public:
  RegionDecoder(Bytes bytes, const Frame& frame, const SeekIndex* index, const Region& region,
                Workspace& workspace, cpu::Target target, SeekNotes* notes)
      : frame_(frame),
        region_(region),
        tiles_(tiles_of(frame, region)),
        strip_(strip_rows(frame, tiles_)),
        planes_(frame, tiles_, strip_, workspace.planes, target),
        rows_(frame, region, planes_, workspace.lines, target),
        scan_(bytes, frame, index, tiles_, workspace, target, notes) {}

  // Empty, or why there are no pixels.
  std::string decode(const Pixels& out) {
    int done = 0;  // rows of the region
    for (int row = tiles_.top; row < tiles_.bottom; row += strip_) {
      const int end = std::min(row + strip_, tiles_.bottom);
      planes_.begin_strip(row);
      if (std::string why = scan_.decode(row, end, planes_); !why.empty()) return why;
      for (const int ready = rows_before(end); done < ready; ++done)
        rows_.make(region_.top + done, out.row(done));
    }
    scan_.note_rest();
    return {};
  }

 private:
  // Rows of the region that need nothing from MCU row `row` on.
  int rows_before(int row) const {
    if (row == tiles_.bottom) return region_.height;
    const int rows = row * frame_.mcu_height - (smooth_down(frame_) ? 1 : 0) - region_.top;
    return std::clamp(rows, 0, region_.height);
  }

  const Frame& frame_;
  const Region region_;
  const Tiles2d tiles_;
  const int strip_;
  Planes planes_;
  Rows rows_;
  Scan scan_;
};

bool inside(const Region& r, const Frame& frame) {
  return !r.empty() && r.top >= 0 && r.left >= 0 && r.top <= frame.height - r.height &&
         r.left <= frame.width - r.width;
}

}  // namespace

Decoded decode_region(Bytes bytes, const Frame& frame, const SeekIndex* index, const Region& region,
                      Workspace& workspace, cpu::Target target, SeekNotes* notes) {
  if (!inside(region, frame)) return {{}, "not covered: region outside the image"};
  workspace.tables.prepare(frame, bytes.size() - frame.scan);
  RegionDecoder decoder(bytes, frame, index, region, workspace, target, notes);
  const ptrdiff_t stride = (region.width * kChannels + 63) / 64 * 64;
  uint8_t* pixels =
      workspace.pixels.reserve(static_cast<size_t>(stride) * region.height + kPadding);
  std::string why = decoder.decode({pixels, region.height, region.width, stride});
  if (!why.empty()) return {{}, std::move(why)};
  return {{pixels, region.height, region.width, stride, true}, {}};
}

}  // namespace fl::jpeg
