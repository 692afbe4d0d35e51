// Segment by segment, every length checked. Stricter than libjpeg-turbo wherever that one warns,
// guesses or repairs.
#include "jpeg/frame.h"

#include <algorithm>

#include "base/image.h"
#include "base/reader.h"
#include "jpeg/codes.h"
#include "jpeg/huffman.h"

namespace fl::jpeg {
namespace {

constexpr int kMaxSide = 65500;  // px, libjpeg's JPEG_MAX_DIMENSION
// So that a block's coefficients times quantisers add up in 32 bits
constexpr int kMaxQuant = 16383;

int ceil_div(int64_t a, int64_t b) { return static_cast<int>((a + b - 1) / b); }

// What a component is in `frame`, given its h, v and block. full: the frame before it was shrunk.
void set_geometry(Component& part, const Frame& frame, const Frame& full, bool smooth) {
  const int across = part.h * part.block, down = part.v * part.block;  // samples in an MCU
  part.across = frame.mcu_width / across;
  part.down = frame.mcu_height / down;
  part.height = ceil_div(int64_t{full.height} * down, full.mcu_height);
  part.width = ceil_div(int64_t{full.width} * across, full.mcu_width);
  part.upsampling = choose_upsampling(part.across, part.down, part.width, smooth);
}

// libjpeg lets a component's blocks shrink less, where that spares upsampling in both directions
// alike.
int block_of(const Component& part, int mcu_height, int mcu_width, int least) {
  int size = least;
  while (size < kBlockSize && mcu_width % (part.h * size * 2) == 0 &&
         mcu_height % (part.v * size * 2) == 0)
    size *= 2;
  return size;
}

// Reads each segment once. A table that comes twice replaces the first one, as T.81 has it; a
// second frame header is damage.
class Parser {
 public:
  Parser(Bytes bytes, Frame& frame, bool progressive)
      : in_(bytes, true), frame_(frame), progressive_(progressive) {}

  std::string parse() {
    frame_ = Frame();
    if (in_.u8(0) != 0xFF || in_.u8(1) != kSoi) return damaged(0, "no SOI marker");
    size_t at = 2;
    for (;;) {
      if (in_.u8(at) != 0xFF) return damaged(at, in_.good ? "not a marker" : "ends in the header");
      while (in_.good && in_.u8(at) == 0xFF) ++at;  // any number of fill bytes may precede a marker
      const uint32_t marker = in_.u8(at++), length = in_.u16(at);
      if (marker == kEoi) return damaged(at, "no scan");
      if (!in_.good || length < 2 || length > in_.size() - at)
        return damaged(at, "segment longer than the file");
      std::string why = segment(marker, at + 2, at + length);
      at += length;
      if (!why.empty()) return why;
      if (marker != kSos) continue;
      frame_.scan = at;
      return {};
    }
  }

 private:
  static std::string damaged(size_t at, const std::string& why) {
    return "damaged at byte " + std::to_string(at) + ": " + why;
  }
  static std::string not_covered(const std::string& why) { return "not covered: " + why; }

  std::string segment(uint32_t marker, size_t at, size_t end) {
    if (marker == (progressive_ ? kSof2 : kSof0) || (marker == kSof1 && !progressive_))
      return sof(at, end);
    switch (marker) {
      case kDht:
        return dht(at, end);
      case kDqt:
        return dqt(at, end);
      case kDri:
        return dri(at, end);
      case kSos:
        return sos(at, end);
      case kApp0:
        return app0(at, end);
      case kApp14:
        return app14(at, end);
      default:
        break;
    }
    if (marker == kCom || (marker > kApp0 && marker <= kApp15)) return {};
    if (progressive_ && marker <= kSof1) return not_covered("not progressive");
    if (marker > kSof1 && marker < 0xD0)
      return not_covered("progressive, lossless, hierarchical or arithmetic coding");
    return not_covered("marker " + std::to_string(marker));
  }

  std::string dqt(size_t at, size_t end) {
    while (at < end) {
      const uint32_t head = in_.u8(at++), wide = head >> 4, size = wide != 0 ? 2 : 1;
      if (wide > 1 || (head & 15) >= kMaxTables) return damaged(at, "quantisation table number");
      if (end - at < kBlockValues * size) return damaged(at, "quantisation table too short");
      auto& table = frame_.quant[head & 15];
      for (int i = 0; i < kBlockValues; ++i, at += size)
        table[i] = static_cast<uint16_t>(wide != 0 ? in_.u16(at) : in_.u8(at));
      if (*std::max_element(table.begin(), table.end()) > kMaxQuant)
        return not_covered("coarse quantisation");
      quant_present_[head & 15] = true;
    }
    return {};
  }

  std::string dht(size_t at, size_t end) {
    while (at < end) {
      const uint32_t head = in_.u8(at++);
      if (head >> 4 > 1 || (head & 15) >= kMaxTables) return damaged(at, "Huffman table number");
      Codes& codes = (head >> 4 != 0 ? frame_.ac : frame_.dc)[head & 15];
      if (!read_codes(in_, at, end, codes)) return damaged(at, "Huffman table too short");
    }
    return {};
  }

  std::string dri(size_t at, size_t end) {
    if (end - at != 2) return damaged(at, "restart interval");
    frame_.restart_interval = static_cast<int>(in_.u16(at));
    return {};
  }

  std::string app0(size_t at, size_t end) {
    if (end - at < 14 || !in_.starts_with("JFIF", 5, at)) return {};
    if (in_.u8(at + 5) != 1) return not_covered("JFIF version");
    jfif_ = true;
    return {};
  }

  std::string app14(size_t at, size_t end) {
    if (end - at < 12 || !in_.starts_with("Adobe", 5, at)) return {};
    adobe_ = true;
    transform_ = in_.u8(at + 11);
    return {};
  }

  std::string sof(size_t at, size_t end) {
    if (frame_.components != 0) return damaged(at, "second frame header");
    if (end - at < 6 || end - at != 6 + 3 * in_.u8(at + 5))
      return damaged(at, "frame header's length");
    frame_.height = static_cast<int>(in_.u16(at + 1));
    frame_.width = static_cast<int>(in_.u16(at + 3));
    const int count = static_cast<int>(in_.u8(at + 5));
    if (in_.u8(at) != 8) return not_covered("not 8 bits per value");
    if (count != 1 && count != 3) return not_covered(std::to_string(count) + " components");
    if (frame_.height == 0 || frame_.width == 0) return not_covered("size missing in the header");
    if (frame_.height > kMaxSide || frame_.width > kMaxSide ||
        int64_t{frame_.height} * frame_.width > kMaxPixels)
      return not_covered("too many pixels");
    frame_.components = count;
    frame_.progressive = progressive_;
    for (int c = 0; c < count; ++c) {
      Component& part = frame_.component[c];
      const size_t from = at + 6 + 3 * c;
      part.id = in_.u8(from);
      part.h = static_cast<int>(in_.u8(from + 1) >> 4);
      part.v = static_cast<int>(in_.u8(from + 1) & 15);
      part.quant = static_cast<int>(in_.u8(from + 2));
      if (part.h < 1 || part.h > 4 || part.v < 1 || part.v > 4)
        return damaged(from, "sampling factors");
    }
    return geometry(at);
  }

  // A.1.1 and A.2 of T.81: size of an MCU, and how many of a component's samples belong to the
  // image.
  std::string geometry(size_t at) {
    const auto parts = std::span(frame_.component).first(frame_.components);
    // One component is not interleaved: its MCU is one block
    if (parts.size() == 1) parts[0].h = parts[0].v = 1;
    int h = 1, v = 1;
    for (const Component& part : parts) {
      h = std::max(h, part.h);
      v = std::max(v, part.v);
      frame_.mcu_blocks += part.blocks();
    }
    if (frame_.mcu_blocks > kMaxMcuBlocks) return damaged(at, "too many blocks in an MCU");
    frame_.mcu_height = v * kBlockSize;
    frame_.mcu_width = h * kBlockSize;
    frame_.mcu_rows = ceil_div(frame_.height, frame_.mcu_height);
    frame_.mcu_columns = ceil_div(frame_.width, frame_.mcu_width);
    for (Component& part : parts) {
      if (h % part.h != 0 || v % part.v != 0) return not_covered("fractional sampling");
      set_geometry(part, frame_, frame_, true);
    }
    return {};
  }

  // After it, all tables that components name exist and are valid, so the decoder looks at none of
  // that again.
  std::string sos(size_t at, size_t end) {
    const auto count = static_cast<size_t>(frame_.components);
    if (count == 0) return damaged(at, "scan before the frame header");
    if (end - at < 1 || end - at != 4 + 2 * in_.u8(at)) return damaged(at, "scan header's length");
    if (progressive_) return first_of_many(at);
    if (in_.u8(at) != count) return kSeveralScans;
    for (size_t c = 0; c < count; ++c) {
      Component& part = frame_.component[c];
      const uint32_t id = in_.u8(at + 1 + 2 * c), tables = in_.u8(at + 2 + 2 * c);
      part.dc = static_cast<int>(tables >> 4);
      part.ac = static_cast<int>(tables & 15);
      if (id != part.id || !unique(id)) return not_covered("components in another order");
      if (std::string why = tables_of(part, at); !why.empty()) return why;
    }
    const size_t tail = at + 1 + 2 * count;
    if (in_.u8(tail) != 0 || in_.u8(tail + 1) != 63 || in_.u8(tail + 2) != 0)
      return damaged(tail, "not a sequential scan");
    return colour();
  }

  // Every quantiser is there; later ones are refused where the scans are read.
  std::string first_of_many(size_t at) const {
    for (const Component& part : std::span(frame_.component).first(frame_.components)) {
      if (!has_quantiser(part)) return damaged(at, "quantisation table missing");
      if (!unique(part.id)) return not_covered("components of one name");
    }
    return colour();
  }

  bool unique(uint32_t id) const {
    const auto* parts = frame_.component.data();
    return std::count_if(parts, parts + frame_.components,
                         [id](const Component& part) { return part.id == id; }) == 1;
  }

  bool has_quantiser(const Component& part) const {
    return part.quant < kMaxTables && quant_present_[part.quant];
  }

  std::string tables_of(const Component& part, size_t at) const {
    if (!has_quantiser(part)) return damaged(at, "quantisation table missing");
    if (part.dc >= kMaxTables || part.ac >= kMaxTables || !frame_.dc[part.dc].present ||
        !frame_.ac[part.ac].present)
      return damaged(at, "Huffman table missing");
    if (!valid_codes(frame_.dc[part.dc], true) || !valid_codes(frame_.ac[part.ac], false))
      return damaged(at, "Huffman table has too many codes");
    return {};
  }

  // libjpeg's default_decompress_parms: JFIF means YCbCr, else Adobe's flag decides, else the
  // components' names.
  std::string colour() const {
    frame_.ycc = frame_.components == 3;
    if (frame_.components != 3 || jfif_) return {};
    if (adobe_ && transform_ > 1) return not_covered("Adobe colour transform");
    const auto& parts = frame_.component;
    const bool named_rgb = parts[0].id == 'R' && parts[1].id == 'G' && parts[2].id == 'B';
    frame_.ycc = adobe_ ? transform_ == 1 : !named_rgb;
    return {};
  }

  Reader in_;
  Frame& frame_;
  std::array<bool, kMaxTables> quant_present_{};
  const bool progressive_;
  bool jfif_ = false, adobe_ = false;
  uint32_t transform_ = 0;
};

}  // namespace

std::string parse_frame(Bytes bytes, Frame& frame) { return Parser(bytes, frame, false).parse(); }

std::string parse_progressive(Bytes bytes, Frame& frame) {
  return Parser(bytes, frame, true).parse();
}

void shrink(Frame& frame, int scale) {
  if (scale == 1) return;
  const Frame full = frame;
  frame.height = ceil_div(full.height, scale);
  frame.width = ceil_div(full.width, scale);
  frame.mcu_height = full.mcu_height / scale;
  frame.mcu_width = full.mcu_width / scale;
  for (Component& part : std::span(frame.component).first(frame.components)) {
    part.block = block_of(part, frame.mcu_height, frame.mcu_width, kBlockSize / scale);
    set_geometry(part, frame, full, scale != kBlockSize);
  }
}

}  // namespace fl::jpeg
