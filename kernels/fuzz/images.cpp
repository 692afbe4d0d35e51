// As in jpeg/turbo.cpp: libjpeg leaves errors through longjmp, so what is jumped over owns nothing.
//
// Made here, not stored: the encoder is the one that the build links, so seeds fit it.
#include "fuzz/images.h"

#include <array>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>

#include <jpeglib.h>

namespace fl::fuzz {
namespace {

enum class How { kBaseline, kOptimised, kScans, kProgressive, kArithmetic };
constexpr std::array kHowNames = {"baseline", "optimised", "scans", "progressive", "arithmetic"};

struct Kind {
  int height, width;  // px
  int components;     // 1: grey, 3: YCbCr, 4: CMYK
  int h, v;           // sampling of the first component
  How how;
  int restart;  // MCUs, 0: none
};

struct Session {
  jpeg_compress_struct info;
  jpeg_error_mgr errors;
  std::jmp_buf escape;
  unsigned char* out;
  unsigned long size;
  Kind kind;
};

[[noreturn]] void leave(j_common_ptr info) {
  std::longjmp(static_cast<Session*>(info->client_data)->escape, 1);
}

// Smooth in one channel, edges in the next, noise in the others, so that short and long codes
// occur.
uint8_t value_at(int y, int x, int c, uint32_t& state) {
  state = state * 1664525U + 1013904223U;
  if (c == 0) return static_cast<uint8_t>(5 * y + 3 * x);
  if (c == 1) return (x / 3 + y / 5) % 2 != 0 ? 240 : 10;
  return static_cast<uint8_t>(state >> 24);
}

void set_coding(Session& s) {
  const Kind& kind = s.kind;
  jpeg_set_quality(&s.info, 60 + 5 * kind.h + kind.v, TRUE);
  s.info.comp_info[0].h_samp_factor = kind.h;
  s.info.comp_info[0].v_samp_factor = kind.v;
  s.info.optimize_coding = kind.how == How::kOptimised ? TRUE : FALSE;
  s.info.arith_code = kind.how == How::kArithmetic ? TRUE : FALSE;
  s.info.restart_interval = static_cast<unsigned>(kind.restart);
  if (kind.how == How::kProgressive) jpeg_simple_progression(&s.info);
}

void write_rows(Session& s) {
  uint32_t state = 1;
  std::array<uint8_t, 40 * 4> row{};
  for (int y = 0; y < s.kind.height; ++y) {
    for (int x = 0; x < s.kind.width; ++x)
      for (int c = 0; c < s.kind.components; ++c)
        row[static_cast<size_t>(x * s.kind.components + c)] = value_at(y, x, c, state);
    JSAMPROW rows[] = {row.data()};
    jpeg_write_scanlines(&s.info, rows, 1);
  }
}

void encode(Session& s) {
  jpeg_create_compress(&s.info);
  jpeg_mem_dest(&s.info, &s.out, &s.size);
  s.info.image_height = static_cast<JDIMENSION>(s.kind.height);
  s.info.image_width = static_cast<JDIMENSION>(s.kind.width);
  s.info.input_components = s.kind.components;
  s.info.in_color_space = s.kind.components == 1   ? JCS_GRAYSCALE
                          : s.kind.components == 3 ? JCS_RGB
                                                   : JCS_CMYK;
  jpeg_set_defaults(&s.info);
  set_coding(s);
  jpeg_scan_info scans[3]{};
  for (int c = 0; c < 3; ++c) scans[c] = {1, {c}, 0, 63, 0, 0};
  if (s.kind.how == How::kScans) {
    s.info.scan_info = scans;
    s.info.num_scans = s.kind.components;
  }
  jpeg_start_compress(&s.info, TRUE);
  write_rows(s);
  jpeg_finish_compress(&s.info);
}

// Empty: the library cannot (built without arithmetic coding).
std::vector<uint8_t> encoded(const Kind& kind) {
  static Session s;
  s = {};
  s.kind = kind;
  s.info.err = jpeg_std_error(&s.errors);
  s.errors.error_exit = leave;
  s.info.client_data = &s;
  const bool good = setjmp(s.escape) == 0;
  if (good) encode(s);
  std::vector<uint8_t> bytes;
  if (good) bytes.assign(s.out, s.out + s.size);
  jpeg_destroy_compress(&s.info);
  std::free(s.out);
  return bytes;
}

void add(std::vector<Picture>& out, const Kind& kind) {
  char name[96];
  std::snprintf(name, sizeof name, "%dx%d-%d-%d%d-%s-%d", kind.height, kind.width, kind.components,
                kind.h, kind.v, kHowNames[static_cast<size_t>(kind.how)], kind.restart);
  if (auto bytes = encoded(kind); !bytes.empty()) out.push_back({name, std::move(bytes)});
}

size_t frame_header(const std::vector<uint8_t>& bytes) {
  for (size_t at = 2; at + 9 < bytes.size(); ++at)
    if (bytes[at] == 0xFF && bytes[at + 1] >= 0xC0 && bytes[at + 1] <= 0xC2) return at;
  return 0;
}

}  // namespace

std::vector<Picture> pictures() {
  constexpr int kSizes[][2] = {{1, 1}, {7, 17}, {33, 14}, {24, 40}, {40, 24}};
  constexpr int kSamplings[][2] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}, {1, 4}};
  std::vector<Picture> out;
  for (const auto& [height, width] : kSizes)
    for (const auto& [h, v] : kSamplings) add(out, {height, width, 3, h, v, How::kBaseline, 0});
  for (const auto& [h, v] : kSamplings) {
    for (const How how : {How::kOptimised, How::kScans, How::kProgressive, How::kArithmetic})
      add(out, {23, 39, 3, h, v, how, 0});
    for (const int restart : {1, 2, 5}) add(out, {38, 25, 3, h, v, How::kBaseline, restart});
  }
  for (const auto& [height, width] : kSizes) {
    add(out, {height, width, 1, 1, 1, How::kBaseline, 0});
    add(out, {height, width, 4, 2, 2, How::kBaseline, 0});
  }
  add(out, {23, 39, 1, 1, 1, How::kProgressive, 0});
  add(out, {23, 39, 1, 1, 1, How::kBaseline, 3});
  for (const auto& [height, width] : kSizes)
    for (const int restart : {0, 3}) add(out, {height, width, 3, 2, 2, How::kProgressive, restart});
  return out;
}

std::vector<Picture> broken_pictures() {
  std::vector<Picture> out;
  const std::vector<Picture> whole = pictures();
  for (size_t n = 0; n < whole.size(); n += 5) {
    std::vector<uint8_t> bytes = whole[n].bytes;
    const size_t at = frame_header(bytes);
    if (at == 0) continue;
    bytes[at + 4] = 12;
    out.push_back({whole[n].name + "-12bit", bytes});
    bytes[at + 4] = 8;
    bytes[at + 6] = static_cast<uint8_t>(bytes[at + 6] + 9);
    out.push_back({whole[n].name + "-tall", bytes});
    bytes.resize(bytes.size() * (n % 4 + 1) / 5);
    out.push_back({whole[n].name + "-cut", bytes});
  }
  return out;
}

}  // namespace fl::fuzz
