// The coefficient layer of a JPEG: its quantised coefficients once more, without loss, laid out for
// vector units (format.h). It gives the JPEG's pixels without entropy decoding, and any region of
// them for the work of its own tiles.
#pragma once

#include <string>
#include <vector>

#include "jpeg/layer/format.h"
#include "jpeg/region.h"
#include "jpeg/region_tiles.h"

namespace fl::jpeg::layer {

// What stands for a seek index's MCUs per entry where layers are meant.
constexpr int kStep = 1 << 20;

// Of a JPEG of one scan, baseline or with 8 bits per value, with restart markers or without, of
// which libjpeg-turbo warns of nothing and of which Pillow need not be asked (certain.h). The same
// file always gives the same layer. file_hash: XXH3 of `bytes`, if the caller has it already.
Built build(Bytes bytes, const uint64_t* file_hash = nullptr,
            cpu::Target target = cpu::Target::kBest);

// Whether the bytes begin as a layer does, of any version.
bool is_layer(Bytes bytes);

// … of the version that is read here.
bool is_known(Bytes bytes);

// A view of a layer; `bytes` must outlive it. What is wrong is found by `open` or `decode`; never
// by a read outside it, and before memory is taken.
class Layer {
 public:
  // Empty, or why it cannot be used. frame: of its JPEG, without restart markers.
  std::string open(Bytes bytes, Frame& frame);

  // Whether it was made of a file of this size with this XXH3; after `open`.
  bool is_of(size_t size, uint64_t hash) const;

  // Whether all rows have their checksums.
  bool intact() const;

  // An MCU row's bytes, checked. False: they are damaged.
  bool row(int row, Bytes& out) const;

  // Bytes of the layer behind those of a row.
  size_t behind(Bytes row) const {
    return static_cast<size_t>(rows_.data() + rows_.size() - row.data()) - row.size();
  }

 private:
  Bytes bytes_, rows_;
  size_t entries_ = 0;  // byte where the table of rows begins
};

// MCU rows row..end-1 of the tiles into planes that have room for them. planes: null to stop at the
// coefficients. Empty, or why not.
std::string fill(const Layer& layer, const Frame& frame, const Tiles2d& tiles, int row, int end,
                 Planes* planes, Workspace& workspace, cpu::Target target);

// As decode_region(), by a layer alone. The error begins with "index refused: ".
Decoded decode(const Layer& layer, const Frame& frame, const Region& region, Workspace& workspace,
               cpu::Target target);

}  // namespace fl::jpeg::layer
