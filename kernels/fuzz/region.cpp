// Regions: scalar against tuned, both against libjpeg-turbo, with the true index, one that lies,
// and without. Of progressive files too, which have no index.
//
// Input: 12 bytes (region; scale and kind of index; step; two changes of the index, each an offset
// and a value), the file.
#include "jpeg/progressive.h"

#include "fuzz/check.h"
#include "fuzz/seal.h"

namespace fl::fuzz {
namespace {

constexpr size_t kChoices = 12;
enum IndexKind { kNone, kNoted, kTrue, kLying };

struct Case {
  Bytes bytes;
  jpeg::Frame frame;  // scaled
  int height, width;  // px of the file
  int scale;
  Region region;

  bool whole() const { return region.height == frame.height && region.width == frame.width; }
};

// Both targets, which must agree; the tuned one's pixels are in `workspace`.
jpeg::Decoded both(const Case& c, const jpeg::SeekIndex* index, jpeg::Workspace& workspace) {
  static jpeg::Workspace other;
  const auto decode = [&](jpeg::Workspace& memory, cpu::Target target) {
    if (c.frame.progressive)
      return jpeg::decode_progressive(c.bytes, c.frame, c.region, memory, target);
    return jpeg::decode_region(c.bytes, c.frame, index, c.region, memory, target);
  };
  const jpeg::Decoded scalar = decode(other, cpu::Target::kScalar),
                      tuned = decode(workspace, cpu::Target::kBest);
  want(scalar.ok() == tuned.ok(),
       "scalar and tuned disagree: \"" + scalar.error + "\", \"" + tuned.error + "\"");
  if (scalar.ok())
    want(same_pixels(scalar.image, tuned.image), "scalar and tuned give other pixels");
  return tuned;
}

void compare_with_library(const Case& c, const jpeg::Decoded& own) {
  static Scratch scratch;
  if (!own.ok()) return;
  const jpeg::Decoded library =
      jpeg::decode_region(c.bytes, c.height, c.width, c.region, scratch, c.scale);
  // Of a part the library decodes more than the part needs, and may meet damage there.
  want(library.ok() || !c.whole(), "libjpeg-turbo does not take it: " + library.error);
  if (library.ok()) want(same_pixels(own.image, library.image), "libjpeg-turbo gives other pixels");
}

// What is noted on the way is the index that is built on its own.
void compare_notes(const Case& c, const jpeg::Decoded& plain, const std::vector<uint8_t>& index,
                   int step) {
  static jpeg::Workspace workspace;
  static jpeg::SeekNotes notes;
  if (c.frame.restart_interval != 0) return;
  notes.begin(c.frame, step);
  jpeg::decode_region(c.bytes, c.frame, nullptr, c.region, workspace, cpu::Target::kBest, &notes);
  want(!notes.complete() || !index.empty(), "noted to the end, and there is no index");
  want(notes.complete() || index.empty() || !plain.ok(), "there is an index that was not noted");
  if (notes.complete())
    want(notes.pack(c.bytes, jpeg::seek::hash(c.bytes)) == index, "noted another index");
}

// The index, or nothing; the same by both targets.
std::vector<uint8_t> built(Bytes bytes, int step) {
  jpeg::Built scalar = jpeg::build_index(bytes, step, nullptr, cpu::Target::kScalar);
  const jpeg::Built tuned = jpeg::build_index(bytes, step);
  want(scalar.why == tuned.why,
       "scalar and tuned disagree: \"" + scalar.why + "\", \"" + tuned.why + "\"");
  want(scalar.index == tuned.index, "scalar and tuned build other indexes");
  return std::move(scalar.index);
}

void run_indexed(const Case& c, const jpeg::Decoded& plain, IndexKind kind,
                 const uint8_t* choices) {
  const int step = choices[5] % 9;
  std::vector<uint8_t> bytes = built(c.bytes, step);
  if (kind == kNoted) return compare_notes(c, plain, bytes, step);
  if (bytes.empty()) return;
  if (kind == kLying) lie(bytes, choices + 6);
  jpeg::SeekIndex index;
  const std::string why = index.open(bytes, c.bytes, c.frame);
  want(why.empty() || kind == kLying, "the true index is refused: " + why);
  if (!why.empty()) return;
  static jpeg::Workspace workspace;
  const jpeg::Decoded got = both(c, &index, workspace);
  want(got.ok() == plain.ok() || kind == kLying,
       "with the true index: \"" + got.error + "\", not \"" + plain.error + "\"");
  const bool certain = kind == kTrue || proved(c.frame, c.region);
  if (got.ok() && plain.ok() && certain)
    want(same_pixels(got.image, plain.image), "other pixels with an index");
}

void run(Bytes input) {
  static jpeg::Workspace workspace;
  if (input.size() < kChoices) return;
  const uint8_t* choices = input.data();
  Case c{};
  c.bytes = input.subspan(kChoices);
  if (!jpeg::parse_frame(c.bytes, c.frame).empty() &&
      !jpeg::parse_progressive(c.bytes, c.frame).empty())
    return;
  if (int64_t{c.frame.height} * c.frame.width > kMostPixels) return;
  c.height = c.frame.height;
  c.width = c.frame.width;
  c.scale = 1 << (choices[4] >> 2 & 3);
  jpeg::shrink(c.frame, c.scale);
  c.region = region_of(choices, c.frame.height, c.frame.width);
  const jpeg::Decoded plain = both(c, nullptr, workspace);
  compare_with_library(c, plain);
  const auto kind = static_cast<IndexKind>(choices[4] & 3);
  if (kind != kNone && !c.frame.progressive) run_indexed(c, plain, kind, choices);
}

}  // namespace
}  // namespace fl::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fl::fuzz::run({data, size});
  return 0;
}
