// As in turbo.cpp: the library leaves errors through longjmp, so the steps own nothing and the
// Session is plain data.
//
// Lossless: coefficients are copied, not made again. A result is handed out only after it was read
// back and compared, coefficients, tables and pixels; any doubt leaves the file as it was. Sizes
// are bounded before the library takes memory, and a file of very many scans is refused, since each
// costs a pass.
#include "jpeg/transcode.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <jpeglib.h>

#include "base/image.h"
#include "base/scratch.h"
#include "jpeg/turbo.h"

namespace fl::jpeg {
namespace {

// Ten times libjpeg's own script; each one costs a pass over all blocks
constexpr int kMaxScans = 100;
// KMaxPixels in 4:2:0; 89 megapixels in 4:4:4
constexpr int64_t kMaxCoefficientBytes = int64_t{512} << 20;
// What the library may take beside its coefficients
constexpr long kOtherBytes = 64 << 20;

struct Session {
  jpeg_decompress_struct old, fresh;
  jpeg_compress_struct writer;
  jpeg_error_mgr errors;
  jpeg_progress_mgr progress;
  jpeg_destination_mgr to;
  std::jmp_buf escape;
  char message[JMSG_LENGTH_MAX];

  Bytes bytes;
  jvirt_barray_ptr* coefficients;  // of `old`
  uint8_t* out;
  size_t size, capacity;
};

Session& session(void* client_data) { return *static_cast<Session*>(client_data); }

[[noreturn]] void leave(j_common_ptr info) {
  info->err->format_message(info, session(info->client_data).message);
  std::longjmp(session(info->client_data).escape, 1);
}

void warn(j_common_ptr info, int level) {
  if (level < 0) leave(info);
}

[[noreturn]] void reject(Session& s, const char* why) {
  std::snprintf(s.message, sizeof s.message, "%s", why);
  std::longjmp(s.escape, 1);
}

void stop_at_many_scans(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > kMaxScans)
    reject(session(info->client_data), "more than 100 scans");
}
static_assert(kMaxScans == 100);  // as the text says

// The library's own memory destination leaks its buffer on an error; this one belongs to the
// Session.
void grow(Session& s, size_t capacity) {
  void* larger = std::realloc(s.out, capacity);
  if (larger == nullptr) reject(s, "not enough memory");
  s.out = static_cast<uint8_t*>(larger);
  s.capacity = capacity;
}

void begin_output(j_compress_ptr info) {
  Session& s = session(info->client_data);
  grow(s, s.bytes.size() + s.bytes.size() / 4 + 4096);
  s.to.next_output_byte = s.out;
  s.to.free_in_buffer = s.capacity;
}

// Called when the whole buffer is full, whatever free_in_buffer says
boolean more_output(j_compress_ptr info) {
  Session& s = session(info->client_data);
  const size_t used = s.capacity;
  grow(s, 2 * used);
  s.to.next_output_byte = s.out + used;
  s.to.free_in_buffer = s.capacity - used;
  return TRUE;
}

void end_output(j_compress_ptr info) {
  Session& s = session(info->client_data);
  s.size = s.capacity - s.to.free_in_buffer;
}

void create_reader(Session& s, jpeg_decompress_struct& info) {
  info.err = &s.errors;
  info.client_data = &s;  // first: create itself may fail, and keeps it
  jpeg_create_decompress(&info);
  info.mem->max_memory_to_use = static_cast<long>(kMaxCoefficientBytes) + kOtherBytes;
  info.progress = &s.progress;
}

void create(Session& s) {
  jpeg_std_error(&s.errors);
  s.errors.error_exit = leave;
  s.errors.emit_message = warn;
  s.progress.progress_monitor = stop_at_many_scans;
  create_reader(s, s.old);
  create_reader(s, s.fresh);
  s.writer.err = &s.errors;
  s.writer.client_data = &s;
  jpeg_create_compress(&s.writer);
  s.to = {nullptr, 0, begin_output, more_output, end_output};
  s.writer.dest = &s.to;
}

void check_size(Session& s) {
  if (s.old.num_components != 1 && s.old.num_components != 3) reject(s, "not 1 or 3 components");
  if (int64_t{s.old.image_height} * s.old.image_width > kMaxPixels) reject(s, "too many pixels");
  int64_t blocks = 0;
  for (int c = 0; c < s.old.num_components; ++c) {
    const jpeg_component_info& part = s.old.comp_info[c];
    blocks += int64_t{part.height_in_blocks + part.v_samp_factor} *
              (part.width_in_blocks + part.h_samp_factor);
  }
  if (blocks * static_cast<int64_t>(sizeof(JBLOCK)) > kMaxCoefficientBytes)
    reject(s, "coefficients take over 512 MiB");
}

void read_old(Session& s) {
  jpeg_mem_src(&s.old, s.bytes.data(), s.bytes.size());
  jpeg_save_markers(&s.old, JPEG_COM, 0xFFFF);
  for (int n = 0; n < 16; ++n) jpeg_save_markers(&s.old, JPEG_APP0 + n, 0xFFFF);
  jpeg_read_header(&s.old, TRUE);
  check_size(s);
  jpeg_saved_marker_ptr last = s.old.marker_list;
  while (last != nullptr && last->next != nullptr) last = last->next;
  s.coefficients = jpeg_read_coefficients(&s.old);
  // In front of the image such a marker could change how it is shown.
  if ((last == nullptr ? s.old.marker_list : last->next) != nullptr)
    reject(s, "markers between its scans");
}

void write(Session& s) {
  jpeg_copy_critical_parameters(&s.old, &s.writer);
  s.writer.optimize_coding = TRUE;
  s.writer.arith_code = FALSE;
  s.writer.restart_interval = 0;
  s.writer.restart_in_rows = 0;
  // JFIF and Adobe markers are among the saved ones: decoders choose the colour conversion by them.
  s.writer.write_JFIF_header = FALSE;
  s.writer.write_Adobe_marker = FALSE;
  jpeg_write_coefficients(&s.writer, s.coefficients);
  for (jpeg_saved_marker_ptr m = s.old.marker_list; m != nullptr; m = m->next)
    jpeg_write_marker(&s.writer, m->marker, m->data, m->data_length);
  jpeg_finish_compress(&s.writer);
}

bool same_header(const jpeg_decompress_struct& a, const jpeg_decompress_struct& b) {
  if (a.image_height != b.image_height || a.image_width != b.image_width ||
      a.num_components != b.num_components || a.jpeg_color_space != b.jpeg_color_space)
    return false;
  for (int c = 0; c < a.num_components; ++c) {
    const jpeg_component_info &x = a.comp_info[c], &y = b.comp_info[c];
    if (x.component_id != y.component_id || x.h_samp_factor != y.h_samp_factor ||
        x.v_samp_factor != y.v_samp_factor || x.quant_table == nullptr ||
        y.quant_table == nullptr ||
        !std::equal(x.quant_table->quantval, x.quant_table->quantval + DCTSIZE2,
                    y.quant_table->quantval))
      return false;
  }
  return true;
}

// Blocks beyond the image's last one, which fill up the last MCU, are no part of it and may differ.
bool same_blocks(Session& s, jvirt_barray_ptr* fresh) {
  for (int c = 0; c < s.old.num_components; ++c) {
    const jpeg_component_info& part = s.old.comp_info[c];
    for (JDIMENSION row = 0; row < part.height_in_blocks; ++row) {
      const auto from = reinterpret_cast<j_common_ptr>(&s.old),
                 to = reinterpret_cast<j_common_ptr>(&s.fresh);
      const JBLOCKROW x = s.old.mem->access_virt_barray(from, s.coefficients[c], row, 1, FALSE)[0];
      const JBLOCKROW y = s.fresh.mem->access_virt_barray(to, fresh[c], row, 1, FALSE)[0];
      if (std::memcmp(x, y, part.width_in_blocks * sizeof(JBLOCK)) != 0) return false;
    }
  }
  return true;
}

void read_again(Session& s) {
  jpeg_mem_src(&s.fresh, s.out, s.size);
  jpeg_read_header(&s.fresh, TRUE);
  // first: it notes each component's table
  jvirt_barray_ptr* fresh = jpeg_read_coefficients(&s.fresh);
  if (!same_header(s.old, s.fresh)) reject(s, "check failed: other header");
  if (!same_blocks(s, fresh)) reject(s, "check failed: other coefficients");
}

bool guarded(Session& s, void (*step)(Session&)) {
  if (setjmp(s.escape) != 0) return false;
  step(s);
  return true;
}

struct Destroy {
  Session& s;
  ~Destroy() {
    jpeg_destroy_decompress(&s.old);
    jpeg_destroy_decompress(&s.fresh);
    jpeg_destroy_compress(&s.writer);
    std::free(s.out);
  }
};

// Four steps, each of which may leave through longjmp; what they own is the Session's, and Destroy
// frees it.
Transcoded rewrite(Bytes bytes) {
  Session s{};
  s.bytes = bytes;
  const Destroy destroy{s};
  for (const auto step : {create, read_old, write, read_again})
    if (!guarded(s, step)) return {{}, s.message};
  std::vector<uint8_t> out(s.out, s.out + s.size);
  const size_t rest = s.old.src->bytes_in_buffer;  // behind the end marker
  out.insert(out.end(), bytes.end() - static_cast<ptrdiff_t>(rest), bytes.end());
  return {std::move(out), {}};
}

// Equal coefficients do not settle it: of an image whose scans leave something open, libjpeg
// smooths blocks.
std::string compare_pixels(Bytes old, Bytes fresh, const Frame& frame) {
  Scratch one, two;
  const Region whole{0, 0, frame.height, frame.width};
  const Decoded a = decode_region(old, frame.height, frame.width, whole, one);
  if (!a.ok()) return a.error;
  const Decoded b = decode_region(fresh, frame.height, frame.width, whole, two);
  if (!b.ok()) return "check failed: " + b.error;
  for (int y = 0; y < frame.height; ++y)
    if (std::memcmp(a.image.row(y), b.image.row(y), static_cast<size_t>(frame.width) * kChannels) !=
        0)
      return "check failed: other pixels";
  return {};
}

}  // namespace

Transcoded transcode(Bytes bytes) {
  const Coding coding = coding_of(bytes);
  if (coding == Coding::kBaseline) return {{}, "baseline already"};
  if (coding == Coding::kOther) return {{}, "not a JPEG that can be rewritten"};
  Transcoded done = rewrite(bytes);
  if (!done.why.empty()) return done;
  Frame frame;
  std::string why = parse_frame(done.bytes, frame);
  if (why.empty() && frame.restart_interval != 0) why = "has restart markers";
  if (!why.empty()) return {{}, "result " + why};
  why = compare_pixels(bytes, done.bytes, frame);
  if (!why.empty()) return {{}, std::move(why)};
  return done;
}

}  // namespace fl::jpeg
