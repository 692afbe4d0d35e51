// Headers of the other formats: only enough to know size and name.
//
// Sizes are wanted before anything is decoded, to draw crops and to ask for memory. A header that
// lies is found out later by Pillow, which decodes these.
#include "base/reader.h"
#include "jpeg/probe.h"

namespace fl {
namespace {

void size(Header& header, uint32_t height, uint32_t width, uint32_t components) {
  constexpr uint32_t kMost = 1u << 30;
  if (height > kMost || width > kMost) return;
  header.height = static_cast<int>(height);
  header.width = static_cast<int>(width);
  header.components = static_cast<int>(components);
}

// PNG (W3C, 11.2.2 IHDR): colour type 0 grey, 2 RGB, 3 palette, 4 grey + alpha, 6 RGBA.
void png(Bytes bytes, Header& header) {
  constexpr uint32_t kComponents[] = {1, 0, 3, 1, 2, 0, 4};
  Reader in(bytes, true);
  const uint32_t width = in.u32(16), height = in.u32(20), colour = in.u8(25);
  header.format = "png";
  if (in.good && in.starts_with("IHDR", 4, 12))
    size(header, height, width, colour < 7 ? kComponents[colour] : 0);
}

// WebP (RFC 9649): lossy key frame, lossless, or extended header.
void webp(Bytes bytes, Header& header) {
  Reader in(bytes, false);
  header.format = "webp";
  if (in.starts_with("VP8 ", 4, 12)) {
    const uint32_t width = in.u16(26) & 0x3FFF, height = in.u16(28) & 0x3FFF;
    if (in.good) size(header, height, width, 3);
  } else if (in.starts_with("VP8L", 4, 12)) {
    const uint32_t bits = in.u32(21);
    if (in.good)
      size(header, (bits >> 14 & 0x3FFF) + 1, (bits & 0x3FFF) + 1, bits >> 28 & 1 ? 4 : 3);
  } else if (in.starts_with("VP8X", 4, 12)) {
    const uint32_t flags = in.u8(20), width = in.u24(24) + 1, height = in.u24(27) + 1;
    if (in.good) size(header, height, width, flags & 0x10 ? 4 : 3);
  }
}

// BMP: the old core header has 16-bit sizes; a negative height means top-down rows.
void bmp(Bytes bytes, Header& header) {
  Reader in(bytes, false);
  const bool core = in.u32(14) == 12;
  const uint32_t width = core ? in.u16(18) : in.u32(18), height = core ? in.u16(20) : in.u32(22);
  const uint32_t bits = in.u16(core ? 24 : 28);
  header.format = "bmp";
  if (in.good)
    size(header, height >> 31 ? 0u - height : height, width, bits <= 8 ? 1 : bits == 32 ? 4 : 3);
}

void gif(Bytes bytes, Header& header) {
  Reader in(bytes, false);
  const uint32_t width = in.u16(6), height = in.u16(8);
  header.format = "gif";
  if (in.good) size(header, height, width, 1);
}

// TIFF 6.0: first directory, entries of 12 bytes: tag, type (3: 16 bits, 4: 32 bits), count, value.
void tiff(Bytes bytes, bool big_endian, Header& header) {
  Reader in(bytes, big_endian);
  const size_t directory = in.u32(4);
  const uint32_t entries = in.u16(directory);
  uint32_t height = 0, width = 0, samples = 1;
  for (uint32_t i = 0; i < entries && in.good; ++i) {
    const size_t entry = directory + 2 + size_t{12} * i;
    const uint32_t tag = in.u16(entry), type = in.u16(entry + 2);
    const uint32_t value = type == 3 ? in.u16(entry + 8) : in.u32(entry + 8);
    if (tag == 256) width = value;
    if (tag == 257) height = value;
    if (tag == 277) samples = value;
  }
  header.format = "tiff";
  if (in.good && samples <= 16) size(header, height, width, samples);
}

}  // namespace

bool probe_other(Bytes bytes, Header& header) {
  const Reader in(bytes, true);
  if (in.starts_with("\x89PNG\r\n\x1a\n", 8))
    png(bytes, header);
  else if (in.starts_with("RIFF", 4) && in.starts_with("WEBP", 4, 8))
    webp(bytes, header);
  else if (in.starts_with("BM", 2))
    bmp(bytes, header);
  else if (in.starts_with("GIF87a", 6) || in.starts_with("GIF89a", 6))
    gif(bytes, header);
  else if (in.starts_with("II*\0", 4))
    tiff(bytes, false, header);
  else if (in.starts_with("MM\0*", 4))
    tiff(bytes, true, header);
  else
    return false;
  return true;
}

}  // namespace fl
