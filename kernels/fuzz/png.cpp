// PNGs. The input is eight bytes of choices, and either the file's chunks, which get right
// checksums, or the unpacked rows, which are packed here: Deflate's own checksum would hide both
// from the fuzzer.
//
// A region's pixels are those of the whole image there, and whether an image is bad does not depend
// on the region.
#include "png/decode.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <libdeflate.h>

#include "fuzz/check.h"
#include "png/rows.h"

namespace fl::fuzz {
namespace {

constexpr size_t kChoices = 8;
constexpr uint8_t kSignature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
constexpr int kMostSide = 64;  // px

using File = std::vector<uint8_t>;

void put(File& out, uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<uint8_t>(number >> shift));
}

void put(File& out, const char* name, Bytes content) {
  put(out, static_cast<uint32_t>(content.size()));
  const size_t at = out.size();
  out.insert(out.end(), name, name + 4);
  out.insert(out.end(), content.begin(), content.end());
  put(out, libdeflate_crc32(0, out.data() + at, out.size() - at));
}

// The chunks that can be found in the input, with right checksums, and what is left of it.
File chunks(Bytes input) {
  File out(kSignature, kSignature + sizeof kSignature);
  while (input.size() >= 8) {
    const size_t length = std::min<size_t>(input[2] << 8 | input[3], input.size() - 8);
    put(out, reinterpret_cast<const char*>(input.data()) + 4, input.subspan(8, length));
    input = input.subspan(std::min(input.size(), 8 + length + 4));
  }
  out.insert(out.end(), input.begin(), input.end());
  return out;
}

// A zlib stream of stored blocks.
File stored(const File& rows) {
  File out{0x78, 0x01};
  for (size_t at = 0; at == 0 || at < rows.size();) {
    const size_t length = std::min<size_t>(rows.size() - at, 0xFFFF);
    out.push_back(at + length == rows.size());
    for (const size_t number : {length, ~length})
      for (int shift = 0; shift < 16; shift += 8)
        out.push_back(static_cast<uint8_t>(number >> shift));
    out.insert(out.end(), rows.begin() + at, rows.begin() + at + length);
    at += std::max<size_t>(length, 1);
  }
  put(out, libdeflate_adler32(1, rows.data(), rows.size()));
  return out;
}

// An image of some kind whose unpacked rows are the input, over and over; filters are mostly known.
File rows(const uint8_t* choices, Bytes input) {
  constexpr uint8_t kKinds[][2] = {{0, 1}, {0, 2}, {0, 4}, {0, 8}, {2, 8},  {2, 16}, {3, 1},
                                   {3, 2}, {3, 4}, {3, 8}, {4, 8}, {4, 16}, {6, 8},  {6, 16}};
  const auto& [colour, depth] = kKinds[choices[1] % std::size(kKinds)];
  png::Layout layout;
  layout.width = 1 + choices[2] % kMostSide;
  layout.height = 1 + choices[3] % kMostSide;
  layout.colour = static_cast<png::Colour>(colour);
  layout.depth = depth;
  layout.interlaced = choices[0] & 2;
  File head;
  put(head, static_cast<uint32_t>(layout.width));
  put(head, static_cast<uint32_t>(layout.height));
  for (const int it : {int{depth}, int{colour}, 0, 0, int{layout.interlaced}})
    head.push_back(static_cast<uint8_t>(it));
  File unpacked(png::unpacked_bytes(layout));
  for (size_t n = 0; n < unpacked.size(); ++n) unpacked[n] = input[n % input.size()];
  size_t at = 0;
  for (const png::Pass& pass : png::passes(layout)) {
    const int columns = pass.columns(layout);
    if (columns <= 0) continue;
    for (int y = 0; y < pass.rows(layout); ++y, at += layout.row_bytes(columns) + 1)
      if (unpacked[at] < 250) unpacked[at] %= 5;
  }
  File out(kSignature, kSignature + sizeof kSignature);
  put(out, "IHDR", head);
  if (colour == 3) put(out, "PLTE", File(3 * (1 + choices[0] % (1 << depth)), 7));
  const File packed = stored(unpacked);
  const size_t cut = choices[0] % (packed.size() + 1);
  put(out, "IDAT", Bytes(packed).first(cut));
  put(out, "IDAT", Bytes(packed).subspan(cut));
  put(out, "IEND", {});
  return out;
}

void run(Bytes input) {
  if (input.size() <= kChoices) return;
  const uint8_t* choices = input.data();
  const bool made = choices[0] & 1;
  const File file = made ? rows(choices, input.subspan(kChoices)) : chunks(input.subspan(kChoices));
  static png::Workspace memory[2];
  const std::string why = png::parse(file, memory[0].layout);
  want(!made || why.empty(), "a made file is refused: " + why);
  if (!why.empty()) return;
  const int height = memory[0].layout.height, width = memory[0].layout.width;
  want(!memory[0].layout.data.empty(), "a layout of nothing");
  want_regions(choices + 4, height, width, [&](const Region& region, int at) {
    return png::decode(file, region, memory[at], [](size_t) {});
  });
}

}  // namespace
}  // namespace fl::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fl::fuzz::run({data, size});
  return 0;
}
