// libjpeg-turbo's reading of a header, to compare parse_frame with. Errors and warnings leave
// through longjmp, so what is jumped over owns nothing, and the session is static: libFuzzer calls
// from one thread.
#include "fuzz/header.h"

#include <csetjmp>
#include <cstdio>

#include <jpeglib.h>

namespace fl::fuzz {
namespace {

struct Session {
  jpeg_decompress_struct info;
  jpeg_error_mgr errors;
  std::jmp_buf escape;
  char message[JMSG_LENGTH_MAX];
};

[[noreturn]] void leave(j_common_ptr info) {
  auto& s = *static_cast<Session*>(info->client_data);
  info->err->format_message(info, s.message);
  std::longjmp(s.escape, 1);
}

void warn(j_common_ptr info, int level) {
  if (level < 0) leave(info);
}

void read(Session& s, std::span<const uint8_t> bytes) {
  jpeg_create_decompress(&s.info);
  jpeg_mem_src(&s.info, bytes.data(), bytes.size());
  jpeg_read_header(&s.info, TRUE);
}

}  // namespace

LibraryHeader library_header(std::span<const uint8_t> bytes) {
  static Session s;
  s = {};
  s.info.err = jpeg_std_error(&s.errors);
  s.errors.error_exit = leave;
  s.errors.emit_message = warn;
  s.info.client_data = &s;
  LibraryHeader out;
  if (setjmp(s.escape) == 0) {
    read(s, bytes);
    out.taken = true;
  }
  std::snprintf(out.why, sizeof out.why, "%s", s.message);
  if (out.taken) {
    out.height = static_cast<int>(s.info.image_height);
    out.width = static_cast<int>(s.info.image_width);
    out.components = s.info.num_components;
    out.ycc = s.info.jpeg_color_space == JCS_YCbCr;
    out.restart_interval = static_cast<int>(s.info.restart_interval);
    for (int c = 0; c < out.components && c < 4; ++c) {
      out.h[c] = s.info.comp_info[c].h_samp_factor;
      out.v[c] = s.info.comp_info[c].v_samp_factor;
    }
  }
  jpeg_destroy_decompress(&s.info);
  return out;
}

}  // namespace fl::fuzz
