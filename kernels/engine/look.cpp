#include "engine/look.h"

#include <cerrno>
#include <cstdio>
#include <string>

#include "base/hash.h"
#include "jpeg/probe.h"
#include "png/layout.h"

namespace fl {
namespace {

std::string hex(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

// OK where Pillow takes the file for certain. Any other keeps the size in its header, which Pillow
// will see.
void look_png(Sample& sample, png::Layout& layout) {
  const std::string why = png::parse(sample.encoded.bytes(), layout);
  sample.png = why.empty();
  if (sample.png)
    sample.end(kOk, {});
  else
    sample.end(kForeign, "png: " + why);
}

}  // namespace

void look(Sample& sample, bool check, Worker& worker) {
  const auto bytes = sample.encoded.bytes();
  if (check) sample.hash = xxh3(bytes);
  if (check && *sample.hash != sample.checksum)
    return sample.end(
        kFailed,
        "checksum mismatch (got " + hex(*sample.hash) + ", want " + hex(sample.checksum) + ")",
        EIO);
  Header header = probe(bytes);
  sample.height = header.height;
  sample.width = header.width;
  sample.end(header.status, std::move(header.why));
  if (png::is_png(bytes)) look_png(sample, worker.png.layout);
}

}  // namespace fl
