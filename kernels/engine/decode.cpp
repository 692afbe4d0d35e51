// Which decoder makes a sample's pixels, in this order: the own one by the seek index; the own one
// in order, noting checkpoints if an index is wanted, or scan by scan; libjpeg-turbo. Each falls
// through to the next when it refuses, so an index or a shortcut can never make an image bad. All
// three give the same pixels where they give any. Whoever errs last, libjpeg-turbo, has the text.
#include "engine/decode.h"

#include "jpeg/layer/layer.h"
#include "jpeg/progressive.h"
#include "jpeg/region.h"
#include "simd/hash.h"
#include "webp/region.h"

namespace fl {
namespace {

// Of the coded bytes: an index that is large beside its file is not worth its room. A flat image
// has more tiles than bytes.
constexpr size_t kShare = 4, kSmall = 4096;

const std::string kRefused = "index refused: ";

uint64_t hash_of(const Seekable& image) {
  if (!image.hash) image.hash = xxh3(image.bytes);
  return *image.hash;
}

// Whether a new index is worth making: not where it was found right, nor where the file is known to
// have none.
bool wanted(const Sample& sample, Index outcome) {
  const size_t size = sample.encoded.bytes().size();
  if (sample.collector == nullptr || outcome == Index::kFailed) return false;
  if (outcome == Index::kNone && sample.no_index == static_cast<int64_t>(size)) return false;
  return sample.collector->wants(sample.row, size, outcome == Index::kRefused);
}

// The JPEG's own bytes are not decoded, so the layer must be of just these: of this size, with this
// checksum.
jpeg::Decoded by_layer(Bytes bytes, size_t size, uint64_t hash, const Region& region, int scale,
                       Worker& worker) {
  jpeg::layer::Layer layer;
  jpeg::Frame frame;
  std::string why = layer.open(bytes, frame);
  if (why.empty() && !layer.is_of(size, hash)) why = "of another file";
  if (!why.empty()) return {{}, kRefused + why};
  jpeg::shrink(frame, scale);
  return jpeg::layer::decode(layer, frame, region, worker.jpeg, cpu::Target::kBest);
}

jpeg::Decoded by_seek_index(const Seekable& image, const Region& region, Worker& worker) {
  const uint64_t hash = hash_of(image);
  jpeg::SeekIndex index;
  std::string why = index.open(image.index, image.bytes, worker.frame, &hash);
  if (!why.empty()) return {{}, kRefused + why};
  return jpeg::decode_region(image.bytes, worker.frame, &index, region, worker.jpeg,
                             cpu::Target::kBest);
}

}  // namespace

Index decode_by_index(const Seekable& image, const Region& region, int scale, Worker& worker,
                      jpeg::Decoded& out) {
  if (image.index.empty()) return Index::kNone;
  const bool layer = jpeg::layer::is_layer(image.index);
  out = layer ? by_layer(image.index, image.bytes.size(), hash_of(image), region, scale, worker)
              : by_seek_index(image, region, worker);
  worker.stats.count(out.ok() ? Way::kIndexed : Way::kRefused);
  if (out.ok()) return Index::kUsed;
  return out.error.starts_with(kRefused) ? Index::kRefused : Index::kFailed;
}

jpeg::Decoded decode_in_order(const Seekable& image, const Region& region, Worker& worker,
                              std::vector<uint8_t>* made) {
  const jpeg::Frame& frame = worker.frame;
  jpeg::Decoded out;
  const bool note = made != nullptr && frame.restart_interval == 0;
  if (note) {
    worker.notes.begin(frame, jpeg::kDefaultStep);
    out = jpeg::decode_region(image.bytes, frame, nullptr, region, worker.jpeg, cpu::Target::kBest,
                              &worker.notes);
    if (out.ok() && worker.notes.complete()) *made = worker.notes.pack(image.bytes, hash_of(image));
    if (made->size() > image.bytes.size() / kShare + kSmall) made->clear();
  }
  // What is damaged behind the region must not change its pixels.
  if (!note || !out.ok())
    out = jpeg::decode_region(image.bytes, frame, nullptr, region, worker.jpeg, cpu::Target::kBest);
  return out;
}

jpeg::Decoded decode_scans(Bytes bytes, int height, int width, const Region& region, int scale,
                           Worker& worker) {
  std::string why = jpeg::parse_progressive(bytes, worker.frame);
  if (!why.empty()) return {{}, std::move(why)};
  if (worker.frame.height != height || worker.frame.width != width)
    return {{}, "not covered: size differs from the first frame header"};
  jpeg::shrink(worker.frame, scale);
  worker.ask(jpeg::progressive_bytes(worker.frame, region));
  return jpeg::decode_progressive(bytes, worker.frame, region, worker.jpeg, cpu::Target::kBest);
}

namespace {

jpeg::Decoded decode_by_any(Sample& sample, const Region& region, int scale, Worker& worker) {
  if (scale != 1) worker.stats.count(Way::kScaled);
  const auto bytes = sample.encoded.bytes();
  const jpeg::Frame& frame = worker.frame;
  // The first frame header may not be the one that counts: then the library has the last word.
  if (jpeg::parse_frame(bytes, worker.frame).empty() && frame.height == sample.height &&
      frame.width == sample.width) {
    jpeg::Decoded out;
    jpeg::shrink(worker.frame, scale);
    const Seekable image{bytes, sample.seek.bytes(), sample.hash};
    const Index outcome = decode_by_index(image, region, scale, worker, out);
    if (outcome == Index::kUsed) return out;
    std::vector<uint8_t> made;
    const bool collect = wanted(sample, outcome);
    out = decode_in_order(image, region, worker, collect ? &made : nullptr);
    if (collect) sample.collector->add(sample.row, bytes.size(), made);
    if (out.ok()) {
      worker.stats.count(Way::kWhole);
      return out;
    }
  } else {
    if (wanted(sample, sample.seek.bytes().empty() ? Index::kNone : Index::kRefused))
      sample.collector->add(sample.row, bytes.size(), {});
    jpeg::Decoded out = decode_scans(bytes, sample.height, sample.width, region, scale, worker);
    if (out.ok()) {
      worker.stats.count(Way::kWhole);
      return out;
    }
  }
  worker.stats.count(Way::kLibrary);
  const auto ask = [&worker](size_t needed) { worker.ask(needed); };
  return jpeg::decode_region(bytes, sample.height, sample.width, region, worker.decoded, scale,
                             ask);
}

}  // namespace

std::string decode_jpeg(Sample& sample, const Region& region, int scale, Worker& worker,
                        Image& image) {
  worker.ask(static_cast<size_t>(region.height) * region.width * kChannels);
  jpeg::Decoded decoded = decode_by_any(sample, region, scale, worker);
  image = decoded.image;
  return decoded.ok() ? "" : "jpeg: " + decoded.error;
}

bool decode_layer(const Sample& sample, const Region& region, int scale, Worker& worker,
                  Image& image) {
  worker.ask(static_cast<size_t>(region.height) * region.width * kChannels);
  const jpeg::Decoded decoded =
      by_layer(sample.seek.bytes(), static_cast<size_t>(sample.location.size), sample.checksum,
               region, scale, worker);
  worker.stats.count(decoded.ok() ? Way::kIndexed : Way::kRefused);
  if (!decoded.ok()) return false;
  if (scale != 1) worker.stats.count(Way::kScaled);
  image = decoded.image;
  return true;
}

std::string decode_other(Codec codec, Bytes bytes, const Region& region, int scale, Worker& worker,
                         Image& image) {
  const std::string whose = codec == Codec::kPng ? "png: " : "webp: ";
  if (scale != 1) return whose + "has no smaller sizes to decode at";
  const auto ask = [&worker](size_t needed) { worker.ask(needed); };
  const auto taken = [&](auto decoded, Way way) {
    image = decoded.image;
    if (decoded.ok()) worker.stats.count(way);
    return decoded.ok() ? "" : whose + decoded.error;
  };
  if (codec == Codec::kPng) return taken(png::decode(bytes, region, worker.png, ask), Way::kPng);
  return taken(webp::decode(bytes, region, worker.decoded, ask), Way::kWebp);
}

}  // namespace fl
