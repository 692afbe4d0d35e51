// The chunks of a file, one after the other; of the image's own header libwebp has the word.
#include "webp/layout.h"

#include <webp/decode.h>

#include <cstring>

#include "base/image.h"
#include "base/reader.h"

namespace fl::webp {
namespace {

constexpr size_t kStart = 12, kHead = 8;  // bytes: RIFF, its size and WEBP; a chunk's name and size
constexpr uint32_t kAnimated = 0x02, kAlpha = 0x10;  // flags of VP8X
constexpr size_t kExtended = 10;                     // bytes of VP8X

// What the file's chunks are, in their order.
struct Chunks {
  bool extended = false, alpha = false, image = false;
  uint32_t flags = 0;
};

// One chunk. Not empty: what is odd about it.
std::string take(const char* name, size_t size, Reader& in, size_t at, Chunks& seen) {
  const auto is = [name](const char* other) { return std::memcmp(name, other, 4) == 0; };
  if (is("VP8X")) {
    if (at != kStart || size != kExtended) return "an extended header of another kind";
    seen.extended = true;
    seen.flags = in.u8(at + kHead);
    return seen.flags & kAnimated ? "animated" : "";
  }
  if (is("VP8 ") || is("VP8L")) {
    if (seen.image || (seen.alpha && is("VP8L"))) return "several images";
    seen.image = true;
    return {};
  }
  if (!seen.extended) return "chunks that the simple form has not";
  if (is("ALPH")) {
    if (seen.alpha || seen.image) return "transparency in another place";
    seen.alpha = true;
    return {};
  }
  return is("ICCP") || is("EXIF") || is("XMP ") ? "" : "a chunk of another kind";
}

// All of them fill the file.
std::string walk(Bytes bytes, Chunks& seen) {
  Reader in(bytes, false);
  if (uint64_t{in.u32(4)} + kHead != bytes.size()) return "its size is not the file's";
  for (size_t at = kStart; at < bytes.size();) {
    const uint64_t size = in.u32(at + 4), next = at + kHead + size + size % 2;
    if (!in.good || next > bytes.size()) return "a chunk is cut off";
    const auto* name = reinterpret_cast<const char*>(bytes.data()) + at;
    if (std::string why = take(name, size, in, at, seen); !why.empty()) return why;
    at = next;
  }
  return seen.image ? "" : "no image";
}

}  // namespace

bool is_webp(Bytes bytes) {
  const Reader in(bytes, false);
  return in.starts_with("RIFF", 4) && in.starts_with("WEBP", 4, 8);
}

std::string parse(Bytes bytes, Layout& layout) {
  if (!is_webp(bytes)) return "no WebP";
  Chunks seen;
  if (std::string why = walk(bytes, seen); !why.empty()) return why;
  WebPBitstreamFeatures said;
  if (WebPGetFeatures(bytes.data(), bytes.size(), &said) != VP8_STATUS_OK) return "a bad header";
  if (said.width < 1 || said.height < 1 || int64_t{said.width} * said.height > kMaxPixels)
    return "its size";
  layout = {said.height, said.width, said.format == 2, said.has_alpha != 0};
  const bool flagged = (seen.flags & kAlpha) != 0;
  if (seen.extended && flagged != layout.alpha) return "a transparency that is and is not";
  return {};
}

}  // namespace fl::webp
