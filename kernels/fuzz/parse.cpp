// Headers. The input is a file. Whatever it holds: what parse_frame takes, libjpeg-turbo takes and
// reads the same way.
#include "fuzz/check.h"
#include "fuzz/header.h"
#include "jpeg/coding.h"
#include "jpeg/frame.h"
#include "jpeg/probe.h"

namespace fl::fuzz {
namespace {

void check_sides(const jpeg::Frame& frame) {
  want(frame.height > 0 && frame.width > 0 && int64_t{frame.height} * frame.width <= kMaxPixels,
       "size out of range");
  want(frame.components == 1 || frame.components == 3, "components");
  want(frame.mcu_rows * frame.mcu_height >= frame.height &&
           (frame.mcu_rows - 1) * frame.mcu_height < frame.height,
       "MCU rows");
  want(frame.mcu_columns * frame.mcu_width >= frame.width &&
           (frame.mcu_columns - 1) * frame.mcu_width < frame.width,
       "MCU columns");
}

// What the decoder relies on without looking again.
void check_frame(const jpeg::Frame& frame) {
  check_sides(frame);
  int blocks = 0;
  for (int c = 0; c < frame.components; ++c) {
    const jpeg::Component& part = frame.component[c];
    blocks += part.blocks();
    want(part.quant >= 0 && part.quant < jpeg::kMaxTables && part.dc >= 0 &&
             part.dc < jpeg::kMaxTables && part.ac >= 0 && part.ac < jpeg::kMaxTables,
         "number of a table");
    want(part.h * part.block * part.across == frame.mcu_width &&
             part.v * part.block * part.down == frame.mcu_height,
         "sampling");
    want(part.height > 0 && part.height <= frame.mcu_rows * part.v * part.block, "samples down");
    want(part.width > 0 && part.width <= frame.mcu_columns * part.h * part.block, "samples across");
  }
  want(blocks == frame.mcu_blocks && blocks <= jpeg::kMaxMcuBlocks, "blocks of an MCU");
}

void compare(Bytes bytes, const jpeg::Frame& frame) {
  const LibraryHeader header = library_header(bytes);
  want(header.taken, std::string("libjpeg-turbo does not take it: ") + header.why);
  want(header.height == frame.height && header.width == frame.width,
       "libjpeg-turbo has another size");
  want(header.components == frame.components && header.ycc == frame.ycc,
       "libjpeg-turbo has other colours");
  want(header.restart_interval == frame.restart_interval,
       "libjpeg-turbo has another restart interval");
  for (int c = 0; c < frame.components && frame.components > 1; ++c)
    want(header.h[c] == frame.component[c].h && header.v[c] == frame.component[c].v,
         "libjpeg-turbo: other sampling");
}

void run(Bytes bytes) {
  const Header header = probe(bytes);
  want(header.status == kOk || !header.why.empty(), "probe gives no reason");
  jpeg::Frame frame;
  const std::string why = jpeg::parse_frame(bytes, frame);
  const jpeg::Coding coding = jpeg::coding_of(bytes);
  const bool baseline = coding == jpeg::Coding::kBaseline || coding == jpeg::Coding::kRestarts;
  want(why.empty() == baseline, "coding_of and parse_frame disagree");
  if (!why.empty())
    return want(why.starts_with("damaged at ") || why.starts_with("not covered: "), why);
  want(frame.scan <= bytes.size(), "the scan begins behind the file");
  check_frame(frame);
  compare(bytes, frame);
  for (const int scale : {2, 4, 8}) {
    jpeg::Frame small = frame;
    jpeg::shrink(small, scale);
    check_frame(small);
  }
}

}  // namespace
}  // namespace fl::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fl::fuzz::run({data, size});
  return 0;
}
