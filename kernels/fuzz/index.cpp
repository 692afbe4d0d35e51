// The seek index, of which nothing is believed: any bytes beside a good file give its true pixels,
// or a refusal, where all that is used can be proved; elsewhere still the same pixels from both
// targets, and none beyond the file.
//
// Input: 5 bytes (which file, region), the index. The mutator seals what it changed, most of the
// time.
#include "fuzz/check.h"
#include "fuzz/images.h"
#include "fuzz/seal.h"
#include "jpeg/region.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace fl::fuzz {
namespace {

constexpr size_t kChoices = 5;
constexpr int kSteps = 5;  // MCUs per entry, from rows only on

struct File {
  std::vector<uint8_t> bytes;
  jpeg::Frame frame;
  std::vector<std::vector<uint8_t>> indexes;  // by step
  Scratch memory;
  Image pixels;  // libjpeg-turbo's, in `memory`
};

// Those that can have an index.
std::vector<File> make_files() {
  std::vector<File> out;
  for (Picture& picture : pictures()) {
    File file;
    if (jpeg::build_index(picture.bytes, 1).index.empty()) continue;
    want(jpeg::parse_frame(picture.bytes, file.frame).empty(), picture.name);
    for (int step = 0; step < kSteps; ++step)
      file.indexes.push_back(jpeg::build_index(picture.bytes, step).index);
    file.bytes = std::move(picture.bytes);
    const Region whole{0, 0, file.frame.height, file.frame.width};
    const jpeg::Decoded all =
        jpeg::decode_region(file.bytes, whole.height, whole.width, whole, file.memory);
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

void check_rows(const File& file, const jpeg::SeekIndex& index) {
  std::vector<jpeg::Segment> segments;
  for (int row = 0; row < file.frame.mcu_rows; ++row) {
    jpeg::SeekIndex::Row span;
    if (!index.row(row, span)) continue;
    want(span.byte <= span.end_byte && span.end_byte <= file.bytes.size(),
         "a row outside of the file");
    segments.clear();
    if (!index.segments(row, 0, file.frame.mcu_columns, 0, uint64_t{1} << 20, segments)) continue;
    int column = 0;
    for (const jpeg::Segment& segment : segments) {
      want(segment.column == column && segment.begin <= segment.end, "segments out of order");
      column += segment.count;
    }
    want(column == file.frame.mcu_columns, "segments leave MCUs out");
  }
}

void run(Bytes input) {
  static jpeg::Workspace one, two;
  if (input.size() < kChoices) return;
  const File& file = file_of(input[0]);
  jpeg::SeekIndex index;
  if (!index.open(input.subspan(kChoices), file.bytes, file.frame).empty()) return;
  check_rows(file, index);
  const Region region = region_of(&input[1], file.frame.height, file.frame.width);
  const auto decode = [&](jpeg::Workspace& memory, cpu::Target target) {
    return jpeg::decode_region(file.bytes, file.frame, &index, region, memory, target);
  };
  const jpeg::Decoded scalar = decode(one, cpu::Target::kScalar),
                      tuned = decode(two, cpu::Target::kBest);
  want(scalar.ok() == tuned.ok(),
       "scalar and tuned disagree: \"" + scalar.error + "\", \"" + tuned.error + "\"");
  if (!tuned.ok()) return;
  want(same_pixels(scalar.image, tuned.image), "scalar and tuned give other pixels");
  if (proved(file.frame, region))
    want(same_pixels(tuned.image, file.pixels.part(region)), "other pixels");
}

size_t with_true_index(uint8_t* data, size_t max_size, uint32_t seed) {
  const File& file = file_of(data[0]);
  const std::vector<uint8_t>& index = file.indexes[(seed >> 8) % kSteps];
  if (kChoices + index.size() > max_size) return 0;
  std::copy(index.begin(), index.end(), data + kChoices);
  return kChoices + index.size();
}

// One or two numbers behind the fields that name the file.
void change(std::span<uint8_t> index, uint32_t seed) {
  const size_t from = seed % 5 == 0 ? 36 : jpeg::seek::kHeader;
  const size_t room =
      index.size() - jpeg::seek::kSeal - std::min(from, index.size() - jpeg::seek::kSeal);
  for (uint32_t n = 0; room != 0 && n <= seed % 2; ++n) {
    seed = seed * 1664525U + 1013904223U;
    index[from + (seed >> 4) % room] ^= static_cast<uint8_t>(1U << (seed >> 28) % 8);
  }
}

size_t mutate(uint8_t* data, size_t size, size_t max_size, uint32_t seed) {
  if (size >= kChoices && seed % 4 == 0) {
    const size_t fresh = with_true_index(data, max_size, seed);
    if (fresh != 0) change({data + kChoices, fresh - kChoices}, seed / 4);
    if (fresh != 0) size = fresh;
  } else {
    size = LLVMFuzzerMutate(data, size, max_size);
  }
  if (size < kChoices + jpeg::seek::kHeader + jpeg::seek::kSeal || seed % 16 == 1) return size;
  const File& file = file_of(data[0]);
  claim({data + kChoices, size - kChoices}, file.bytes, file.frame);
  const size_t fits = kChoices + wanted_size({data + kChoices, size - kChoices}, file.frame);
  if (fits > kChoices && fits <= max_size && seed % 8 != 2) {
    if (fits > size) std::fill(data + size, data + fits, uint8_t{0});
    size = fits;
  }
  seal(std::span(data + kChoices, size - kChoices));
  return size;
}

}  // namespace
}  // namespace fl::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fl::fuzz::run({data, size});
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  return fl::fuzz::mutate(data, size, max_size, seed * 2654435761U >> 3);
}
