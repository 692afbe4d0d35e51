// Where the next bit is depends on all before, so blocks that nobody wants are decoded too, but for
// refining scans: there each has one bit.
#include "jpeg/progressive_dc.h"

#include "jpeg/entropy.h"

namespace fl::jpeg {
namespace {

// T.81 G.1.2.1.2, of two's complement.
void add_bits(DcPart& part, int low, Window& window) {
  window.fill();
  if (part.to == nullptr) return window.take(static_cast<uint64_t>(part.across) * part.down);
  for (int v = 0; v < part.down; ++v) {
    for (int h = 0; h < part.across; ++h) {
      int16_t& dc = part.to[v * part.line + h * kBlockValues];
      dc = static_cast<int16_t>(dc | static_cast<int>(window.bits >> 63) << low);
      window.take(1);
    }
  }
  part.to += part.across * kBlockValues;
}

// T.81 G.1.2.1.1. False: no such code, or a sum that needs more than 16 bits.
bool add_differences(DcPart& part, int low, Window& window) {
  const int most = kMostDc >> low;
  int sum = part.sum;
  bool good = true;
  for (int v = 0; v < part.down; ++v) {
    for (int h = 0; h < part.across; ++h) {
      window.fill();
      const ScanEntry entry = part.table->entry(window.bits);
      sum += ScanTable::value(entry, window.bits);
      window.take(entry.length);
      good &= entry.kind == Kind::kValue && sum >= -most && sum <= most;
      if (part.to != nullptr)
        part.to[v * part.line + h * kBlockValues] = static_cast<int16_t>(sum * (1 << low));
    }
  }
  part.sum = sum;
  if (part.to != nullptr) part.to += part.across * kBlockValues;
  return good;
}

}  // namespace

bool decode_dc(std::span<DcPart> parts, bool refines, int low, int count, Feed& feed) {
  Window window = feed.window;
  for (; count > 0; --count) {
    if (!feed.more(window)) return false;
    bool good = true;
    for (DcPart& part : parts) {
      if (refines)
        add_bits(part, low, window);
      else
        good &= add_differences(part, low, window);
    }
    if (!good) return false;
  }
  const bool good = feed.more(window);
  feed.window = window;
  return good;
}

}  // namespace fl::jpeg
