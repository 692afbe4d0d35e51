// A scan is decoded in pieces of a few MCUs. Before each piece, at least kPiece unstuffed bytes are
// in the window, or all that are left; what was used is dropped. So memory is constant, and a piece
// never runs out of bytes that the file has.
//
// The end of a scan must be judged as libjpeg judges it, since what this takes must be what libjpeg
// takes without a warning: bits that are missing before a marker count as zeros there and warn, so
// here they are damage; and a file that ends without a marker must leave kReadAhead bytes.
#include "jpeg/entropy_pass.h"

#include <algorithm>

#include "jpeg/unstuff.h"

namespace fl::jpeg {
namespace {

constexpr size_t kWindow = 96 << 10;  // bytes
constexpr size_t kPiece = 32 << 10;   // bytes that a piece may need

// libjpeg reads ahead of what it decodes and warns if that is past the end of the file.
constexpr size_t kReadAhead = 16;  // bytes

// What comes first may take more than its share.
constexpr double kMargin = 1.04;

// Bits before the first block that is wanted: with fewer, all blocks are kept.
constexpr uint64_t kWorth = 8 * 4 * Ahead::kLeast;

// Looks that find too little. The end of a scan has a few, a hostile one may have nothing else.
constexpr int kMostInVain = 8;

// Of one row, decoded at a time where it is known where MCUs begin.
constexpr size_t kSegments = 32;
constexpr int kSegmentMcus = 8;  // at most

// MCUs of each segment, so that every lane has as many segments.
int share(int count) {
  const int rounds = (count + kSegmentMcus * Lanes::kCount - 1) / (kSegmentMcus * Lanes::kCount);
  return (count + rounds * Lanes::kCount - 1) / (rounds * Lanes::kCount);
}

}  // namespace

Pass::Pass(Bytes bytes, const Frame& frame, Tables& tables, Lanes& lanes, Ahead& ahead,
           Scratch& window, cpu::Target target)
    : bytes_(bytes),
      frame_(frame),
      tables_(tables),
      lanes_(lanes),
      ahead_(ahead),
      target_(target),
      window_(window.reserve(kWindow + kOverrun)),
      most_(static_cast<int>(kPiece / (kMostBlockBytes * frame.mcu_blocks))),
      in_(bytes.data()) {}

void Pass::start(size_t byte) {
  in_ = bytes_.data() + byte;
  filled_ = counted_ = 0;
  file_ = byte;
  bit_ = dropped_ = 0;
  ended_ = cut_ = false;
  dc_ = {};
  done_ = in_vain_ = 0;
  starts_ = {};
  looks_ = target_ != cpu::Target::kScalar && frame_.restart_interval == 0;
}

// The position is where unstuffing would stop after this many bytes: behind a 0xFF comes its 0x00
// first. Counts the stuffing of what was used since the last call, so that all calls together look
// at each byte once.
FilePosition Pass::position() {
  const auto now = static_cast<size_t>(bit_ >> 3);
  file_ += now - counted_ + count_stuffed(window_ + counted_, now - counted_);
  counted_ = now;
  return {file_, static_cast<int>(bit_ & 7)};
}

bool Pass::at_marker() {
  fill();
  return ended_ && !cut_ && filled_ * 8 - bit_ < 8;
}

uint64_t Pass::limit() const {
  return 8 * (cut_ ? filled_ - std::min(filled_, kReadAhead) : filled_);
}

// Moves the rest to the window's start and unstuffs as much as fits behind it. kOverrun zeros
// follow, which decoders may read.
void Pass::fill() {
  const auto used = static_cast<size_t>(bit_ >> 3);
  if (ended_ || filled_ - used >= kPiece) return;
  position();
  std::copy(window_ + used, window_ + filled_, window_);
  filled_ -= used;
  counted_ = 0;
  bit_ &= 7;
  dropped_ += 8 * uint64_t{used};
  const uint8_t* end = bytes_.data() + bytes_.size();
  const Unstuffed got = unstuff(in_, end, end, window_ + filled_, kWindow - filled_, target_);
  in_ = got.in;
  filled_ = static_cast<size_t>(got.out - window_);
  ended_ = got.ended;
  // Fill bytes, and no marker
  cut_ = ended_ && std::all_of(in_, end, [](uint8_t byte) { return byte == 0xFF; });
  std::fill_n(window_ + filled_, kOverrun, uint8_t{0});
}

// Only the blocks between first and last are decoded to coefficients; those before and behind are
// skimmed for their bits and DC.
bool Pass::decode(int row, int column, int count, BlockSink& sink) {
  const McuColumns wanted = sink.wanted(row);
  const int end = column + count, first = std::clamp(wanted.first, column, end),
            last = std::clamp(wanted.last, first, end);
  return run(row, column, first - column, nullptr) && run(row, first, last - first, &sink) &&
         run(row, last, end - last, nullptr);
}

// sink: null if nobody wants the blocks. Of damage the same is said whether it is known where MCUs
// begin or not: pieces are the same, and what fails is decoded once more in order.
bool Pass::run(int row, int column, int count, BlockSink* sink) {
  while (count > 0) {
    fill();
    int some = std::min(count, most_);
    if (known(some)) {
      const auto more = static_cast<int>(std::min<size_t>(starts_.size(), count));
      some = more == count ? count : more / most_ * most_;
      const uint64_t bit = bit_;
      const Predictors dc = dc_;
      if (by_starts(row, column, some, sink) != Verdict::kGood) {
        bit_ = bit;
        dc_ = dc;
        starts_ = {};
        looks_ = false;
        continue;
      }
    } else if (in_order(row, column, some, sink) != Verdict::kGood) {
      why_ = "damaged near byte " + std::to_string(position().byte) + ": no valid blocks";
      return false;
    }
    done_ += some;
    column += some;
    count -= some;
  }
  return true;
}

Verdict Pass::in_order(int row, int column, int count, BlockSink* sink) {
  Segment piece{bit_, limit(), dc_, {}, true, row, column, count};
  const Verdict verdict = sink == nullptr ? skim(frame_, tables_, window_, piece, lanes_, target_)
                                          : decode_segments(frame_, tables_, window_, {&piece, 1},
                                                            lanes_, *sink, target_);
  if (verdict != Verdict::kGood) return verdict;
  bit_ = piece.end;
  dc_ = piece.dc_end;
  starts_ = starts_.subspan(std::min<size_t>(starts_.size(), count));
  return verdict;
}

bool Pass::foresees(int count) {
  fill();
  return static_cast<size_t>(count) <= starts_.size() || (starts_.empty() && known(count));
}

McuStart Pass::after(int count) const {
  const McuStart& end = starts_[count - 1];
  return {starts_dropped_ + end.bit, end.dc};
}

bool Pass::known(int count) {
  if (static_cast<size_t>(count) <= starts_.size()) return true;
  if (!looks_) return false;
  const Reach to = reach();
  starts_ = ahead_.find(frame_, tables_, window_, {bit_, dc_}, to.end, to.keep);
  starts_dropped_ = dropped_;
  if (static_cast<size_t>(count) <= starts_.size()) return true;
  looks_ = ++in_vain_ < kMostInVain;
  return false;
}

// Supposes that MCUs take their share of the bytes that are left.
Pass::Reach Pass::reach() const {
  const int64_t all = int64_t{frame_.mcu_rows} * frame_.mcu_columns - done_;
  const size_t bytes = filled_ - static_cast<size_t>(bit_ >> 3) +
                       static_cast<size_t>(bytes_.data() + bytes_.size() - in_);
  const auto till = [&](double mcus) {
    return std::min(limit(), bit_ + static_cast<uint64_t>(8.0 * static_cast<double>(bytes) * mcus /
                                                          static_cast<double>(all)));
  };
  if (done_ >= last_ || (whole_ && till(static_cast<double>(last_ - done_)) < bit_ + kWorth))
    return {limit(), false};
  const uint64_t first = till(static_cast<double>(std::max<int64_t>(first_ - done_, 0)));
  if (first > bit_ + kWorth) return {first, false};
  const int64_t wanted = last_ - done_, most = std::max(Ahead::kKept / frame_.mcu_blocks, 1),
                looks = (wanted + most - 1) / most;
  if (wanted == all && looks == 1) return {limit(), true};
  return {till(kMargin * static_cast<double>(wanted) / static_cast<double>(looks)), true};
}

// MCUs whose blocks were kept; as many at a time as stand behind each other and are one turn.
Verdict Pass::by_blocks(int row, int column, int count, BlockSink& sink) {
  const ptrdiff_t step = ptrdiff_t{frame_.mcu_blocks} * kBlockStep;
  while (count > 0) {
    const int most = std::min(count, Lanes::kMaxBlocks / frame_.mcu_blocks);
    int16_t* const blocks = starts_[0].blocks;
    int some = 1;
    while (some < most && starts_[some].blocks == blocks + some * step) ++some;
    if (!add_predictors(frame_, some, blocks, dc_)) return Verdict::kDamaged;
    if (!sink.take(row, column, some, blocks)) return Verdict::kStopped;
    pass_over(some);
    column += some;
    count -= some;
  }
  return Verdict::kGood;
}

// The next `count` MCUs, by segments that fill the decoder's lanes evenly; sink: null to pass them
// over.
Verdict Pass::by_starts(int row, int column, int count, BlockSink* sink) {
  if (sink != nullptr && starts_[0].blocks != nullptr) return by_blocks(row, column, count, *sink);
  const int each = sink == nullptr ? count : share(count);
  std::array<Segment, kSegments> segments;
  while (count > 0) {
    size_t held = 0;
    for (; held < kSegments && count > 0; ++held) {
      const int some = std::min(each, count);
      Segment& segment = segments[held];
      segment = {bit_, 0, dc_, {}, false, row, column, some};
      pass_over(some);
      segment.end = bit_;
      segment.dc_end = dc_;
      column += some;
      count -= some;
    }
    if (sink == nullptr) continue;
    const Verdict verdict =
        decode_segments(frame_, tables_, window_, {segments.data(), held}, lanes_, *sink, target_);
    if (verdict != Verdict::kGood) return verdict;
  }
  return Verdict::kGood;
}

void Pass::pass_over(int count) {
  const McuStart end = after(count);
  bit_ = end.bit - dropped_;
  dc_ = end.dc;
  starts_ = starts_.subspan(count);
}

}  // namespace fl::jpeg
