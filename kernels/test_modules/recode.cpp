// The extension module _test_recode: JPEGs that Pillow does not write (arithmetic, any script of
// scans), and a file's coefficients as libjpeg-turbo reads them. For tests only; built with
// FASTLOAD_TEST_MODULES.
//
// Tests make the rare files that they need with it, in place of files from elsewhere.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>

#include <jpeglib.h>

#include "bind/arrays.h"

namespace fl::jpeg {
namespace {

namespace nb = nanobind;
using namespace nb::literals;
using Scan = std::tuple<std::vector<int>, int, int, int, int>;  // components, Ss, Se, Ah, Al

struct Session {  // plain data: errors leave through longjmp
  jpeg_decompress_struct from;
  jpeg_compress_struct to;
  jpeg_error_mgr errors;
  std::jmp_buf escape;
  char message[JMSG_LENGTH_MAX];
  const nb::bytes* data;
  jvirt_barray_ptr* coefficients;
  const std::vector<jpeg_scan_info>* scans;
  bool arithmetic;
  int restart;  // MCUs
  unsigned char* out;
  unsigned long size;
};

[[noreturn]] void leave(j_common_ptr info) {
  auto& s = *static_cast<Session*>(info->client_data);
  info->err->format_message(info, s.message);
  std::longjmp(s.escape, 1);
}

void read(Session& s) {
  s.from.err = s.to.err = jpeg_std_error(&s.errors);
  s.errors.error_exit = leave;
  s.from.client_data = s.to.client_data = &s;
  jpeg_create_decompress(&s.from);
  jpeg_create_compress(&s.to);
  jpeg_mem_src(&s.from, static_cast<const unsigned char*>(s.data->data()), s.data->size());
  jpeg_read_header(&s.from, TRUE);
  s.coefficients = jpeg_read_coefficients(&s.from);
}

void write(Session& s) {
  jpeg_mem_dest(&s.to, &s.out, &s.size);
  jpeg_copy_critical_parameters(&s.from, &s.to);
  s.to.optimize_coding = !s.arithmetic;
  s.to.arith_code = s.arithmetic;
  s.to.restart_interval = s.restart;
  if (!s.scans->empty()) {
    s.to.scan_info = s.scans->data();
    s.to.num_scans = static_cast<int>(s.scans->size());
  }
  jpeg_write_coefficients(&s.to, s.coefficients);
  jpeg_finish_compress(&s.to);
}

void guarded(Session& s, void (*step)(Session&)) {
  if (setjmp(s.escape) == 0) return step(s);
  throw std::invalid_argument(s.message);
}

struct Destroy {
  Session& s;
  ~Destroy() {
    jpeg_destroy_decompress(&s.from);
    jpeg_destroy_compress(&s.to);
    std::free(s.out);
  }
};

nb::bytes recode(const nb::bytes& data, const std::vector<Scan>& script, bool arithmetic,
                 int restart) {
  std::vector<jpeg_scan_info> scans;
  for (const auto& [components, first, last, high, low] : script) {
    jpeg_scan_info& scan = scans.emplace_back();
    scan = {static_cast<int>(components.size()), {}, first, last, high, low};
    if (components.size() > MAX_COMPS_IN_SCAN) throw std::invalid_argument("too many components");
    std::copy(components.begin(), components.end(), scan.component_index);
  }
  Session s{};
  s.data = &data;
  s.scans = &scans;
  s.arithmetic = arithmetic;
  s.restart = restart;
  const Destroy destroy{s};
  guarded(s, read);
  guarded(s, write);
  return nb::bytes(s.out, s.size);
}

nb::list coefficients(const nb::bytes& data) {
  Session s{};
  s.data = &data;
  const Destroy destroy{s};
  guarded(s, read);
  nb::list out;
  for (int c = 0; c < s.from.num_components; ++c) {
    const jpeg_component_info& part = s.from.comp_info[c];
    std::vector<int16_t> values;
    for (JDIMENSION row = 0; row < part.height_in_blocks; ++row) {
      const auto info = reinterpret_cast<j_common_ptr>(&s.from);
      const JBLOCKROW blocks =
          s.from.mem->access_virt_barray(info, s.coefficients[c], row, 1, FALSE)[0];
      values.insert(values.end(), blocks[0], blocks[0] + size_t{part.width_in_blocks} * DCTSIZE2);
    }
    const std::array<size_t, 3> shape{part.height_in_blocks, part.width_in_blocks, DCTSIZE2};
    out.append(bind::to_numpy(values, shape));
  }
  return out;
}

}  // namespace
}  // namespace fl::jpeg

NB_MODULE(_test_recode, m) {
  using namespace fl::jpeg;
  m.def("recode", &recode, "data"_a, "scans"_a, "arithmetic"_a = false, "restart"_a = 0);
  m.def("coefficients", &coefficients, "data"_a);  // int16 [rows, columns, 64] of each component
}
