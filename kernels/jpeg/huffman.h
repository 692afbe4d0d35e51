// Huffman tables (ITU-T T.81, annex C): the check, and the lookup tables of the fast decoder.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/reader.h"
#include "jpeg/canonical.h"
#include "jpeg/frame.h"

namespace fl::jpeg {

// No more codes than fit, none of all ones, no DC symbol above 15: what libjpeg asks for.
bool valid_codes(const Codes& codes, bool dc);

// One Huffman table of a DHT segment that ends at `end`; moves `at` behind it. False: too short.
bool read_codes(Reader& in, size_t& at, size_t end, Codes& codes);

// The fast decoder looks up this many bits at once, and takes up to two symbols at a time.
constexpr int kLookupBits = 10;
constexpr int kMaxEntryBits = 18;  // so that three of them fit in what one load gives

// An offset in the lanes' blocks (entropy_tuned.cpp) is 256 * block + 2 * coefficients done, the
// bytes before the next one; bit 7 means "block is over". A DC symbol begins a new block: it goes
// on from the last offset of the one before.
constexpr int kValueBytes = 2, kOver = kValueBytes * kBlockValues;
constexpr uint8_t kAnyOffset = 0xFF;

// A code that is too long for one lookup takes two: the first takes the ones that all such codes
// begin with, and moves the offset this far back, which says "in the middle of a long code". All
// other offsets are beyond it.
constexpr int kAside = 104 * 2 * kOver;

// One symbol, or two of which the first has a value and does not end the block; or the beginning of
// a long code.
struct Entry {
  uint8_t length;  // bits of codes and values
  uint8_t first;   // bytes that the offset moves for the first of two, or for the only one
  // The lowest byte of an offset may be no more, kAnyOffset of a DC symbol; 0: not in the table
  uint8_t most;
  int8_t value;     // of the first of two; of an only one: to be overwritten
  uint16_t bias;    // value of the last: (bits >> (64 - length)) + bias, in 16 bits
  int16_t advance;  // bytes that the offset moves for all of it
};

// An offset and, in the lower half, the bit of the coded bytes. An entry has its advance and its
// length where a place has what they are added to: so one addition moves it.
using Place = uint64_t;

constexpr int kOffsetAt = 48;  // in a place; the advance in an entry
constexpr Place kMoves = ~uint64_t{0} << kOffsetAt | 0xFF;

constexpr Place place_of(uint64_t offset, uint64_t bit) { return offset << kOffsetAt | bit; }
constexpr uint64_t offset_of(Place place) { return place >> kOffsetAt; }
constexpr uint32_t bit_of(Place place) { return static_cast<uint32_t>(place); }

// One table of the fast decoder, with 8 KiB of entries: small, since all tables of an image should
// stay in the first-level cache.
struct Lookup {
  // To be set in the offset first: of a DC symbol, whose table may hold an AC symbol behind it
  uint64_t mask = 0;
  Place place_mask = 0;  // the same, in a place
  int prefix = 0;        // ones that have been taken: in the middle of a long code
  Canonical slow;
  alignas(64) std::array<Entry, 1 << kLookupBits> entries;

  bool dc() const { return mask != 0; }

  // What is not in the table; length: of what has not been taken.
  Symbol symbol(uint64_t bits) const {
    if (dc()) return decode_dc(slow, bits);
    if (prefix == 0) return decode_ac(slow, bits);
    Symbol out = decode_ac(slow, bits >> prefix | ~uint64_t{0} << (64 - prefix));
    out.length -= out.length == 0 ? 0 : prefix;
    return out;
  }
};

// With fewer coded bytes one symbol per lookup is as fast: making what takes more would take what
// it gains. Fuzzers keep their files small and are to see it all.
#ifdef FASTLOAD_FUZZ
constexpr size_t kFewBytes = 0;
#else
constexpr size_t kFewBytes = 16 << 10;
#endif

// A frame's tables, for the slow and for the fast decoder, by component. Reused from image to
// image; `prepare` writes all that is read.
class Tables {
 public:
  Tables();
  // coded: bytes of the scan.
  void prepare(const Frame& frame, size_t coded);

  const Lookup& dc(int component) const { return dc_[of_[component]]; }
  const Lookup& ac(int component) const { return ac_[of_[component]]; }
  const Lookup& long_ac(int component) const { return long_[of_[component]]; }

 private:
  std::vector<Lookup> dc_, ac_, long_;
  std::array<int, kMaxComponents> of_{};  // components with equal tables share them
};

}  // namespace fl::jpeg
