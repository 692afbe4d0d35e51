// All rows are unpacked into memory of a size that the header says, which the packed bytes can fill;
// then filters are undone in place, and what is not RGB of 8 bits is expanded.
#include "png/decode.h"

#include <algorithm>
#include <cstring>
#include <new>

#include <libdeflate.h>

#include "png/rows.h"

namespace fl::png {
namespace {

// One pass of an image: rows of `line` bytes, each behind the byte that names its filter.
struct Rows {
  uint8_t* first;
  size_t line;
  int count, columns;

  uint8_t* filter(int y) const { return first + (line + 1) * y; }
  uint8_t* row(int y) const { return filter(y) + 1; }
};

Bytes join(const Layout& layout, Scratch& scratch) {
  if (layout.data.size() == 1) return layout.data.front();
  uint8_t* const all = scratch.reserve(layout.packed);
  uint8_t* out = all;
  for (const Bytes& part : layout.data) out = std::copy(part.begin(), part.end(), out);
  return {all, layout.packed};
}

// All of it, and nothing else: a stream that ends early or goes on is Pillow's.
bool unpack(Bytes packed, uint8_t* out, size_t bytes, Workspace& space) {
  if (space.unpacker == nullptr) {
    space.unpacker.reset(libdeflate_alloc_decompressor());
    if (space.unpacker == nullptr) throw std::bad_alloc();
  }
  size_t taken = 0;
  return libdeflate_zlib_decompress_ex(space.unpacker.get(), packed.data(), packed.size(), out,
                                       bytes, &taken, nullptr) == LIBDEFLATE_SUCCESS &&
         taken == packed.size();
}

bool filters_known(const Rows& rows) {
  for (int y = 0; y < rows.count; ++y)
    if (*rows.filter(y) > 4) return false;
  return true;
}

// Undoes the filters of the first `count` rows. zeros: a row of them.
void undo_filters(const Rows& rows, int count, const uint8_t* zeros, int step) {
  for (int y = 0; y < count; ++y)
    unfilter(*rows.filter(y), rows.row(y), y == 0 ? zeros : rows.row(y - 1), rows.line, step);
}

// Whether a value may name a colour that the palette does not have: then all rows are looked at.
bool may_miss(const Layout& layout) {
  return layout.colour == Colour::kPalette && layout.colours < 1 << layout.depth;
}

bool colours_exist(const Layout& layout, const Rows& rows, uint8_t* line) {
  for (int y = 0; y < rows.count; ++y)
    if (!expand(layout, rows.row(y), 0, rows.columns, line)) return false;
  return true;
}

// Of an interlaced image: the pixels of one pass that lie in the region.
void scatter(const Layout& layout, const Rows& rows, const Pass& pass, const Region& region,
             uint8_t* line, uint8_t* out) {
  const auto first = [](int from, int start, int step) {
    return from <= start ? 0 : (from - start + step - 1) / step;
  };
  const int left = first(region.left, pass.left, pass.across);
  for (int y = first(region.top, pass.top, pass.down); y < rows.count; ++y) {
    const int down = pass.top + y * pass.down - region.top;
    if (down >= region.height) return;
    expand(layout, rows.row(y), 0, rows.columns, line);
    uint8_t* const to = out + static_cast<size_t>(down) * region.width * kChannels;
    for (int x = left; x < rows.columns; ++x) {
      const int across = pass.left + x * pass.across - region.left;
      if (across >= region.width) break;
      std::copy_n(line + size_t{kChannels} * x, kChannels, to + size_t{kChannels} * across);
    }
  }
}

size_t area(const Region& region) {
  return static_cast<size_t>(region.height) * region.width * kChannels;
}

// Whether the unpacked rows are the pixels.
bool plain(const Layout& layout) {
  return layout.colour == Colour::kRgb && layout.depth == 8 && !layout.interlaced;
}

// One pass after the other, whose rows follow each other from `at` on.
// line: room for one of the image's rows, RGB.
std::string passes_of(const Layout& layout, const Region& region, const uint8_t* zeros, uint8_t* at,
                      uint8_t* line, uint8_t* out) {
  const int step = std::max(1, layout.pixel_bits() / 8);
  for (const Pass& pass : passes(layout)) {
    const Rows rows{at, layout.row_bytes(pass.columns(layout)), pass.rows(layout),
                    pass.columns(layout)};
    if (rows.columns <= 0 || rows.count <= 0) continue;
    at = rows.filter(rows.count);
    if (!filters_known(rows)) return "an unknown filter";
    const bool all = may_miss(layout) || layout.interlaced;
    undo_filters(rows, all ? rows.count : region.top + region.height, zeros, step);
    if (may_miss(layout) && !colours_exist(layout, rows, line))
      return "a colour that is not in the palette";
    if (layout.interlaced) {
      scatter(layout, rows, pass, region, line, out);
    } else {
      for (int y = 0; y < region.height; ++y)
        expand(layout, rows.row(region.top + y), region.left, region.width,
               out + static_cast<size_t>(y) * region.width * kChannels);
    }
  }
  return {};
}

}  // namespace

const char* libdeflate_version() { return LIBDEFLATE_VERSION_STRING; }

void FreeUnpacker::operator()(libdeflate_decompressor* unpacker) const noexcept {
  libdeflate_free_decompressor(unpacker);
}

Decoded decode(Bytes bytes, const Region& region, Workspace& space,
               const std::function<void(size_t)>& ask) {
  Layout& layout = space.layout;
  if (std::string why = parse(bytes, layout); !why.empty()) return {{}, std::move(why)};
  if (!sums_agree(bytes)) return {{}, "a checksum differs"};
  const size_t size = unpacked_bytes(layout), longest = layout.row_bytes(layout.width);
  ask(size + longest + layout.packed + area(region) + size_t{kChannels} * layout.width);
  // A row of zeros stands above the first row, and slack behind each.
  const size_t before = longest + kSlack;
  uint8_t* const zeros = space.rows.reserve(before + size + kPadding);
  std::memset(zeros, 0, before);
  uint8_t* const at = zeros + before;
  if (!unpack(join(layout, space.joined), at, size, space)) return {{}, "its rows do not unpack"};
  if (!plain(layout)) {
    const size_t line = size_t{kChannels} * layout.width;
    uint8_t* const out = space.colours.reserve(area(region) + line + kPadding);
    if (std::string why = passes_of(layout, region, zeros, at, out + area(region), out);
        !why.empty())
      return {{}, std::move(why)};
    const ptrdiff_t stride = static_cast<ptrdiff_t>(region.width) * kChannels;
    return {{out, region.height, region.width, stride, true}, {}};
  }
  const Rows rows{at, longest, layout.height, layout.width};
  if (!filters_known(rows)) return {{}, "an unknown filter"};
  undo_filters(rows, region.top + region.height, zeros, kChannels);
  return {{rows.row(region.top) + ptrdiff_t{kChannels} * region.left, region.height, region.width,
           static_cast<ptrdiff_t>(longest) + 1, true},
          {}};
}

std::string numbers(Bytes bytes, Workspace& space, uint8_t* out) {
  const Layout& layout = space.layout;
  const bool one = layout.colour == Colour::kGrey || layout.colour == Colour::kPalette;
  if (!one || layout.depth != 8 || layout.interlaced) return "not one channel of 8 bits";
  if (!sums_agree(bytes)) return "a checksum differs";
  const size_t size = unpacked_bytes(layout), line = layout.row_bytes(layout.width);
  const size_t before = line + kSlack;  // a row of zeros stands above the first one
  uint8_t* const zeros = space.rows.reserve(before + size + kPadding);
  std::memset(zeros, 0, before);
  const Rows rows{zeros + before, line, layout.height, layout.width};
  if (!unpack(join(layout, space.joined), rows.first, size, space)) return "its rows do not unpack";
  if (!filters_known(rows)) return "an unknown filter";
  undo_filters(rows, rows.count, zeros, 1);
  for (int y = 0; y < rows.count; ++y) out = std::copy_n(rows.row(y), line, out);
  return {};
}

}  // namespace fl::png
