// The stages DECODE and CROP of one image, as jobs run them (sample.cpp), with what only single
// images need: a box of fractions, Pillow's own storage, and no fallback where that is not wanted.
#include "engine/single.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"
#include "engine/decode.h"
#include "engine/look.h"

namespace fl {
namespace {

// By the own decoder, whose frame is parsed.
jpeg::Decoded decode_own(Bytes bytes, const Region& region, int scale, Seeking& seeking,
                         Worker& worker) {
  jpeg::Decoded out;
  const Seekable image{bytes, seeking.index, seeking.hash};
  const Index outcome = decode_by_index(image, region, scale, worker, out);
  if (outcome == Index::kUsed) return out;
  const bool collect = seeking.collect && outcome != Index::kFailed;
  if (collect) seeking.made.emplace();
  return decode_in_order(image, region, worker, collect ? &*seeking.made : nullptr);
}

jpeg::Decoded decode(Bytes bytes, const Header& header, int scale, const Region& region,
                     bool library, Seeking& seeking, Worker& worker) {
  if (const Codec codec = codec_of(bytes); codec != Codec::kJpeg) {
    jpeg::Decoded out;
    out.error = decode_other(codec, bytes, region, scale, worker, out.image);
    return out;
  }
  worker.ask(static_cast<size_t>(region.height) * region.width * kChannels);
  std::string why = jpeg::parse_frame(bytes, worker.frame);
  const bool same = worker.frame.height == header.height && worker.frame.width == header.width;
  if (why.empty() && same) {
    jpeg::shrink(worker.frame, scale);
    jpeg::Decoded own = decode_own(bytes, region, scale, seeking, worker);
    if (own.ok() || !library) return own;
  } else if (library) {
    jpeg::Decoded own = decode_scans(bytes, header.height, header.width, region, scale, worker);
    if (own.ok()) return own;
  } else {
    return {{}, why.empty() ? "size differs from the first frame header" : std::move(why)};
  }
  const auto ask = [&worker](size_t needed) { worker.ask(needed); };
  return jpeg::decode_region(bytes, header.height, header.width, region, worker.decoded, scale,
                             ask);
}

// One row, blue first: two pixels at a time, in a word that has two bytes of the third one too.
void pack_bgr(const uint8_t* from, int width, uint8_t* out) {
  constexpr uint64_t kEnds = 0x00000000ff0000ff, kMiddles = 0x000000ff0000ff00;
  int x = 0;
  if constexpr (std::endian::native == std::endian::little) {
    for (; x + 3 <= width; x += 2, from += 2 * kChannels, out += 2 * kChannels) {
      uint64_t two;
      std::memcpy(&two, from, sizeof two);
      two = (two & kEnds) << 16 | (two & kMiddles) | (two >> 16 & kEnds);
      std::memcpy(out, &two, sizeof two);
    }
  }
  for (; x < width; ++x, from += kChannels, out += kChannels) {
    out[0] = from[2];
    out[1] = from[1];
    out[2] = from[0];
  }
}

void pack(const Image& image, const Packing& packing, uint8_t* out) {
  for (int y = 0; y < image.height; ++y) {
    const uint8_t* from = image.row(y);
    if (packing.plain()) {
      out = std::copy_n(from, static_cast<size_t>(image.width) * kChannels, out);
      continue;
    }
    if (packing.bgr) {
      pack_bgr(from, image.width, out);
      out += static_cast<size_t>(image.width) * kChannels;
      continue;
    }
    for (int x = 0; x < image.width; ++x, from += kChannels, out += packing.channels) {
      out[0] = from[0];
      if (packing.channels == 1) continue;
      out[1] = from[1];
      out[2] = from[2];
      out[3] = packing.filler;
    }
  }
}

}  // namespace

void check_single(const Single& single, int height, int width, const std::string& where) {
  cpu::check_scale(single.scale, where);
  const int high = shrunk(height, single.scale), wide = shrunk(width, single.scale);
  const Region& crop = single.crop;
  if (crop.empty() || crop.top < 0 || crop.left < 0 || crop.height > high - crop.top ||
      crop.width > wide - crop.left)
    refuse(where, "the region leaves the image",
           "top " + std::to_string(crop.top) + ", left " + std::to_string(crop.left) + ", size " +
               std::to_string(crop.height) + "x" + std::to_string(crop.width),
           "a region inside " + std::to_string(high) + "x" + std::to_string(wide));
  cpu::check_boxed(single.resize, where);
}

std::string make_single(Bytes bytes, const Header& header, const Single& single,
                        const Packing& packing, bool library, Seeking& seeking, uint8_t* out,
                        Worker& worker) {
  cpu::CropPlan plan;
  cpu::plan_boxed(single.resize, single.how, plan);
  if (plan.source.empty()) return "nothing of the image is seen";
  Region region = plan.source;
  region.top += single.crop.top;
  region.left += single.crop.left;
  const jpeg::Decoded decoded =
      decode(bytes, header, single.scale, region, library, seeking, worker);
  if (!decoded.ok()) return decoded.error;
  const Region& window = single.resize.window;
  const bool copied =
      plan.rows.kind == cpu::Axis::Kind::kCopy && plan.columns.kind == cpu::Axis::Kind::kCopy;
  if (copied) {
    pack(decoded.image, packing, out);
    return {};
  }
  const ptrdiff_t line = static_cast<ptrdiff_t>(window.width) * kChannels;
  const bool plain = packing.plain();
  uint8_t* pixels =
      plain ? out : worker.pixels.reserve(static_cast<size_t>(line) * window.height + kPadding);
  cpu::crop_resize(decoded.image, plan, {pixels, window.height, window.width, line}, worker.passes,
                   cpu::Target::kBest);
  if (!plain) pack({pixels, window.height, window.width, line, false}, packing, out);
  return {};
}

}  // namespace fl
