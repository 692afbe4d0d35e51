// The header that counts is the first one, and of a PNG all its chunks: a sample is OK where Pillow
// takes the file for certain.
#include "engine/look.h"

#include <cerrno>
#include <cstdio>
#include <string>

#include "base/hash.h"

namespace fl {
namespace {

std::string hex(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

Header header_of(Bytes bytes, png::Layout& layout) {
  Header header = probe(bytes);
  if (!png::is_png(bytes)) return header;
  const std::string why = png::parse(bytes, layout);
  header.status = why.empty() ? kOk : kForeign;
  header.why = why.empty() ? "" : "png: " + why;
  return header;
}

void look(Sample& sample, bool check, Worker& worker) {
  const auto bytes = sample.encoded.bytes();
  if (check) sample.hash = xxh3(bytes);
  if (check && *sample.hash != sample.checksum)
    return sample.end(
        kFailed,
        "checksum mismatch (got " + hex(*sample.hash) + ", want " + hex(sample.checksum) + ")",
        EIO);
  Header header = header_of(bytes, worker.png.layout);
  sample.height = header.height;
  sample.width = header.width;
  sample.png = png::is_png(bytes);
  sample.end(header.status, std::move(header.why));
}

}  // namespace fl
