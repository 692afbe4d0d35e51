// The header that counts is the first one, and of a PNG or a WebP all its chunks: a sample is OK
// where Pillow takes the file for certain.
#include "engine/look.h"

#include <cerrno>
#include <cstdio>
#include <string>

#include "simd/hash.h"
#include "webp/layout.h"

namespace fl {
namespace {

std::string hex(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

Header judged(Header header, const char* whose, const std::string& why) {
  header.status = why.empty() ? kOk : kForeign;
  header.why = why.empty() ? "" : whose + why;
  return header;
}

}  // namespace

Codec codec_of(Bytes bytes) {
  if (png::is_png(bytes)) return Codec::kPng;
  return webp::is_webp(bytes) ? Codec::kWebp : Codec::kJpeg;
}

Header header_of(Bytes bytes, png::Layout& layout) {
  Header header = probe(bytes);
  switch (codec_of(bytes)) {
    case Codec::kJpeg:
      return header;
    case Codec::kPng:
      return judged(std::move(header), "png: ", png::parse(bytes, layout));
    case Codec::kWebp:
      webp::Layout still;
      return judged(std::move(header), "webp: ", webp::parse(bytes, still));
  }
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
  sample.codec = codec_of(bytes);
  sample.end(header.status, std::move(header.why));
}

}  // namespace fl
