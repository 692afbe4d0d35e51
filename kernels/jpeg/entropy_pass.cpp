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

}  // namespace

Pass::Pass(Bytes bytes, const Frame& frame, Tables& tables, Lanes& lanes, Scratch& window,
           cpu::Target target)
    : bytes_(bytes),
      frame_(frame),
      tables_(tables),
      lanes_(lanes),
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
}

// The position is where unstuffing would stop after this many bytes: behind a 0xFF comes its 0x00
// first. Counts the stuffing of what was used since the last call, so that all calls together look
// at each byte once.
FilePosition Pass::position() {
  const auto now = static_cast<size_t>(bit_ >> 3);
  file_ += now - counted_ + std::count(window_ + counted_, window_ + now, uint8_t{0xFF});
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

// sink: null if nobody wants the blocks.
bool Pass::run(int row, int column, int count, BlockSink* sink) {
  while (count > 0) {
    fill();
    Segment piece{bit_, limit(), dc_, {}, true, row, column, std::min(count, most_)};
    const Verdict verdict = sink == nullptr ? skim(frame_, tables_, window_, piece, lanes_, target_)
                                            : decode_segments(frame_, tables_, window_, {&piece, 1},
                                                              lanes_, *sink, target_);
    if (verdict != Verdict::kGood) {
      why_ = "damaged near byte " + std::to_string(position().byte) + ": no valid blocks";
      return false;
    }
    bit_ = piece.end;
    dc_ = piece.dc_end;
    column += piece.count;
    count -= piece.count;
  }
  return true;
}

}  // namespace fl::jpeg
