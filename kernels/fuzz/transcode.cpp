// Any JPEG as baseline. The input is a file; what comes out is a whole baseline JPEG with
// libjpeg-turbo's pixels of it.
#include "jpeg/transcode.h"

#include "fuzz/check.h"
#include "jpeg/probe.h"
#include "jpeg/region.h"

namespace fl::fuzz {
namespace {

// The own decoder may refuse blocks that no encoder makes of pixels; then libjpeg-turbo decodes the
// result.
void compare(Bytes bytes, Bytes result, const jpeg::Frame& frame) {
  static jpeg::Workspace workspace;
  static Scratch one, two;
  const Region whole{0, 0, frame.height, frame.width};
  const jpeg::Decoded before = jpeg::decode_region(bytes, frame.height, frame.width, whole, one);
  const jpeg::Decoded after = jpeg::decode_region(result, frame.height, frame.width, whole, two);
  want(before.ok() && after.ok(), "the result does not decode: " + before.error + after.error);
  want(same_pixels(before.image, after.image), "the result has other pixels");
  const jpeg::Decoded own =
      jpeg::decode_region(result, frame, nullptr, whole, workspace, cpu::Target::kBest);
  if (own.ok())
    want(same_pixels(own.image, before.image), "the result has other pixels in the own decoder");
}

void run(Bytes bytes) {
  const Header header = probe(bytes);
  if (int64_t{header.height} * header.width > kMostPixels) return;
  const jpeg::Transcoded done = jpeg::transcode(bytes);
  want(done.why.empty() != done.bytes.empty(), "neither bytes nor a reason");
  if (!done.why.empty()) return;
  want(jpeg::coding_of(done.bytes) == jpeg::Coding::kBaseline, "the result is not baseline");
  jpeg::Frame frame;
  want(jpeg::parse_frame(done.bytes, frame).empty(), "the result is not taken");
  compare(bytes, done.bytes, frame);
}

}  // namespace
}  // namespace fl::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fl::fuzz::run({data, size});
  return 0;
}
