// What encoded bytes say before they are decoded: their checksum, and the image's header.
#pragma once

#include "engine/sample.h"
#include "engine/worker.h"
#include "jpeg/probe.h"
#include "png/layout.h"

namespace fl {

Codec codec_of(Bytes bytes);

// `probe`, and OK for a PNG too that Pillow takes for certain: then `layout` is filled. And for a
// still WebP.
Header header_of(Bytes bytes, png::Layout& layout);

// Leaves the sample OK, with its size, or not OK. check: its checksum is compared.
void look(Sample& sample, bool check, Worker& worker);

}  // namespace fl
