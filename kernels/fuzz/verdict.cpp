// What is certain. The input is a file. What the engine takes without asking Pillow, libjpeg-turbo
// reads to its end as Pillow lets it: warnings count for nothing, an error or a wish for bytes
// behind the file would refuse it.
//
// The source gives no byte beyond the file, as in Pillow, so that a wish for more is seen.
#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <vector>

#include <jpeglib.h>

#include "fuzz/check.h"
#include "jpeg/frame.h"
#include "jpeg/markers.h"
#include "jpeg/probe.h"

namespace fl::fuzz {
namespace {

struct Session {
  jpeg_decompress_struct info;
  jpeg_error_mgr errors;
  jpeg_source_mgr from;
  std::jmp_buf escape;
  char message[JMSG_LENGTH_MAX];
};

[[noreturn]] void leave(j_common_ptr info) {
  Session& s = *static_cast<Session*>(info->client_data);
  info->err->format_message(info, s.message);
  std::longjmp(s.escape, 1);
}

void ignore(j_common_ptr, int) {}

boolean no_more(j_decompress_ptr) { return FALSE; }

void skip(j_decompress_ptr info, long count) {
  jpeg_source_mgr& from = *info->src;
  const size_t passed = std::min(from.bytes_in_buffer, static_cast<size_t>(count));
  from.next_input_byte += passed;
  from.bytes_in_buffer -= passed;
}

// Empty, or why it does not come to its end. `row` outlives the jumps.
const char* read(Session& s, Bytes bytes, std::vector<uint8_t>& row) {
  s.info.err = jpeg_std_error(&s.errors);
  s.errors.error_exit = leave;
  s.errors.emit_message = ignore;
  s.info.client_data = &s;
  if (setjmp(s.escape) != 0) return s.message;
  jpeg_create_decompress(&s.info);
  s.from = {bytes.data(), bytes.size(),           [](j_decompress_ptr) {}, no_more,
            skip,         jpeg_resync_to_restart, [](j_decompress_ptr) {}};
  s.info.src = &s.from;
  if (jpeg_read_header(&s.info, FALSE) != JPEG_HEADER_OK) return "the header wants more bytes";
  if (jpeg_start_decompress(&s.info) == FALSE) return "the scans want more bytes";
  row.resize(size_t{s.info.output_width} * static_cast<size_t>(s.info.output_components));
  while (s.info.output_scanline < s.info.output_height) {
    JSAMPROW rows[] = {row.data()};
    if (jpeg_read_scanlines(&s.info, rows, 1) != 1) return "a row wants more bytes";
  }
  return jpeg_finish_decompress(&s.info) == FALSE ? "its end wants more bytes" : "";
}

void check_markers(Bytes bytes) {
  const uint8_t* const end = bytes.data() + bytes.size();
  for (const uint8_t* at = bytes.data(); at != end; ++at) {
    const uint8_t* const found = jpeg::scalar::next_marker(at, end);
    want(jpeg::tuned::next_marker(at, end) == found, "scalar and tuned find other markers");
    if (found == end) break;
    at = found;
  }
}

void run(Bytes bytes) {
  check_markers(bytes);
  const Header header = probe(bytes);
  jpeg::Frame frame;
  if (header.status != kOk || !jpeg::parse_frame(bytes, frame).empty()) return;
  if (int64_t{frame.height} * frame.width > kMostPixels) return;
  Session s{};
  std::vector<uint8_t> row;
  const std::string why = read(s, bytes, row);
  jpeg_destroy_decompress(&s.info);
  want(why.empty(), "certain, and libjpeg-turbo does not come to its end: " + why);
}

}  // namespace
}  // namespace fl::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fl::fuzz::run({data, size});
  return 0;
}
