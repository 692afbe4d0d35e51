// What one thread owns and reuses from sample to sample.
#pragma once

#include <vector>

#include "augment/run.h"
#include "core/scratch.h"
#include "core/stats.h"
#include "cpu/resize.h"
#include "jpeg/region.h"

namespace fl {

struct Worker {
  Scratch decoded;  // rows of the region, from libjpeg-turbo
  jpeg::Frame frame;
  jpeg::Workspace jpeg;
  jpeg::SeekNotes notes;
  Scratch pixels;  // the cropped image, before STORE
  augment::Workspace augment;
  cpu::CropScratch passes;
  std::vector<cpu::CropPlan> plans;  // one per picture of a sample
  StageStats stats;

  void trim() {
    constexpr size_t kKeep = size_t{32} << 20;  // bytes: 10 megapixels
    decoded.trim(kKeep);
    jpeg.trim(kKeep);
    notes.trim(kKeep);
    passes.trim(kKeep);
    pixels.trim(kKeep);
    augment.trim(kKeep);
  }
};

}  // namespace fl
