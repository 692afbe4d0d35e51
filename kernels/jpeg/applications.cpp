// Each rule is what Pillow 10 to 13 take for certain. tests/hostile/test_applications.py compares.
//
// Strict: where it is not known what every version of Pillow says, `take` is false, and Pillow is
// asked. Nothing outside the segment is read (base/reader.h).
#include "jpeg/applications.h"

#include "base/reader.h"
#include "jpeg/codes.h"

namespace fl::jpeg {
namespace {

using Content = std::span<const uint8_t>;

// TIFF 6.0, section 2
enum Type : uint32_t { kShort = 3, kLong = 4, kRational = 5, kUndefined = 7 };

constexpr size_t kEntry = 12;  // bytes, of TIFF

struct Entry {
  uint32_t tag, type, count, value;
};

// The first directory of a TIFF structure, entry by entry; every one must be there and pass. Ends:
// every entry moves on by kEntry, and what lies outside clears `good`.
template <class Check>
bool each_entry(Content content, Check&& check) {
  const bool big = content.size() >= 4 && content[0] == 'M';
  Reader in(content, big);
  if (!in.starts_with(big ? "MM\0*" : "II*\0", 4)) return false;
  const size_t first = in.u32(4);
  const uint32_t count = in.u16(first);
  for (size_t n = 0; in.good && n < count; ++n) {
    const size_t at = first + 2 + n * kEntry;
    const Entry entry{in.u16(at), in.u16(at + 2), in.u32(at + 4), in.u32(at + 8)};
    if (in.good && !check(entry)) return false;
  }
  return in.good;
}

// Pillow takes the resolution from here where JFIF gives none; of another type it may raise
// IndexError.
bool takes_exif(Content content) {
  return each_entry(content, [](const Entry& entry) {
    if (entry.tag == 0x11A) return entry.type == kRational && entry.count == 1;  // XResolution
    return entry.tag != 0x128 || (entry.type == kShort && entry.count == 1);     // ResolutionUnit
  });
}

// CIPA DC-007: how many images, and 16 bytes for each.
bool takes_index(Content content) {
  uint32_t images = 0, described = 0;
  const bool plain = each_entry(content, [&](const Entry& entry) {
    if (entry.tag == 0xB000) return entry.type == kUndefined && entry.count == 4;
    if (entry.tag == 0xB001) {
      images = entry.value;
      return entry.type == kLong && entry.count == 1;
    }
    if (entry.tag != 0xB002) return entry.type == kLong || entry.type == kUndefined;
    described = entry.count;
    return entry.type == kUndefined && entry.value <= content.size() &&
           entry.count <= content.size() - entry.value;
  });
  return plain && images >= 1 && uint64_t{images} * 16 == described;
}

// Blocks of resources: 8BIM, a number, a name, a size, the block. Where one ends before its name,
// Pillow fails.
bool takes_photoshop(Content content) {
  Reader in(content, true);
  for (size_t at = 14; in.starts_with("8BIM", 4, at);) {
    at += 6;
    if (at == content.size()) return false;
    const uint32_t name = in.u8(at);
    at += 1 + name;
    at += at & 1;
    const uint32_t size = in.u32(at);
    if (!in.good) return true;  // too short: Pillow takes what there is
    at += 4 + size_t{size};
    at += at & 1;
  }
  return true;
}

}  // namespace

bool Applications::take(uint32_t marker, Content content) {
  const Reader in(content, true);
  if (marker == kApp0 && in.starts_with("JFIF", 4)) return content.size() >= 14;
  if (marker == kApp1 && in.starts_with("Exif\0\0", 6)) {
    if (exif_) return false;
    exif_ = true;
    return takes_exif(content.subspan(6));
  }
  if (marker == kApp2 && in.starts_with("ICC_PROFILE\0", 12)) return content.size() >= 14;
  if (marker == kApp2 && in.starts_with("MPF\0", 4)) {
    if (index_) return false;
    index_ = true;
    return takes_index(content.subspan(4));
  }
  if (marker == kApp13 && in.starts_with("Photoshop 3.0\0", 14)) return takes_photoshop(content);
  if (marker == kApp14 && in.starts_with("Adobe", 5)) return content.size() >= 7;
  return true;
}

}  // namespace fl::jpeg
