// Huffman-coded segments to coefficients: one thread a segment, one symbol at a time whatever block
// it belongs to, so that the threads of a warp wait for each other once, at the end. Gives the
// blocks and the verdict of jpeg/entropy_scalar.cpp, and refuses whatever that refuses.
//
// What bounds it. A thread writes only blocks inside the tiles; a block gets 64 coefficients at
// most; and after each block the position is compared with the segment's end, so a lying segment
// reads less than two blocks past it (kCodedPadding). Of a damaged segment, the blocks that are not
// decoded are zeroed, so no memory of an earlier batch shows.
#pragma once

#include <cstring>

#include "gpu/block/decode.h"
#include "gpu/block/threads.h"

namespace fl::block {

constexpr int kQuickBits = 10;
constexpr int kMostDcBits = 11, kMostAcBits = 10;  // of values; see jpeg/huffman.h

// What the threads of a block share: one image's tables.
// About 10 KiB, so that several blocks of threads fit on a processor.
struct DecodeState {
  // Code length << 8 | symbol; 0: longer, or no code
  uint16_t quick[kHuffmanTables][1 << kQuickBits];
  DecodeTable slow[kHuffmanTables];
  uint8_t order[kBlockValues];  // where the n-th coefficient lies, column by column
};

// The code at the top of 32 bits, among lengths from..to: length << 8 | symbol, 0 if there is none.
FL_HD uint32_t find_code(const DecodeTable& table, uint32_t bits, int from, int to) {
  const uint32_t top = bits >> 16;
  for (int length = from; length <= to; ++length) {
    if (top < table.limit[length])
      return static_cast<uint32_t>(length) << 8 |
             table.symbols[(static_cast<int32_t>(top >> (16 - length)) + table.offset[length]) &
                           255];
  }
  return 0;
}

FL_HD uint32_t load_word(const uint8_t* from) {
  uint32_t word;
  std::memcpy(&word, __builtin_assume_aligned(from, sizeof word), sizeof word);
#ifdef __CUDA_ARCH__
  return __byte_perm(word, 0, 0x0123);
#else
  return __builtin_bswap32(word);  // host and device are little-endian
#endif
}

// Bits of the coded bytes in order; at least 32 of them are at hand after fill().
class CodedBits {
 public:
  // coded: at a multiple of 4.
  FL_HD CodedBits(const uint8_t* coded, uint32_t bit) : coded_(coded), word_(bit >> 5) {
    const auto skipped = static_cast<int>(bit & 31);
    held_ = static_cast<uint64_t>(next()) << 32 << skipped;
    have_ = 32 - skipped;
  }

  FL_HD void fill() {
    if (have_ >= 32) return;
    held_ |= static_cast<uint64_t>(next()) << (32 - have_);
    have_ += 32;
  }
  FL_HD uint32_t top() const { return static_cast<uint32_t>(held_ >> 32); }
  FL_HD void skip(int count) {  // up to 32
    held_ <<= count;
    have_ -= count;
  }
  // Of the next bit
  FL_HD uint32_t position() const { return 32 * word_ - static_cast<uint32_t>(have_); }

 private:
  FL_HD uint32_t next() { return load_word(coded_ + static_cast<uint64_t>(word_++) * 4); }

  const uint8_t* coded_;
  uint64_t held_ = 0;
  uint32_t word_;
  int have_ = 0;
};

// One segment by one thread. All its state is in registers, but for the tables.
class DecodeLane {
 public:
  FL_HD DecodeLane(const DecodeState& state, const DecodeImage& image, const DecodeSegment& segment,
                   const uint8_t* coded, int16_t* blocks)
      : state_(state),
        image_(image),
        segment_(segment),
        blocks_(blocks),
        bits_(coded, segment.bit),
        left_(segment.count * image.mcu_blocks) {
    for (int c = 0; c < kParts; ++c) dc_[c] = segment.dc[c];
  }

  // Whether all is right. Every block that is kept is written, whatever the bytes are.
  FL_HD bool run() {
    const bool good = decode();
    while (left_ > 0) finish_block();
    return good;
  }

 private:
  FL_HD bool decode() {
    enter_block();
    while (left_ > 0) {
      if (!symbol()) return false;
      if (done_ < kBlockValues) continue;
      finish_block();
      if (bits_.position() > segment_.end) return false;
    }
    return segment_.open != 0 || (bits_.position() == segment_.end && ends_as_said());
  }

  FL_HD bool ends_as_said() const {
    bool same = true;
    for (int c = 0; c < kParts; ++c) same &= c >= image_.parts || dc_[c] == segment_.dc_end[c];
    return same;
  }

  FL_HD void enter_block() {
    const McuBlock& its = image_.mcu[block_];
    const int column = segment_.column + mcu_;
    part_ = its.part;
    dc_table_ = its.dc;
    ac_table_ = its.ac;
    done_ = 0;
    kept_ = nullptr;
    if (column < 0 || column >= image_.tile_columns) return;
    const int64_t number =
        its.first + static_cast<int64_t>(segment_.row) * its.down + column * its.across;
    kept_ = blocks_ + number * kBlockValues;
    constexpr int kChunk = 16;
    const uint64_t zeros[2] = {0, 0};
    for (int i = 0; i < kBlockValues * 2; i += kChunk)
      std::memcpy(__builtin_assume_aligned(reinterpret_cast<uint8_t*>(kept_) + i, kChunk), zeros,
                  kChunk);
  }

  FL_HD void finish_block() {
    if (++block_ == image_.mcu_blocks) {
      block_ = 0;
      ++mcu_;
    }
    if (--left_ > 0) enter_block();
  }

  // The next symbol and its value. False: no such code, or not in an 8-bit image.
  FL_HD bool symbol() {
    bits_.fill();
    const uint32_t top = bits_.top();
    const bool first = done_ == 0;
    const int table = first ? dc_table_ : ac_table_;
    uint32_t code = state_.quick[table][top >> (32 - kQuickBits)];
    if (code == 0) code = find_code(state_.slow[table], top, kQuickBits + 1, 16);
    const auto length = static_cast<int>(code >> 8), symbol = static_cast<int>(code & 255);
    const int size = first ? symbol : symbol & 15, run = first ? 0 : symbol >> 4;
    const bool empty = size == 0 && !first;  // end of block, or 16 zeros
    if (code == 0 || size > (first ? kMostDcBits : kMostAcBits) || (empty && run != 0 && run != 15))
      return false;
    bits_.skip(length + size);
    done_ += empty && run == 0 ? kBlockValues : run + 1;
    if (empty) return true;
    int32_t value = size == 0 ? 0 : static_cast<int32_t>(top << length >> (32 - size));
    if (size != 0 && value >> (size - 1) == 0) value -= (1 << size) - 1;  // T.81 F.2.2.1, EXTEND
    if (first && !predict(value)) return false;
    if (done_ > kBlockValues) return false;
    if (kept_ != nullptr) kept_[state_.order[done_ - 1]] = static_cast<int16_t>(value);
    return true;
  }

  // Adds what came before; false if that needs more than 16 bits.
  FL_HD bool predict(int32_t& value) {
    // Not dc_[part_]: a variable index would keep it out of registers
    for (int c = 0; c < kParts; ++c) {
      if (c != part_) continue;
      value += dc_[c];
      dc_[c] = value;
    }
    return value >= -32767 && value <= 32767;
  }

  const DecodeState& state_;
  const DecodeImage& image_;
  const DecodeSegment& segment_;
  int16_t* const blocks_;
  CodedBits bits_;
  int left_;  // blocks
  int mcu_ = 0, block_ = 0;
  int part_ = 0, dc_table_ = 0, ac_table_ = 0;
  int done_ = 0;             // coefficients of the block
  int16_t* kept_ = nullptr;  // the block, if it is in the tiles
  int32_t dc_[kParts];
};

// One group; as many threads as there are. First all threads make the quick tables of the image
// together, 2^10 entries each; then each takes a segment.
template <class Threads>
FL_HD void decode_group(const Threads& threads, const DecodeBatch& batch, const DecodeGroup& group,
                        DecodeState* state) {
  const DecodeImage* image = batch.images + group.image;
  const DecodeTable* tables = batch.tables + image->tables;
  constexpr int kWords = sizeof(DecodeTable) / 4;
  each(threads, image->table_count * kWords, [=](int i) {
    std::memcpy(reinterpret_cast<uint32_t*>(state->slow) + i,
                reinterpret_cast<const uint32_t*>(tables) + i, 4);
  });
  each(threads, kBlockValues, [=](int n) {
    const int at = zigzag_to_natural(n);
    state->order[n] = static_cast<uint8_t>(at % kBlockSize * kBlockSize + at / kBlockSize);
  });
  each(threads, image->table_count << kQuickBits, [=](int i) {
    const int table = i >> kQuickBits, bits = i & ((1 << kQuickBits) - 1);
    const uint32_t top = static_cast<uint32_t>(bits) << (32 - kQuickBits);
    state->quick[table][bits] =
        static_cast<uint16_t>(find_code(state->slow[table], top, 1, kQuickBits));
  });
  const DecodeSegment* segments = batch.segments + image->segments + group.first;
  const uint8_t* coded = batch.data + image->coded;
  int16_t* blocks = batch.blocks(*image);
  uint32_t* flag = batch.flags + group.image;
  each(threads, group.count, [=](int n) {
    if (!DecodeLane(*state, *image, segments[n], coded, blocks).run()) atomic_or(flag, kBadSegment);
  });
}

}  // namespace fl::block
