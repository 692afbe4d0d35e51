// What a JPEG says before its first scan (ITU-T T.81, annex B): size, sampling, tables, where the
// coded bytes begin.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "body/idct.h"
#include "body/upsample.h"

namespace fl::jpeg {

using Bytes = std::span<const uint8_t>;

constexpr int kMaxComponents = 3;
constexpr int kMaxTables = 4;
constexpr int kMaxMcuBlocks = 10;  // T.81 B.2.3

// A Huffman table as the file gives it: how many codes of each length, and their symbols in order
// of the codes.
struct Codes {
  bool present = false;
  std::array<uint8_t, 17> counts{};  // [length], 1..16
  std::array<uint8_t, 256> symbols{};
};

// One of the image's colours, as the frame header has it and as the decoder needs it.
struct Component {
  uint32_t id = 0;           // its name in scan headers
  int h = 1, v = 1;          // blocks across and down in one MCU
  int across = 1, down = 1;  // pixels per sample
  // Samples across and down that a block becomes; fewer in a scaled frame
  int block = kBlockSize;
  Upsampling upsampling{};        // to pixels
  int height = 0, width = 0;      // samples that belong to the image
  int quant = 0, dc = 0, ac = 0;  // numbers of its tables

  int blocks() const { return h * v; }
};

struct Frame {
  int height = 0, width = 0;  // px
  int components = 0;         // 1 or 3
  bool ycc = false;           // three components are Y, Cb, Cr; else R, G, B
  bool progressive =
      false;  // tables and restart intervals are its scans' own (progressive_scans.h)
  std::array<Component, kMaxComponents> component{};
  int mcu_height = 0, mcu_width = 0;  // px
  int mcu_rows = 0, mcu_columns = 0;
  int mcu_blocks = 0;
  int restart_interval = 0;  // MCUs; 0: none

  std::array<std::array<uint16_t, kBlockValues>, kMaxTables> quant{};  // in zigzag order
  std::array<Codes, kMaxTables> dc{}, ac{};
  size_t scan = 0;  // byte where the entropy-coded data begin
};

constexpr const char* kSeveralScans = "not covered: components in scans of their own";

// Empty, or why not: "not covered: …" (a library may decode it) or "damaged at byte N: …". Takes no
// memory that the bytes ask for. What it takes, libjpeg-turbo takes without a warning.
std::string parse_frame(Bytes bytes, Frame& frame);

// The same of a progressive JPEG, but for what its scans say.
std::string parse_progressive(Bytes bytes, Frame& frame);

// The frame of the same image at 1/scale: all px and samples shrink, MCUs and tables stay. scale:
// 1, 2, 4 or 8.
void shrink(Frame& frame, int scale);

}  // namespace fl::jpeg
