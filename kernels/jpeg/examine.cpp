// What a converter asks of each image, while its bytes are in cache. The answers are those that a
// loader will act on: what `probe` leaves to Pillow is left to Pillow here too.
#include "jpeg/examine.h"

#include "jpeg/layer/layer.h"
#include "simd/hash.h"

namespace fl {
namespace {

// What Pillow is not certain to take, it is asked for: the check finds the files bad that a loader
// will.
bool passes(Bytes bytes, const Header& header, jpeg::Coding coding, Check check) {
  if (header.status != kOk) return false;
  if (check == Check::kMarkers) return coding != jpeg::Coding::kOther && jpeg::reaches_end(bytes);
  return check == Check::kDecode && coding == jpeg::Coding::kBaseline &&
         jpeg::check_scan(bytes).empty();
}

}  // namespace

Examined examine(Bytes bytes, int step, Check check) {
  Examined out;
  out.header = probe(bytes);
  out.hash = xxh3(bytes);
  const bool is_jpeg = bytes.size() >= 2 && bytes[0] == 0xFF && bytes[1] == 0xD8;
  if (!is_jpeg) {
    if (step >= 0) out.why = "not a JPEG";
    return out;
  }
  out.coding = jpeg::coding_of(bytes);
  if (step >= 0) {
    jpeg::Built built = step == jpeg::layer::kStep ? jpeg::layer::build(bytes, &out.hash)
                                                   : jpeg::build_index(bytes, step, &out.hash);
    out.index = std::move(built.index);
    out.why = std::move(built.why);
    out.sound = out.why.empty() && out.header.status == kOk;
    if (out.sound || (check == Check::kDecode && out.coding == jpeg::Coding::kBaseline)) return out;
  }
  out.sound = passes(bytes, out.header, out.coding, check);
  return out;
}

}  // namespace fl
