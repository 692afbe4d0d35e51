#include "core/decode.h"

#include "jpeg/region.h"

namespace fl {
namespace {

// By index, if it is there and tells the truth.
bool by_index(Sample& sample, const jpeg::Frame& frame, const Region& region, Worker& worker, jpeg::Decoded& out) {
  const auto index_bytes = sample.seek.bytes(), bytes = sample.encoded.bytes();
  if (index_bytes.empty()) return false;
  if (!sample.hash) sample.hash = xxh3(bytes);
  jpeg::SeekIndex index;
  std::string why = index.open(index_bytes, bytes, frame, &*sample.hash);
  if (why.empty()) {
    out = jpeg::decode_region(bytes, frame, &index, region, worker.jpeg, cpu::Target::kBest);
    why = out.error;
  }
  worker.stats.count(why.empty() ? Way::kIndexed : Way::kRefused);
  return why.empty();
}

}  // namespace

jpeg::Decoded decode_jpeg(Sample& sample, const Region& region, int scale, Worker& worker) {
  if (scale != 1) worker.stats.count(Way::kScaled);
  const auto bytes = sample.encoded.bytes();
  if (jpeg::parse_frame(bytes, worker.frame).empty()) {
    const jpeg::Frame& frame = worker.frame;
    jpeg::Decoded out;
    // The first frame header may not be the one that counts: then the library has the last word.
    const bool same = frame.height == sample.height && frame.width == sample.width;
    jpeg::shrink(worker.frame, scale);
    if (same && by_index(sample, frame, region, worker, out)) return out;
    if (same) out = jpeg::decode_region(bytes, frame, nullptr, region, worker.jpeg, cpu::Target::kBest);
    if (same && out.ok()) {
      worker.stats.count(Way::kWhole);
      return out;
    }
  }
  worker.stats.count(Way::kLibrary);
  return jpeg::decode_region(bytes, sample.height, sample.width, region, worker.decoded, scale);
}

}  // namespace fl
