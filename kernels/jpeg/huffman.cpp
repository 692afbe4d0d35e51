#include "jpeg/huffman.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace fl::jpeg {
namespace {

constexpr int kSize = 1 << kLookupBits;

// Entries are made as numbers, all fields at once: that is several times as fast.
using Numbers = std::array<uint64_t, kSize>;
constexpr int kLengthMask = 63, kValueAt = 24, kBiasAt = 48;
static_assert(std::endian::native == std::endian::little);

uint64_t number(const Entry& entry) { return std::bit_cast<uint64_t>(entry); }

// All lookups that begin with one code: first those of negative values, then of positive ones (EXTEND).
void put_code(Numbers& out, int code, int length, int value_bits, Entry entry) {
  const int count = kSize >> length, total = length + value_bits;
  const auto positive = static_cast<uint16_t>(-(code << value_bits));
  entry.length = static_cast<uint8_t>(total);
  entry.value = static_cast<int8_t>(std::max(length + (value_bits > 0), total - (kMaxEntryBits - kLookupBits)));
  entry.bias = static_cast<uint16_t>(positive - (1 << value_bits) + 1);
  uint64_t* to = &out[code << (kLookupBits - length)];
  std::fill_n(to, count / 2, number(entry));
  entry.bias = positive;
  std::fill_n(to + count / 2, count - count / 2, number(entry));
}

// Without what its code says. most 0: not for the table.
Entry dc_entry(int symbol) {
  constexpr int kAdvance = 2 * kPlace;  // from the last place of the block before
  return {0, kAdvance, symbol > kMaxDcBits ? uint8_t{0} : kAnyPlace, 0, kAdvance, 0};
}

Entry ac_entry(int symbol) {
  const int advance = ac_advance(symbol);
  const int most = (symbol & 15) != 0 ? kBlockValues - advance : kBlockValues - 1;  // zeros may be too many
  return {0, static_cast<uint8_t>(kPlace * advance), static_cast<uint8_t>(advance == 0 ? 0 : kPlace * most),
          0, static_cast<int16_t>(kPlace * advance), 0};
}

// One symbol for each lookup, of codes that have at least this length and begin with `prefix` ones, which are taken
// already. Its value says how many bits another symbol must leave of a lookup to have it behind itself: its code and
// its value's sign must be seen, and the two must not be too long.
void fill_singles(const Canonical& codes, bool dc, int least, int prefix, Numbers& out) {
  out.fill(number({0, 0, 0, kLookupBits, 0, 0}));
  for (int length = least; length <= std::min(16, kLookupBits + prefix); ++length) {
    const int first = codes.limit[length - 1] >> (16 - length), end = codes.limit[length] >> (16 - length);
    for (int code = first; code < end; ++code) {
      const int symbol = codes.symbols[code + codes.offset[length]], value_bits = dc ? symbol : symbol & 15;
      const Entry entry = dc ? dc_entry(symbol) : ac_entry(symbol);
      const int seen = length - prefix;
      const bool known = seen + (value_bits > 0) <= kLookupBits && seen + value_bits <= kMaxEntryBits;
      if (known && entry.most != 0) put_code(out, code & ((1 << seen) - 1), seen, value_bits, entry);
    }
  }
}

// A symbol with a value, behind which comes another one of its block if it does not fill it; or a DC symbol.
bool begins_pair(const Entry& entry) {
  return entry.most == kAnyPlace || (entry.most != 0 && entry.most + entry.advance == kOver);
}

// What the lookups that begin with `first` tell, whose bits these are. No field overflows.
void fill_pairs(const Entry& first, int bits, const Numbers& seconds, Entry* out) {
  const bool dc = first.most == kAnyPlace;
  const uint64_t keep = number({0xFF, 0, 0xFF, 0, -1, 0}), plus = number({first.length, 0, 0, 0, first.advance, 0}),
                 less = number({0, 0, dc ? uint8_t{0} : first.first, 0, 0, 0}),
                 same = number(
                     {0, first.first, dc ? kAnyPlace : uint8_t{0}, static_cast<int8_t>(bits + first.bias), 0, 0});
  const int room = kLookupBits - first.length;
  for (int n = 0; n < 1 << room; ++n) {
    const uint64_t second = seconds[n << first.length];
    const uint64_t bias = (second >> kBiasAt) - (uint64_t(bits) << (second & kLengthMask));
    const uint64_t pair = (((second & keep) + plus - less) | same) + (bias << kBiasAt);
    const uint64_t made = static_cast<int>(second >> kValueAt & 0xFF) <= room ? pair : number(first);
    std::memcpy(&out[n], &made, sizeof made);
  }
}

void copy(const Numbers& singles, Lookup& out) { std::memcpy(out.entries.data(), singles.data(), sizeof singles); }

// firsts: one symbol for each lookup; seconds: what may come behind it.
void add_pairs(const Numbers& firsts, const Numbers& seconds, Lookup& out) {
  for (int at = 0; at < kSize;) {
    const Entry first = std::bit_cast<Entry>(firsts[at]);
    const int room = first.most == 0 ? 0 : std::max(kLookupBits - first.length, 0);
    if (room > 1 && begins_pair(first)) fill_pairs(first, at >> room, seconds, &out.entries[at]);
    at += 1 << room;
  }
}

// Codes that the table does not have, or not with their sign, begin with ones, as canonical codes do.
void add_long(Lookup& table, Lookup& out) {
  const int begin = table.slow.limit[kLookupBits - 1];  // the first of them
  const int prefix = std::countl_one(static_cast<uint16_t>(begin));
  out.prefix = prefix;
  out.slow = table.slow;
  if (prefix == 0) return;
  Numbers singles;
  fill_singles(table.slow, false, kLookupBits, prefix, singles);
  const uint64_t back = number({0, 0, 0, 0, kAside, 0}), first = number({0, kPlace, 0, 0, 0, 0}),
                 keep = number({0xFF, 0, 0xFF, 0, -1, 0xFFFF});
  for (int n = 0; n < kSize; ++n) {
    const uint64_t entry = ((singles[n] & keep) + back) | first;
    std::memcpy(&out.entries[n], &entry, sizeof entry);
  }
  const Entry aside{static_cast<uint8_t>(prefix), kPlace, kOver - kPlace, 0, -kAside, 0};
  for (int n = begin >> (16 - kLookupBits); n < kSize; ++n)
    if (table.entries[n].most == 0) table.entries[n] = aside;
}

}  // namespace

bool valid_codes(const Codes& codes, bool dc) {
  uint32_t next = 0;
  int count = 0;
  for (int length = 1; length <= 16; ++length, next <<= 1) {
    next += codes.counts[length];
    count += codes.counts[length];
    if (codes.counts[length] != 0 && next >= 1u << length) return false;
  }
  const auto* symbols = codes.symbols.data();
  return count <= 256 && (!dc || std::all_of(symbols, symbols + count, [](uint8_t symbol) { return symbol <= 15; }));
}

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
    dc_[c].mask = 2 * kOver - kPlace;
    dc_[c].slow = Canonical(frame.dc[part.dc]);
    ac_[c].slow = Canonical(frame.ac[part.ac]);
    fill_singles(dc_[c].slow, true, 1, 0, dc);
    fill_singles(ac_[c].slow, false, 1, 0, ac);
    copy(dc, dc_[c]);
    copy(ac, ac_[c]);
    if (coded < kFewBytes) continue;
    add_pairs(dc, ac, dc_[c]);
    add_pairs(ac, ac, ac_[c]);
    add_long(ac_[c], long_[c]);
  }
}

}  // namespace fl::jpeg
