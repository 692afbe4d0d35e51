// The coefficient layer, of which nothing is believed: any bytes are refused, or both decoders give
// the same pixels of any region, at each scale; a true layer gives libjpeg-turbo's.
//
// Input: 6 bytes (which file, region, scale), the layer. The mutator makes checksums fit again,
// most of the time.
#include <algorithm>

#include "fuzz/check.h"
#include "fuzz/images.h"
#include "fuzz/seal.h"
#include "jpeg/layer/layer.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace fl::fuzz {
namespace {

namespace layers = jpeg::layer;

constexpr size_t kChoices = 6;

struct File {
  std::vector<uint8_t> layer;
  Scratch memory;
  Image pixels;  // libjpeg-turbo's, in `memory`
};

// Those that can have a layer.
std::vector<File> make_files() {
  std::vector<File> out;
  for (const Picture& picture : pictures()) {
    File file;
    file.layer = layers::build(picture.bytes).index;
    if (file.layer.empty()) continue;
    jpeg::Frame frame;
    want(jpeg::parse_frame(picture.bytes, frame).empty(), picture.name);
    const Region whole{0, 0, frame.height, frame.width};
    const jpeg::Decoded all =
        jpeg::decode_region(picture.bytes, frame.height, frame.width, whole, file.memory);
    want(all.ok(), picture.name + all.error);
    file.pixels = all.image;
    out.push_back(std::move(file));
  }
  return out;
}

const File& file_of(uint8_t number) {
  static const std::vector<File> files = make_files();
  return files[number % files.size()];
}

void run(Bytes input) {
  static jpeg::Workspace one, two;
  if (input.size() < kChoices) return;
  const Bytes bytes = input.subspan(kChoices);
  layers::Layer layer;
  jpeg::Frame frame;
  if (!layer.open(bytes, frame).empty()) return;
  jpeg::shrink(frame, 1 << input[5] % 4);
  if (int64_t{frame.height} * frame.width > kMostPixels) return;
  const Region region = region_of(&input[1], frame.height, frame.width);
  const jpeg::Decoded scalar = layers::decode(layer, frame, region, one, cpu::Target::kScalar),
                      tuned = layers::decode(layer, frame, region, two, cpu::Target::kBest);
  want(scalar.ok() == tuned.ok(),
       "scalar and tuned disagree: \"" + scalar.error + "\", \"" + tuned.error + "\"");
  if (!tuned.ok()) return;
  want(same_pixels(scalar.image, tuned.image), "scalar and tuned give other pixels");
  const File& file = file_of(input[0]);
  if (input[5] % 4 == 0 && std::ranges::equal(bytes, file.layer))
    want(same_pixels(tuned.image, file.pixels.part(region)), "other pixels than libjpeg-turbo's");
}

// Bytes of the parts of a layer, as its own fields say; 0: they do not fit.
size_t head_of(std::span<const uint8_t> layer) {
  if (layer.size() < layers::kFixed) return 0;
  const size_t rows = layer[6] | layer[7] << 8, header = layers::u64_at(&layer[20]) >> 32;
  const size_t head = layers::kFixed + header + rows * layers::kRowEntry;
  return rows > 0 && head + layers::kSeal <= layer.size() ? head : 0;
}

// All checksums, and where the last row ends.
void seal_layer(std::span<uint8_t> layer) {
  const size_t head = head_of(layer);
  if (head == 0) return;
  const std::span<uint8_t> rows = layer.subspan(head + layers::kSeal);
  const size_t entries = head - (layer[6] | layer[7] << 8) * layers::kRowEntry;
  put(&layer[head - 4], rows.size(), 4);
  size_t begin = 0;
  for (size_t entry = entries; entry < head; entry += layers::kRowEntry) {
    const size_t end = layers::u64_at(&layer[entry + 4]) >> 32;
    if (begin <= end && end <= rows.size())
      put(&layer[entry], jpeg::seek::hash(rows.subspan(begin, end - begin)), layers::kRowHash);
    begin = end;
  }
  put(&layer[head], jpeg::seek::hash(layer.first(head)), layers::kSeal);
}

size_t with_true_layer(uint8_t* data, size_t max_size) {
  const std::vector<uint8_t>& layer = file_of(data[0]).layer;
  if (kChoices + layer.size() > max_size) return 0;
  std::copy(layer.begin(), layer.end(), data + kChoices);
  return kChoices + layer.size();
}

// A few bits, mostly of the rows.
void change(std::span<uint8_t> layer, uint32_t seed) {
  const size_t head = head_of(layer);
  const size_t from = seed % 8 == 0 ? 0 : head + layers::kSeal;
  for (uint32_t n = 0; head != 0 && from < layer.size() && n <= seed % 3; ++n) {
    seed = seed * 1664525U + 1013904223U;
    layer[from + (seed >> 4) % (layer.size() - from)] ^=
        static_cast<uint8_t>(1U << (seed >> 28) % 8);
  }
}

size_t mutate(uint8_t* data, size_t size, size_t max_size, uint32_t seed) {
  size_t fresh = 0;
  if (size >= kChoices && seed % 4 == 0) fresh = with_true_layer(data, max_size);
  if (fresh != 0 && seed % 64 != 0) change({data + kChoices, fresh - kChoices}, seed / 4);
  size = fresh != 0 ? fresh : LLVMFuzzerMutate(data, size, max_size);
  if (size > kChoices && seed % 16 != 1) seal_layer({data + kChoices, size - kChoices});
  return size;
}

}  // namespace
}  // namespace fl::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // A copy that ends where the input ends: libFuzzer's own may have room behind it.
  const std::vector<uint8_t> exact(data, data + size);
  fl::fuzz::run(exact);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  return fl::fuzz::mutate(data, size, max_size, seed * 2654435761U >> 3);
}
