// libjpeg reports errors by leaving through longjmp, so everything between setjmp and the library
// is plain data: a Session outside the frames that are jumped over, and steps that own nothing.
//
// The pixels are those of a decode of the whole image with libjpeg-turbo's default settings, which
// are also Pillow's: islow IDCT, fancy upsampling. Rows above the region are skipped, columns
// beside it cropped, each with a margin, since upsampling looks at neighbours.
#include "jpeg/turbo.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <new>

#include <jerror.h>
#include <jpeglib.h>

namespace fl::jpeg {
namespace {

constexpr int kMaxScans = 500;  // the limit that libjpeg-turbo's own fuzzers use

struct Session {
  jpeg_decompress_struct info;
  jpeg_error_mgr errors;
  jpeg_progress_mgr progress;
  std::jmp_buf escape;
  char message[JMSG_LENGTH_MAX];

  std::span<const uint8_t> bytes;
  int height, width;  // px, as the caller expects
  int scale;
  Region region;
  Region rows;  // what the library gives: the region and the margins that it needs
  uint8_t* out;
  ptrdiff_t stride;
};

Session& session(j_common_ptr info) { return *static_cast<Session*>(info->client_data); }

[[noreturn]] void leave(j_common_ptr info) {
  info->err->format_message(info, session(info).message);
  std::longjmp(session(info).escape, 1);
}

// A warning means that the library starts to guess: not our pixels to invent.
void warn(j_common_ptr info, int level) {
  if (level < 0) leave(info);
}

void stop_at_many_scans(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= kMaxScans) return;
  std::snprintf(session(info).message, JMSG_LENGTH_MAX, "more than %d scans", kMaxScans);
  std::longjmp(session(info).escape, 1);
}

[[noreturn]] void reject(Session& s, const char* why) {
  std::snprintf(s.message, sizeof s.message, "%s", why);
  std::longjmp(s.escape, 1);
}

void create(Session& s) {
  s.info.err = jpeg_std_error(&s.errors);
  s.errors.error_exit = leave;
  s.errors.emit_message = warn;
  s.info.client_data = &s;  // first: create itself may fail, and keeps it
  jpeg_create_decompress(&s.info);
  s.progress.progress_monitor = stop_at_many_scans;
  s.info.progress = &s.progress;
}

// Columns and rows to ask for. Upsampling looks at neighbours and treats the first and last column
// apart, so one iMCU (the least that can be decoded) more on each side; rows are skipped in whole
// iMCU rows only.
//
// A scaled image is read from its first row on and in full width: there is little to save.
void set_margins(Session& s) {
  if (s.scale != 1) {
    s.rows = {0, 0, s.region.top + s.region.height, static_cast<int>(s.info.output_width)};
    return;
  }
  const int mcu_width = s.info.max_h_samp_factor * DCTSIZE,
            mcu_height = s.info.max_v_samp_factor * DCTSIZE;
  const int left = std::max(s.region.left - mcu_width, 0);
  const int right = std::min(s.region.left + s.region.width + mcu_width, s.width);
  const int top = std::max(s.region.top / mcu_height - 1, 0) * mcu_height;
  s.rows = {top, left, s.region.top + s.region.height - top, right - left};
}

// What the scans have left open, libjpeg smooths over, and each version in its own way: Pillow's
// own library decides.
void check_complete(Session& s) {
  if (s.info.coef_bits == nullptr) return;  // not progressive
  for (int c = 0; c < s.info.num_components; ++c)
    for (int n = 0; n < DCTSIZE2; ++n)
      if (s.info.coef_bits[c][n] != 0) reject(s, "a progressive file without all its scans");
}

void open(Session& s) {
  jpeg_mem_src(&s.info, s.bytes.data(), s.bytes.size());
  jpeg_read_header(&s.info, TRUE);
  if (static_cast<int>(s.info.image_height) != s.height ||
      static_cast<int>(s.info.image_width) != s.width)
    reject(s, "size differs from the first frame header");
  if (s.info.num_components != 1 && s.info.num_components != 3) reject(s, "not 1 or 3 components");
}

size_t rounded_up(size_t value, size_t step) { return (value + step - 1) / step * step; }

// What the library holds of an image that comes in several scans: every coefficient. Of others it
// holds some rows.
size_t coefficient_bytes(Session& s) {
  if (!jpeg_has_multiple_scans(&s.info)) return 0;
  size_t blocks = 0;
  for (int c = 0; c < s.info.num_components; ++c) {
    const jpeg_component_info& part = s.info.comp_info[c];
    blocks += rounded_up(part.width_in_blocks, part.h_samp_factor) *
              rounded_up(part.height_in_blocks, part.v_samp_factor);
  }
  return blocks * sizeof(JBLOCK);
}

// Of the rows that set_margins will ask for, at most.
size_t row_bytes(const Session& s) {
  constexpr size_t kMargins = 8 * DCTSIZE;  // an iMCU on each side
  const Region& it = s.region;
  if (s.scale != 1) return size_t(it.top + it.height) * shrunk(s.width, s.scale) * kChannels;
  return (it.height + kMargins) * (it.width + kMargins) * kChannels;
}

void start(Session& s) {
  s.info.out_color_space = JCS_RGB;
  s.info.dct_method = JDCT_ISLOW;
  s.info.do_fancy_upsampling = TRUE;
  s.info.scale_num = static_cast<unsigned>(DCTSIZE / s.scale);
  s.info.scale_denom = DCTSIZE;
  jpeg_start_decompress(&s.info);  // of several scans, this reads all
  check_complete(s);
  set_margins(s);
  if (s.rows.width == static_cast<int>(s.info.output_width)) return;
  JDIMENSION left = s.rows.left, width = s.rows.width;
  jpeg_crop_scanline(&s.info, &left, &width);  // moves left down to an iMCU
  s.rows.left = static_cast<int>(left);
  s.rows.width = static_cast<int>(width);
}

void read_rows(Session& s) {
  constexpr int kAtOnce = 16;
  if (s.rows.top > 0) jpeg_skip_scanlines(&s.info, s.rows.top);
  int done = 0;
  while (done < s.rows.height) {
    JSAMPROW rows[kAtOnce];
    const int count = std::min(kAtOnce, s.rows.height - done);
    for (int i = 0; i < count; ++i) rows[i] = s.out + (done + i) * s.stride;
    done += static_cast<int>(jpeg_read_scanlines(&s.info, rows, count));
  }
}

bool guarded(Session& s, void (*step)(Session&)) {
  if (setjmp(s.escape) != 0) return false;
  step(s);
  return true;
}

// Why a step came to nothing. Throws std::bad_alloc where that says nothing of the image.
std::string why(const Session& s) {
  if (s.errors.msg_code == JERR_OUT_OF_MEMORY) throw std::bad_alloc();
  return s.message;
}

struct Destroy {
  Session& s;
  ~Destroy() { jpeg_destroy_decompress(&s.info); }
};

}  // namespace

Decoded decode_region(std::span<const uint8_t> bytes, int height, int width, const Region& region,
                      Scratch& scratch, int scale, const std::function<void(size_t)>& ask) {
  Session s{};
  s.bytes = bytes;
  s.height = height;
  s.width = width;
  s.scale = scale;
  s.region = region;
  if (!guarded(s, create)) return {{}, why(s)};
  const Destroy destroy{s};
  if (!guarded(s, open)) return {{}, why(s)};
  if (ask) ask(coefficient_bytes(s) + row_bytes(s));
  if (!guarded(s, start)) return {{}, why(s)};
  s.stride = (s.rows.width * kChannels + 63) / 64 * 64;
  s.out = scratch.reserve(static_cast<size_t>(s.stride) * s.rows.height + kPadding);
  if (!guarded(s, read_rows)) return {{}, why(s)};
  const Image rows{s.out, s.rows.height, s.rows.width, s.stride, true};
  return {
      rows.part({region.top - s.rows.top, region.left - s.rows.left, region.height, region.width}),
      {}};
}

std::string turbo_version() {
  const int number = LIBJPEG_TURBO_VERSION_NUMBER;  // 2001005
  return std::to_string(number / 1000000) + "." + std::to_string(number / 1000 % 1000) + "." +
         std::to_string(number % 1000);
}

}  // namespace fl::jpeg
