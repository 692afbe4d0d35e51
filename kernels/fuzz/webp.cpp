// WebPs. The input is eight bytes of choices, and either a file, or what its chunks hold: names and
// sizes are made here, so that most inputs are files that are decoded.
//
// A region's pixels are those of the whole image there, and whether an image is bad does not depend
// on the region. libwebp has no more memory than it was allowed.
#include "webp/region.h"

#include <algorithm>
#include <string>
#include <vector>

#include "fuzz/check.h"

namespace fl::fuzz {
namespace {

constexpr size_t kChoices = 8;

using File = std::vector<uint8_t>;

void put(File& out, size_t number, int bytes) {
  for (int n = 0; n < bytes; ++n) out.push_back(static_cast<uint8_t>(number >> 8 * n));
}

void put(File& out, const char* name, Bytes content) {
  out.insert(out.end(), name, name + 4);
  put(out, content.size(), 4);
  out.insert(out.end(), content.begin(), content.end());
  if (content.size() % 2 != 0) out.push_back(0);
}

// Width and height less 1, as the image's own header says them.
std::pair<int, int> canvas(Bytes image, bool lossless) {
  const auto at = [image](size_t n) { return n < image.size() ? image[n] : 0; };
  if (!lossless) return {((at(6) | at(7) << 8) & 0x3FFF) - 1, ((at(8) | at(9) << 8) & 0x3FFF) - 1};
  return {(at(1) | at(2) << 8) & 0x3FFF, at(2) >> 6 | at(3) << 2 | (at(4) & 0x0F) << 10};
}

// kinds: 0 lossy, 1 lossless, 2 lossy with a plane of transparency, 3 lossless with other chunks.
File made(const uint8_t* choices, Bytes input) {
  const int kind = choices[0] >> 1 & 3;
  const size_t before = std::min<size_t>(choices[1], input.size());
  const bool lossless = (kind & 1) != 0;
  const Bytes image = kind < 2 ? input : input.subspan(before);
  File chunks;
  if (kind >= 2) {
    const auto [width, height] = canvas(image, lossless);
    const bool clear = lossless ? image.size() > 4 && (image[4] & 0x10) != 0 : true;
    File extended{static_cast<uint8_t>(clear ? 0x10 : 0), 0, 0, 0};
    put(extended, static_cast<size_t>(width), 3);
    put(extended, static_cast<size_t>(height), 3);
    put(chunks, "VP8X", extended);
    put(chunks, lossless ? "ICCP" : "ALPH", input.first(before));
  }
  put(chunks, lossless ? "VP8L" : "VP8 ", image);
  File out{'R', 'I', 'F', 'F'};
  put(out, chunks.size() + 4, 4);
  out.insert(out.end(), {'W', 'E', 'B', 'P'});
  out.insert(out.end(), chunks.begin(), chunks.end());
  return out;
}

void run(Bytes input) {
  if (input.size() <= kChoices) return;
  const uint8_t* choices = input.data();
  const Bytes rest = input.subspan(kChoices);
  const File file = choices[0] & 1 ? made(choices, rest) : File(rest.begin(), rest.end());
  webp::Layout layout;
  if (!webp::parse(file, layout).empty()) return;
  static Scratch memory[2];
  want_regions(choices + 4, layout.height, layout.width, [&](const Region& region, int at) {
    return webp::decode(file, region, memory[at], [](size_t) {});
  });
}

}  // namespace
}  // namespace fl::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fl::fuzz::run({data, size});
  return 0;
}
