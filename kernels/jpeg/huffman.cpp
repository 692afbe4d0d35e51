// The tables of the fast decoder, made for every image, since most files have their own. So making
// them must be quick too: entries are written as 64-bit numbers in runs, pairs by vectors
// (huffman_pairs.cpp), and short scans get the plain half only.
#include "jpeg/huffman.h"

#include <algorithm>
#include <cstring>

#include "jpeg/huffman_pairs.h"

namespace fl::jpeg {
namespace {

// All lookups that begin with one code: first those of negative values, then of positive ones
// (EXTEND).
void put_code(Numbers& out, int code, int length, int value_bits, Entry entry) {
  const int count = kLookups >> length, total = length + value_bits;
  const auto positive = static_cast<uint16_t>(-(code << value_bits));
  entry.length = static_cast<uint8_t>(total);
  entry.value = static_cast<int8_t>(
      std::max(length + (value_bits > 0), total - (kMaxEntryBits - kLookupBits)));
  entry.bias = static_cast<uint16_t>(positive - (1 << value_bits) + 1);
  uint64_t* to = &out[code << (kLookupBits - length)];
  std::fill_n(to, count / 2, number(entry));
  entry.bias = positive;
  std::fill_n(to + count / 2, count - count / 2, number(entry));
}

// Without what its code says. most 0: not for the table.
Entry dc_entry(int symbol) {
  constexpr int kAdvance = 2 * kValueBytes;  // from the last offset of the block before
  return {0, kAdvance, symbol > kMaxDcBits ? uint8_t{0} : kAnyOffset, 0, 0, kAdvance};
}

Entry ac_entry(int symbol) {
  const int advance = ac_advance(symbol);
  // Zeros may be too many
  const int most = (symbol & 15) != 0 ? kBlockValues - advance : kBlockValues - 1;
  return {0,
          static_cast<uint8_t>(kValueBytes * advance),
          static_cast<uint8_t>(advance == 0 ? 0 : kValueBytes * most),
          0,
          0,
          static_cast<int16_t>(kValueBytes * advance)};
}

// One symbol for each lookup, of codes that have at least this length and begin with `prefix` ones,
// which are taken already. Its value says how many bits another symbol must leave of a lookup to
// have it behind itself: its code and its value's sign must be seen, and the two must not be too
// long.
void fill_singles(const Canonical& codes, bool dc, int least, int prefix, Numbers& out) {
  out.fill(number({0, 0, 0, kLookupBits, 0, 0}));
  for (int length = least; length <= std::min(16, kLookupBits + prefix); ++length) {
    const int first = codes.limit[length - 1] >> (16 - length),
              end = codes.limit[length] >> (16 - length);
    for (int code = first; code < end; ++code) {
      const int symbol = codes.symbols[code + codes.offset[length]],
                value_bits = dc ? symbol : symbol & 15;
      const Entry entry = dc ? dc_entry(symbol) : ac_entry(symbol);
      const int seen = length - prefix;
      const bool known =
          seen + (value_bits > 0) <= kLookupBits && seen + value_bits <= kMaxEntryBits;
      if (known && entry.most != 0)
        put_code(out, code & ((1 << seen) - 1), seen, value_bits, entry);
    }
  }
}

void copy(const Numbers& singles, Lookup& out) {
  std::memcpy(out.entries.data(), singles.data(), sizeof singles);
}

// Codes that the table does not have, or not with their sign, begin with ones, as canonical codes
// do. `out` is asked after the ones in common have been taken; its entries move the offset forward
// again by kAside.
void add_long(Lookup& table, Lookup& out) {
  const int begin = table.slow.limit[kLookupBits - 1];  // the first of them
  const int prefix = std::countl_one(static_cast<uint16_t>(begin));
  out.prefix = prefix;
  out.slow = table.slow;
  if (prefix == 0) return;
  Numbers singles;
  fill_singles(table.slow, false, kLookupBits, prefix, singles);
  const uint64_t back = number({0, 0, 0, 0, 0, kAside}),
                 first = number({0, kValueBytes, 0, 0, 0, 0}),
                 keep = number({0xFF, 0, 0xFF, 0, 0xFFFF, -1});
  for (int n = 0; n < kLookups; ++n) {
    const uint64_t entry = ((singles[n] & keep) + back) | first;
    std::memcpy(&out.entries[n], &entry, sizeof entry);
  }
  const Entry aside{static_cast<uint8_t>(prefix), kValueBytes, kOver - kValueBytes, 0, 0, -kAside};
  for (int n = begin >> (16 - kLookupBits); n < kLookups; ++n)
    if (table.entries[n].most == 0) table.entries[n] = aside;
}

}  // namespace

// jpeg_make_d_derived_tbl of libjpeg's jdhuff.c refuses the same ones.
bool valid_codes(const Codes& codes, bool dc) {
  uint32_t next = 0;
  int count = 0;
  for (int length = 1; length <= 16; ++length, next <<= 1) {
    next += codes.counts[length];
    count += codes.counts[length];
    if (codes.counts[length] != 0 && next >= 1u << length) return false;
  }
  const auto* symbols = codes.symbols.data();
  return count <= 256 && (!dc || std::all_of(symbols, symbols + count,
                                             [](uint8_t symbol) { return symbol <= 15; }));
}

bool read_codes(Reader& in, size_t& at, size_t end, Codes& codes) {
  codes = Codes();
  if (end - at < 16) return false;
  size_t count = 0;
  for (int length = 1; length <= 16; ++length)
    count += codes.counts[length] = static_cast<uint8_t>(in.u8(at++));
  if (count > codes.symbols.size() || count > end - at) return false;
  for (size_t i = 0; i < count; ++i) codes.symbols[i] = static_cast<uint8_t>(in.u8(at++));
  codes.present = true;
  return true;
}

// T.81 annex C: codes of one length count up; the next length goes on at twice the last code plus
// two.
Canonical::Canonical(const Codes& codes) : symbols(codes.symbols) {
  int code = 0, index = 0;
  for (int length = 1; length <= 16; ++length, code <<= 1) {
    offset[length] = index - code;
    code += codes.counts[length];
    index += codes.counts[length];
    limit[length] = code << (16 - length);
  }
}

Tables::Tables() : dc_(kMaxComponents), ac_(kMaxComponents), long_(kMaxComponents) {}

// Components that use the same two tables share what is made of them; chroma's nearly always do.
void Tables::prepare(const Frame& frame, size_t coded) {
  Numbers dc, ac;
  for (int c = 0; c < frame.components; ++c) {
    const Component& part = frame.component[c];
    of_[c] = c;
    for (int before = c - 1; before >= 0; --before) {
      const Component& other = frame.component[before];
      if (other.dc == part.dc && other.ac == part.ac) of_[c] = before;
    }
    if (of_[c] != c) continue;
    dc_[c].mask = 2 * kOver - kValueBytes;
    dc_[c].place_mask = place_of(dc_[c].mask, 0);
    dc_[c].slow = Canonical(frame.dc[part.dc]);
    ac_[c].slow = Canonical(frame.ac[part.ac]);
    fill_singles(dc_[c].slow, true, 1, 0, dc);
    fill_singles(ac_[c].slow, false, 1, 0, ac);
    if (coded < kFewBytes) {
      copy(dc, dc_[c]);
      copy(ac, ac_[c]);
      continue;
    }
    const Seconds seconds(ac);
    make_pairs(dc, seconds, dc_[c].entries);
    make_pairs(ac, seconds, ac_[c].entries);
    add_long(ac_[c], long_[c]);
  }
}

}  // namespace fl::jpeg
