// The chunks of a file, one after the other. What may change pixels in a way that is not known here,
// or be refused by Pillow, leaves the file to it.
#include "png/layout.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <libdeflate.h>

#include "base/image.h"
#include "base/reader.h"

namespace fl::png {
namespace {

constexpr char kSignature[] = "\x89PNG\r\n\x1a\n";
constexpr size_t kStart = 8, kAround = 12;  // bytes: signature; length, name and CRC of a chunk
constexpr uint32_t kMostLength = 0x7FFFFFFF;
// Bytes that unpack to at most 1 MiB: Pillow refuses more in a chunk of text or a colour profile.
// Deflate makes one byte of 1,032 at most.
constexpr size_t kMostPacked = 1016, kMostText = size_t{1} << 20, kDeflateRatio = 1032;

// One chunk, whose bytes lie within the file.
struct Chunk {
  const char* name;
  Bytes content;

  bool is(const char* other) const { return std::memcmp(name, other, 4) == 0; }
};

// The chunk at `at`, which is moved behind it. False: the file ends before it does.
bool next(Bytes bytes, size_t& at, Chunk& chunk) {
  Reader in(bytes, true);
  const uint32_t length = in.u32(at);
  if (!in.good || length > kMostLength || bytes.size() - at < kAround + length) return false;
  chunk = {reinterpret_cast<const char*>(bytes.data()) + at + 4, bytes.subspan(at + 8, length)};
  at += kAround + length;
  return true;
}

std::string by(uint32_t height, uint32_t width) {
  return std::to_string(height) + "x" + std::to_string(width);
}

bool depth_fits(Colour colour, uint32_t depth) {
  switch (colour) {
    case Colour::kGrey:  // of 16 bits Pillow makes images of another kind
      return depth == 1 || depth == 2 || depth == 4 || depth == 8;
    case Colour::kPalette:
      return depth == 1 || depth == 2 || depth == 4 || depth == 8;
    default:
      return depth == 8 || depth == 16;
  }
}

// 11.2.1
std::string header(Bytes content, Layout& out) {
  Reader in(content, true);
  const uint32_t width = in.u32(0), height = in.u32(4), depth = in.u8(8), colour = in.u8(9);
  const uint32_t packing = in.u8(10), filtering = in.u8(11), interlace = in.u8(12);
  if (content.size() != 13 || packing != 0 || filtering != 0 || interlace > 1)
    return "header of another kind";
  if (colour > 6 || colour == 1 || colour == 5 || !depth_fits(static_cast<Colour>(colour), depth))
    return "colour type " + std::to_string(colour) + " of " + std::to_string(depth) + " bits";
  if (width == 0 || height == 0 || uint64_t{width} * height > uint64_t{kMaxPixels})
    return "size (got " + by(height, width) + ", want 1 to " + std::to_string(kMaxPixels) + " px)";
  out.height = static_cast<int>(height);
  out.width = static_cast<int>(width);
  out.depth = static_cast<int>(depth);
  out.colour = static_cast<Colour>(colour);
  out.interlaced = interlace == 1;
  return {};
}

// 11.2.2
std::string palette(Bytes content, Layout& out) {
  const size_t colours = content.size() / 3;
  if (colours * 3 != content.size() || colours == 0 || colours > 256 || out.colours != 0)
    return "palette of another size";
  if (out.colour != Colour::kPalette) return {};  // a suggestion, which nobody needs
  out.colours = static_cast<int>(colours);
  std::copy(content.begin(), content.end(), out.palette.begin());
  return {};
}

// 11.3.1.1: how it may look. Without alpha in the result, what it says is not needed.
bool transparency_fits(Bytes content, const Layout& layout) {
  if (layout.colour == Colour::kGrey) return content.size() == 2;
  if (layout.colour == Colour::kRgb) return content.size() == 6;
  return layout.colour == Colour::kPalette && !content.empty() &&
         content.size() <= static_cast<size_t>(layout.colours);
}

// Where text begins that stands behind a keyword and its NUL; 0: there is none.
size_t behind_keyword(Bytes content) {
  const auto end = std::find(content.begin(), content.end(), uint8_t{0});
  return end == content.end() ? 0 : static_cast<size_t>(end - content.begin()) + 1;
}

// 11.3.2.3, 11.3.3: Pillow unpacks it, and refuses files where it is too large.
bool packed_fits(const Chunk& chunk) {
  const size_t at = behind_keyword(chunk.content);
  if (at == 0 || at >= chunk.content.size()) return false;
  const uint8_t packed = chunk.content[at];
  if (chunk.is("iTXt")) return packed == 0 && chunk.content.size() <= kMostText;
  return packed == 0 && chunk.content.size() - at <= kMostPacked;  // zTXt, iCCP: the method
}

// A colour profile is often larger than what surely fits: it is unpacked, to nowhere.
bool profile_fits(const Chunk& chunk) {
  if (packed_fits(chunk)) return true;
  const size_t at = behind_keyword(chunk.content);
  if (at == 0 || at >= chunk.content.size() || chunk.content[at] != 0) return false;
  const Bytes packed = chunk.content.subspan(at + 1);
  libdeflate_decompressor* const unpack = libdeflate_alloc_decompressor();
  if (unpack == nullptr) return false;
  std::vector<uint8_t> out(std::min(kMostText, packed.size() * kDeflateRatio));
  size_t got = 0;
  const auto result =
      libdeflate_zlib_decompress(unpack, packed.data(), packed.size(), out.data(), out.size(), &got);
  libdeflate_free_decompressor(unpack);
  return result == LIBDEFLATE_SUCCESS;
}

// Chunks that do not change the pixels, of a size that Pillow takes.
bool harmless(const Chunk& chunk, const Layout& layout) {
  constexpr std::pair<const char*, size_t> kFixed[] = {
      {"gAMA", 4}, {"cHRM", 32}, {"sRGB", 1}, {"pHYs", 9}, {"tIME", 7}};
  for (const auto& [name, size] : kFixed)
    if (chunk.is(name)) return chunk.content.size() == size;
  for (const char* name : {"bKGD", "sBIT", "hIST"})
    if (chunk.is(name)) return chunk.content.size() <= 512;
  if (chunk.is("tEXt") || chunk.is("eXIf")) return chunk.content.size() <= kMostText;
  if (chunk.is("iTXt") || chunk.is("zTXt")) return packed_fits(chunk);
  if (chunk.is("iCCP")) return profile_fits(chunk);
  return chunk.is("tRNS") && transparency_fits(chunk.content, layout);
}

std::string unknown(const Chunk& chunk) {
  std::string name(chunk.name, 4);
  for (char& letter : name)
    if (letter < ' ' || letter > '~') letter = '?';
  return "chunk " + name;
}

// No packed row is shorter than Deflate can make it: what says so lies, before memory is taken.
bool too_few(const Layout& layout) {
  return unpacked_bytes(layout) / kDeflateRatio > layout.packed;
}

}  // namespace

int Layout::values() const {
  switch (colour) {
    case Colour::kRgb:
      return 3;
    case Colour::kGreyAlpha:
      return 2;
    case Colour::kRgbAlpha:
      return 4;
    default:
      return 1;
  }
}

size_t Layout::row_bytes(int pixels) const {
  return (static_cast<size_t>(pixels) * pixel_bits() + 7) / 8;
}

std::span<const Pass> passes(const Layout& layout) {
  static constexpr Pass kWhole[] = {{0, 0, 1, 1}};
  // 8.1: Adam7
  static constexpr Pass kAdam7[] = {{0, 0, 8, 8}, {0, 4, 8, 8}, {4, 0, 8, 4}, {0, 2, 4, 4},
                                    {2, 0, 4, 2}, {0, 1, 2, 2}, {1, 0, 2, 1}};
  if (layout.interlaced) return kAdam7;
  return kWhole;
}

size_t unpacked_bytes(const Layout& layout) {
  size_t sum = 0;
  for (const Pass& pass : passes(layout))
    if (const int columns = pass.columns(layout), rows = pass.rows(layout); columns > 0 && rows > 0)
      sum += (layout.row_bytes(columns) + 1) * rows;
  return sum;
}

bool is_png(Bytes bytes) { return Reader(bytes, true).starts_with(kSignature, kStart); }

std::string parse(Bytes bytes, Layout& layout) {
  layout.data.clear();
  layout.packed = 0;
  layout.colours = 0;
  size_t at = kStart;
  Chunk chunk{};
  if (!is_png(bytes) || !next(bytes, at, chunk) || !chunk.is("IHDR")) return "no header";
  if (std::string why = header(chunk.content, layout); !why.empty()) return why;
  bool rows_end = false;
  while (next(bytes, at, chunk)) {
    if (chunk.is("IEND")) {
      if (layout.data.empty()) return "no rows";
      return too_few(layout) ? "rows are missing" : "";
    }
    if (chunk.is("IDAT")) {
      if (rows_end) return "rows in two places";
      if (layout.colour == Colour::kPalette && layout.colours == 0) return "no palette";
      layout.data.push_back(chunk.content);
      layout.packed += chunk.content.size();
      continue;
    }
    rows_end = !layout.data.empty();
    if (chunk.is("PLTE") && !rows_end) {
      if (std::string why = palette(chunk.content, layout); !why.empty()) return why;
    } else if (!harmless(chunk, layout)) {
      return unknown(chunk);
    }
  }
  return "its end is missing";
}

bool sums_agree(Bytes bytes) {
  size_t at = kStart;
  Chunk chunk{};
  while (next(bytes, at, chunk)) {
    Reader in(bytes, true);
    const uint32_t said = in.u32(at - 4);
    if (libdeflate_crc32(0, chunk.name, chunk.content.size() + 4) != said) return false;
    if (chunk.is("IEND")) return true;
  }
  return false;
}

}  // namespace fl::png
