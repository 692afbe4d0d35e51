// Which decoder a sample's region comes from. Of a JPEG: an own one, by the seek index where there
// is one; else libjpeg-turbo.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/sample.h"
#include "engine/worker.h"
#include "jpeg/turbo.h"

namespace fl {

// A JPEG whose frame is parsed, and what is known of where its decoding can begin.
struct Seekable {
  Bytes bytes;
  Bytes index;                    // or coefficient layer; empty: there is none
  std::optional<uint64_t>& hash;  // XXH3 of the bytes, once someone has asked for it
};

// kFailed: the index is right, but the image is not covered
enum class Index { kUsed, kNone, kRefused, kFailed };

// By the index, if there is one and it is right. scale: of worker.frame.
Index decode_by_index(const Seekable& image, const Region& region, int scale, Worker& worker,
                      jpeg::Decoded& out);

// From the scan's start. made: the index that is noted meanwhile, empty where the file has none;
// null: none is wanted.
jpeg::Decoded decode_in_order(const Seekable& image, const Region& region, Worker& worker,
                              std::vector<uint8_t>* made);

// Of a progressive JPEG, at 1/scale of its size, of which the region is px; an error where the own
// decoder does not take it. height, width: px of the whole image.
jpeg::Decoded decode_scans(Bytes bytes, int height, int width, const Region& region, int scale,
                           Worker& worker);

// By a layer that `fetch` found to be of the sample's JPEG; fills `image` as below. False: it was
// refused, and the JPEG is to be read.
bool decode_layer(const Sample& sample, const Region& region, int scale, Worker& worker,
                  Image& image);

// Both need what `look` found OK, and fill `image` with exactly the region, which is px of
// the image at 1/scale of its size. Not empty: why Pillow is to be asked for it.

// All ways give the same pixels; the reason is libjpeg-turbo's.
std::string decode_jpeg(Sample& sample, const Region& region, int scale, Worker& worker,
                        Image& image);

// codec: not kJpeg.
std::string decode_other(Codec codec, Bytes bytes, const Region& region, int scale, Worker& worker,
                         Image& image);

}  // namespace fl
