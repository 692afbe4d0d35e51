// What one thread owns and reuses from sample to sample.
#pragma once

#include <vector>

#include "augment/run.h"
#include "base/room.h"
#include "base/scratch.h"
#include "engine/stats.h"
#include "jpeg/region.h"
#include "pixels/resize.h"
#include "png/decode.h"

namespace fl {

// Borrowed by a thread for one task, or its own for as long as it lives. Never used by two threads
// at a time, so nothing in it has a lock but what stats.h makes atomic.
struct Worker {
  Scratch decoded;  // rows of the region, from libjpeg-turbo or libwebp
  jpeg::Frame frame;
  jpeg::Workspace jpeg;
  jpeg::SeekNotes notes;
  png::Workspace png;
  Scratch pixels;  // the cropped image, before STORE
  Scratch stored;  // the image behind STORE that is still to be cut into patches
  augment::Workspace augment;
  cpu::CropScratch passes;
  std::vector<cpu::CropPlan> plans;  // one per picture of a sample
  StageStats stats;
  int64_t small = 0;  // images that were made several at a time
  int64_t waits = 0;  // how often a file was waited for
  room::Claim claim;  // for the image that is made now, if it needs more than a thread's share
  size_t beside = 0;  // bytes that this image takes besides its decoded pixels
  Scratch shared;     // a resize that several pictures are windows of

  // Before `bytes` are taken to decode the image: waits where others have what this needs. What the
  // image has taken so far is lost.
  void ask(size_t bytes) {
    if (bytes + beside <= room::kShare) return;
    if (claim.bytes() > 0) trim(0);
    claim.take(bytes + beside);
  }

  // Between two images: one giant must not hold its memory for the rest of the run.
  void trim() {
    constexpr size_t kLarge = size_t{1} << 20;  // bytes
    if (held() > room::kShare) trim(kLarge);
    claim.drop();
    beside = 0;
  }

  size_t held() const {
    return decoded.capacity() + jpeg.held() + notes.held() + png.held() + passes.held() +
           pixels.capacity() + stored.capacity() + shared.capacity() + augment.held();
  }

 private:
  void trim(size_t keep) {
    decoded.trim(keep);
    jpeg.trim(keep);
    notes.trim(keep);
    png.trim(keep);
    passes.trim(keep);
    pixels.trim(keep);
    stored.trim(keep);
    shared.trim(keep);
    augment.trim(keep);
  }
};

}  // namespace fl
