// A region's pixels, strip by strip, from whatever fills the planes of a strip.
//
// A strip is as many MCU rows as its planes fit into the second-level cache, and each strip's
// pixels are made while its samples are there. Smooth upsampling looks one row of samples up and
// down: so a strip's last pixel row waits for the next strip, and the planes keep the MCU row
// before.
#pragma once

#include <algorithm>
#include <string>

#include "jpeg/region.h"
#include "jpeg/region_rows.h"
#include "jpeg/region_tiles.h"

namespace fl::jpeg {

inline bool inside(const Region& r, const Frame& frame) {
  return !r.empty() && r.top >= 0 && r.left >= 0 && r.top <= frame.height - r.height &&
         r.left <= frame.width - r.width;
}

// Of one call. All memory is the workspace's; its sizes follow from the frame and the region, not
// from the coded bytes.
class Strips {
 public:
  static constexpr size_t kBytes = 512 << 10;  // of planes: what a second-level cache holds

  Strips(const Frame& frame, const Region& region, Workspace& workspace, cpu::Target target,
         size_t bytes = kBytes)
      : frame_(frame),
        region_(region),
        tiles_(tiles_of(frame, region)),
        strip_(rows_per_strip(bytes)),
        memory_(workspace.pixels),
        planes_(frame, tiles_, strip_, workspace.planes, target),
        rows_(frame, region, planes_, workspace.lines, target) {}

  const Tiles2d& tiles() const { return tiles_; }

  // fill: (first MCU row, end, planes) to empty, or why there are none.
  template <class Fill>
  Decoded make(Fill fill) {
    const ptrdiff_t stride = (region_.width * kChannels + 63) / 64 * 64;
    uint8_t* pixels = memory_.reserve(static_cast<size_t>(stride) * region_.height + kPadding);
    int done = 0;  // rows of the region
    for (int row = tiles_.top; row < tiles_.bottom; row += strip_) {
      const int end = std::min(row + strip_, tiles_.bottom);
      planes_.begin_strip(row);
      if (std::string why = fill(row, end, planes_); !why.empty()) return {{}, std::move(why)};
      for (const int ready = rows_before(end); done < ready; ++done)
        rows_.make(region_.top + done, pixels + done * stride);
    }
    return {{pixels, region_.height, region_.width, stride, true}, {}};
  }

 private:
  int rows_per_strip(size_t bytes) const {
    const size_t fit = bytes / Planes::row_bytes(frame_, tiles_);
    return std::clamp(static_cast<int>(fit), 1, tiles_.bottom - tiles_.top);
  }

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
  Scratch& memory_;
  Planes planes_;
  Rows rows_;
};

}  // namespace fl::jpeg
