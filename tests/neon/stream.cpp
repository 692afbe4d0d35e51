// ITU-T T.81: markers of annex B, Huffman coding of annex F.
#include "stream.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>

namespace fl::check {
namespace {

constexpr int kValues = 64;  // of a block

struct Code {
  int length = 0;  // bits
  uint32_t bits = 0;
};

struct Codes {
  std::vector<uint8_t> symbols;
  std::array<uint8_t, 17> counts{};  // of each length
  std::array<Code, 256> of{};        // of each symbol

  Codes(std::vector<uint8_t> in_order, bool long_codes) : symbols(std::move(in_order)) {
    const auto same = std::bit_width(symbols.size() + 1);
    uint32_t next = 0;
    int last = 0;
    for (size_t n = 0; n < symbols.size(); ++n) {
      const int length = long_codes ? std::min(static_cast<int>(n) + 2, 16) : same;
      next <<= length - last;
      of[symbols[n]] = {length, next++};
      ++counts[length];
      last = length;
    }
  }
};

std::vector<uint8_t> dc_symbols() {
  std::vector<uint8_t> out;
  for (int size = 0; size <= 11; ++size) out.push_back(static_cast<uint8_t>(size));
  return out;
}

std::vector<uint8_t> ac_symbols() {
  std::vector<uint8_t> out = {0x00, 0xF0};
  for (int size = 1; size <= 10; ++size)
    for (int run = 0; run < 16; ++run) out.push_back(static_cast<uint8_t>(run << 4 | size));
  return out;
}

class Encoder {
 public:
  Encoder(const Stream& stream, Random& random)
      : stream_(stream), random_(random), dc_(dc_symbols(), false), ac_(ac_symbols(), stream.long_codes) {}

  std::vector<uint8_t> encode() {
    out_ = {0xFF, 0xD8};
    head();
    scan();
    bytes({0xFF, 0xD9});
    return std::move(out_);
  }

 private:
  void bytes(std::initializer_list<int> values) {
    for (const int value : values) out_.push_back(static_cast<uint8_t>(value));
  }
  void two(int value) { bytes({value >> 8, value & 0xFF}); }

  void table(int number, const Codes& codes) {
    bytes({0xFF, 0xC4});
    two(static_cast<int>(3 + 16 + codes.symbols.size()));
    bytes({number});
    out_.insert(out_.end(), codes.counts.begin() + 1, codes.counts.end());
    out_.insert(out_.end(), codes.symbols.begin(), codes.symbols.end());
  }

  void head() {
    const int count = static_cast<int>(stream_.factors.size());
    bytes({0xFF, 0xDB, 0, 2 + 1 + kValues, 0});
    out_.insert(out_.end(), kValues, static_cast<uint8_t>(stream_.quantiser));
    bytes({0xFF, 0xC0, 0, 8 + 3 * count, 8});
    two(stream_.height);
    two(stream_.width);
    bytes({count});
    for (int c = 0; c < count; ++c) bytes({c + 1, stream_.factors[c].first << 4 | stream_.factors[c].second, 0});
    table(0x00, dc_);
    table(0x10, ac_);
    if (stream_.restart != 0) {
      bytes({0xFF, 0xDD, 0, 4});
      two(stream_.restart);
    }
    bytes({0xFF, 0xDA, 0, 6 + 2 * count, count});
    for (int c = 0; c < count; ++c) bytes({c + 1, 0});
    bytes({0, 63, 0});
  }

  void scan() {
    std::vector<std::pair<int, int>> factors = stream_.factors;
    if (factors.size() == 1) factors = {{1, 1}};  // a scan of one component has one block per MCU
    int h = 1, v = 1;
    for (const auto& [across, down] : factors) {
      h = std::max(h, across);
      v = std::max(v, down);
    }
    const int rows = (stream_.height + 8 * v - 1) / (8 * v), columns = (stream_.width + 8 * h - 1) / (8 * h);
    before_.assign(factors.size(), 0);
    for (int n = 0; n < rows * columns; ++n) {
      if (stream_.restart != 0 && n != 0 && n % stream_.restart == 0) restart(n / stream_.restart - 1);
      for (size_t c = 0; c < factors.size(); ++c)
        for (int b = 0; b < factors[c].first * factors[c].second; ++b) block(c);
    }
    flush();
  }

  void restart(int number) {
    flush();
    bytes({0xFF, 0xD0 + number % 8});
    std::fill(before_.begin(), before_.end(), 0);
  }

  // Amplitudes that shrink with the frequency, so that no block is more than 8 bits can need.
  int coefficient(int n) {
    const int most = n == 0 ? 900 : 2400 / (8 + n);
    return n == 0 || random_.one_in(6) ? random_.between(-most, most) / stream_.quantiser : 0;
  }

  void block(size_t component) {
    const int dc = coefficient(0);
    symbol(dc_, 0, dc - before_[component]);
    before_[component] = dc;
    int zeros = 0;
    for (int n = 1; n < kValues; ++n) {
      const int value = coefficient(n);
      if (value == 0) {
        ++zeros;
        continue;
      }
      for (; zeros > 15; zeros -= 16) put(ac_.of[0xF0]);
      symbol(ac_, zeros, value);
      zeros = 0;
    }
    if (zeros > 0) put(ac_.of[0x00]);
  }

  void symbol(const Codes& codes, int run, int value) {
    const int size = std::bit_width(static_cast<uint32_t>(std::abs(value)));
    put(codes.of[run << 4 | size]);
    put({size, static_cast<uint32_t>(value >= 0 ? value : value + (1 << size) - 1)});
  }

  void put(const Code& code) {
    for (int bit = code.length - 1; bit >= 0; --bit) {
      bits_ = bits_ << 1 | (code.bits >> bit & 1);
      if (++held_ == 8) byte();
    }
  }

  void byte() {
    bytes({static_cast<int>(bits_ & 0xFF)});
    if ((bits_ & 0xFF) == 0xFF) bytes({0});
    bits_ = 0;
    held_ = 0;
  }

  void flush() {
    while (held_ != 0) put({1, 1});
  }

  const Stream& stream_;
  Random& random_;
  const Codes dc_, ac_;
  std::vector<uint8_t> out_;
  std::vector<int> before_;  // DC of each component's last block
  uint32_t bits_ = 0;
  int held_ = 0;
};

}  // namespace

std::vector<uint8_t> encode(const Stream& stream, Random& random) { return Encoder(stream, random).encode(); }

}  // namespace fl::check
