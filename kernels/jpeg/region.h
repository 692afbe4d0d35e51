// A region of a baseline JPEG to RGB rows: libjpeg-turbo's pixels, for the work of the region's own
// tiles.
#pragma once

#include <string>
#include <vector>

#include "base/image.h"
#include "base/scratch.h"
#include "jpeg/entropy.h"
#include "jpeg/progressive_scans.h"
#include "jpeg/progressive_tables.h"
#include "jpeg/seek.h"
#include "jpeg/seek_notes.h"
#include "jpeg/turbo.h"
#include "pixels/resize.h"

namespace fl::jpeg {

// What one thread owns and reuses from image to image. Not thread-safe. Grows with the largest
// image, until `trim`.
struct Workspace {
  Tables tables;
  Lanes lanes;
  Ahead ahead;
  Scratch window;  // of coded bytes, without an index
  Scratch coded;   // bytes of a strip's rows, with an index
  Scratch planes;  // samples of a strip
  Scratch lines;   // upsampled rows
  Scratch pixels;  // the region
  std::vector<Segment> segments;
  Scratch coefficients;  // of a progressive image
  ScanTables scan_tables;
  std::vector<ProgressiveScan> scans;

  void trim(size_t keep) {
    for (Scratch* scratch : {&coded, &planes, &lines, &pixels, &coefficients}) scratch->trim(keep);
  }
  size_t held() const {
    return coded.capacity() + planes.capacity() + lines.capacity() + pixels.capacity() +
           coefficients.capacity();
  }
};

// The image is in workspace.pixels. The error begins with "index refused: " (decode without it),
// "damaged " or "not covered: " (ask libjpeg-turbo). Without an error the pixels are
// libjpeg-turbo's. notes: begun, for a frame without restart markers and no index; then the whole
// scan is decoded and noted, and notes->complete() tells whether that went well to the end.
Decoded decode_region(Bytes bytes, const Frame& frame, const SeekIndex* index, const Region& region,
                      Workspace& workspace, cpu::Target target, SeekNotes* notes = nullptr);

}  // namespace fl::jpeg
