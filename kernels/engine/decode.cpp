// Which decoder makes a sample's pixels, in this order: the own one by the seek index; the own one
// in order, noting checkpoints if an index is wanted; libjpeg-turbo. Each falls through to the next
// when it refuses, so an index or a shortcut can never make an image bad. All three give the same
// pixels where they give any. Whoever errs last, libjpeg-turbo, has the text.
#include "engine/decode.h"

#include "base/hash.h"
#include "jpeg/region.h"

namespace fl {
namespace {

// failed: the index is right, but the image is not covered
enum class Index { kUsed, kNone, kRefused, kFailed };

uint64_t hash_of(Sample& sample) {
  if (!sample.hash) sample.hash = xxh3(sample.encoded.bytes());
  return *sample.hash;
}

// By the index, if there is one and it is right.
Index by_index(Sample& sample, const jpeg::Frame& frame, const Region& region, Worker& worker,
               jpeg::Decoded& out) {
  const auto index_bytes = sample.seek.bytes(), bytes = sample.encoded.bytes();
  if (index_bytes.empty()) return Index::kNone;
  const uint64_t hash = hash_of(sample);
  jpeg::SeekIndex index;
  std::string why = index.open(index_bytes, bytes, frame, &hash);
  bool refused = !why.empty();
  if (!refused) {
    out = jpeg::decode_region(bytes, frame, &index, region, worker.jpeg, cpu::Target::kBest);
    why = out.error;
    refused = why.starts_with("index refused: ");
  }
  worker.stats.count(why.empty() ? Way::kIndexed : Way::kRefused);
  if (why.empty()) return Index::kUsed;
  return refused ? Index::kRefused : Index::kFailed;
}

// Whether a new index is worth making: not where it was found right, nor where the file is known to
// have none.
bool wanted(const Sample& sample, Index outcome) {
  const size_t size = sample.encoded.bytes().size();
  if (sample.collector == nullptr || outcome == Index::kFailed) return false;
  if (outcome == Index::kNone && sample.no_index == static_cast<int64_t>(size)) return false;
  return sample.collector->wants(sample.row, size, outcome == Index::kRefused);
}

// From the scan's start. `collect`: its checkpoints are noted to the end, and the index, or that
// there is none, is kept.
jpeg::Decoded in_order(Sample& sample, const Region& region, Worker& worker, bool collect) {
  const auto bytes = sample.encoded.bytes();
  const jpeg::Frame& frame = worker.frame;
  jpeg::Decoded out;
  std::vector<uint8_t> index;
  const bool note = collect && frame.restart_interval == 0;
  if (note) {
    worker.notes.begin(frame, jpeg::kDefaultStep);
    out = jpeg::decode_region(bytes, frame, nullptr, region, worker.jpeg, cpu::Target::kBest,
                              &worker.notes);
    if (out.ok() && worker.notes.complete()) index = worker.notes.pack(bytes, hash_of(sample));
  }
  // What is damaged behind the region must not change its pixels.
  if (!note || !out.ok())
    out = jpeg::decode_region(bytes, frame, nullptr, region, worker.jpeg, cpu::Target::kBest);
  if (collect) sample.collector->add(sample.row, bytes.size(), index);
  return out;
}

}  // namespace

jpeg::Decoded decode_jpeg(Sample& sample, const Region& region, int scale, Worker& worker) {
  if (scale != 1) worker.stats.count(Way::kScaled);
  const auto bytes = sample.encoded.bytes();
  const jpeg::Frame& frame = worker.frame;
  // The first frame header may not be the one that counts: then the library has the last word.
  if (jpeg::parse_frame(bytes, worker.frame).empty() && frame.height == sample.height &&
      frame.width == sample.width) {
    jpeg::Decoded out;
    jpeg::shrink(worker.frame, scale);
    const Index outcome = by_index(sample, frame, region, worker, out);
    if (outcome == Index::kUsed) return out;
    out = in_order(sample, region, worker, wanted(sample, outcome));
    if (out.ok()) {
      worker.stats.count(Way::kWhole);
      return out;
    }
  } else if (wanted(sample, sample.seek.bytes().empty() ? Index::kNone : Index::kRefused)) {
    sample.collector->add(sample.row, bytes.size(), {});
  }
  worker.stats.count(Way::kLibrary);
  const auto ask = [&worker](size_t needed) { worker.ask(needed); };
  return jpeg::decode_region(bytes, sample.height, sample.width, region, worker.decoded, scale,
                             ask);
}

}  // namespace fl
