// Entropy decoding: coefficients and verdicts of segments, whole and damaged; then regions of JPEGs by every way in.
#include <algorithm>
#include <cstring>

#include "check.h"
#include "jpeg/markers.h"
#include "jpeg/region.h"
#include "jpeg/unstuff.h"
#include "stream.h"

namespace fl::check {
namespace {

using jpeg::Segment, jpeg::Verdict;

constexpr size_t kSlack = jpeg::kOverrun;
const std::vector<std::vector<std::pair<int, int>>> kFactors = {{{1, 1}},
                                                                {{1, 1}, {1, 1}, {1, 1}},
                                                                {{2, 1}, {1, 1}, {1, 1}},
                                                                {{2, 2}, {1, 1}, {1, 1}},
                                                                {{1, 2}, {1, 1}, {1, 1}},
                                                                {{4, 1}, {1, 1}, {1, 1}},
                                                                {{2, 2}, {2, 1}, {1, 2}}};

Stream any_stream(Random& random, bool restarts) {
  const auto& factors = kFactors[random.between(0, static_cast<int64_t>(kFactors.size()) - 1)];
  return {random.between(1, 90),   random.between(1, 130), factors,
          random.pick({1, 4, 16}), random.one_in(2),       restarts ? random.between(1, 20) : 0};
}

class Recorder final : public jpeg::BlockSink {
 public:
  explicit Recorder(const jpeg::Frame& frame)
      : frame_(frame), blocks_(size_t{1} * frame.mcu_rows * frame.mcu_columns * frame.mcu_blocks * kBlockValues) {}

  jpeg::McuColumns wanted(int) const override { return {0, frame_.mcu_columns}; }
  bool take(int row, int column, int count, int16_t* blocks) override {
    int16_t* to = &blocks_[(size_t{1} * row * frame_.mcu_columns + column) * frame_.mcu_blocks * kBlockValues];
    for (int b = 0; b < count * frame_.mcu_blocks; ++b, to += kBlockValues)
      std::copy_n(blocks + b * jpeg::kBlockStep, kBlockValues, to);
    jpeg::clear_blocks(blocks, count * frame_.mcu_blocks);
    return true;
  }

  const void* data() const { return blocks_.data(); }
  size_t bytes() const { return blocks_.size() * sizeof(int16_t); }

 private:
  const jpeg::Frame& frame_;
  std::vector<int16_t> blocks_;
};

// One stream without restart markers, its coded bytes unstuffed.
struct Coded {
  jpeg::Frame frame;
  jpeg::Tables tables;
  jpeg::Lanes scalar_lanes, tuned_lanes;
  std::vector<uint8_t> bytes;
  uint64_t bits = 0;

  explicit Coded(Check& check, const std::vector<uint8_t>& file) {
    check.equal("headers: " + jpeg::parse_frame(file, frame), true, jpeg::parse_frame(file, frame).empty());
    tables.prepare(frame, jpeg::kFewBytes);  // the regions below have the tables of few bytes
    bytes.resize(file.size() + kSlack);
    const uint8_t* end = file.data() + file.size();
    const uint8_t* scan = file.data() + frame.scan;
    const auto got = jpeg::tuned::unstuff(scan, end, end, bytes.data(), file.size());
    std::vector<uint8_t> plain(file.size());
    const auto want = jpeg::scalar::unstuff(scan, end, end, plain.data(), plain.size());
    check.equal("coded bytes: how many", want.out - plain.data(), got.out - bytes.data());
    check.equal("coded bytes", plain.data(), bytes.data(), static_cast<size_t>(want.out - plain.data()));
    const uint8_t* marker = jpeg::scalar::next_marker(scan, end);
    check.equal("next marker", marker - scan, jpeg::tuned::next_marker(scan, end) - scan);
    bits = 8 * static_cast<uint64_t>(got.out - bytes.data());
    std::fill(got.out, bytes.data() + bytes.size(), uint8_t{0});
  }

  // Both decode the same segments; gives the verdict. Where it is not good, blocks before the damage may be missing.
  Verdict compare(Check& check, const std::string& what, const std::vector<Segment>& segments,
                  std::vector<Segment>* ended = nullptr) {
    std::vector<Segment> ours = segments, theirs = segments;
    Recorder scalar(frame), tuned(frame);
    const Verdict want = jpeg::scalar::decode_segments(frame, tables, bytes.data(), ours, scalar_lanes, scalar);
    const Verdict got = jpeg::tuned::decode_segments(frame, tables, bytes.data(), theirs, tuned_lanes, tuned);
    check.equal(what + ": verdict", static_cast<int>(want), static_cast<int>(got));
    if (want != Verdict::kGood) return want;
    check.equal(what + ": blocks", scalar.data(), tuned.data(), scalar.bytes());
    for (size_t n = 0; n < ours.size(); ++n) {
      check.equal(what + ": end", static_cast<int64_t>(ours[n].end), static_cast<int64_t>(theirs[n].end));
      check.equal(what + ": DC", ours[n].dc_end.data(), theirs[n].dc_end.data(), sizeof ours[n].dc_end);
    }
    if (ended != nullptr) *ended = ours;
    return want;
  }
};

// The whole scan in open segments of any length, one after another; closed, they can be decoded in any order.
std::vector<Segment> one_by_one(Check& check, Random& random, Coded& coded) {
  std::vector<Segment> all;
  uint64_t bit = 0;
  jpeg::Predictors dc{};
  for (int row = 0; row < coded.frame.mcu_rows; ++row) {
    for (int column = 0, count; column < coded.frame.mcu_columns; column += count) {
      count = random.between(1, coded.frame.mcu_columns - column);
      std::vector<Segment> ended;
      const Segment open{bit, coded.bits, dc, {}, true, row, column, count};
      const Verdict verdict = coded.compare(check, "open segment", {open}, &ended);
      check.equal("open segment: good", static_cast<int>(Verdict::kGood), static_cast<int>(verdict));
      bit = ended[0].end;
      dc = ended[0].dc_end;
      ended[0].open = false;
      all.push_back(ended[0]);
    }
  }
  return all;
}

void damage(Random& random, Coded& coded, std::vector<Segment>& segments) {
  Segment& one = segments[random.between(0, static_cast<int64_t>(segments.size()) - 1)];
  switch (random.between(0, 3)) {
    case 0:
      one.end += random.pick({-1, 1, 7});
      return;
    case 1:
      one.dc_end[0] = static_cast<int16_t>(one.dc_end[0] ^ 4);
      return;
    case 2:
      one.begin += 1;
      return;
    default:
      coded.bytes[coded.bits / 8 * random.between(0, 99) / 100] ^= static_cast<uint8_t>(1 << random.between(0, 7));
  }
}

void one_stream(Check& check, Random& random) {
  Coded coded(check, encode(any_stream(random, false), random));
  std::vector<Segment> segments = one_by_one(check, random, coded);
  for (size_t n = segments.size(); n > 1; --n) std::swap(segments[n - 1], segments[random.between(0, n - 1)]);
  check.equal("together: good", static_cast<int>(Verdict::kGood),
              static_cast<int>(coded.compare(check, "together", segments)));
  for (int n = 0; n < 6; ++n) {
    std::vector<Segment> wrong = segments;
    damage(random, coded, wrong);
    for (const Segment& alone : wrong) coded.compare(check, "damaged", {alone});
  }
  for (uint8_t& byte : coded.bytes) byte = static_cast<uint8_t>(random.next());
  for (const Segment& alone : segments) coded.compare(check, "random bits", {alone});
  for (Segment& alone : segments) {
    alone.open = true;
    alone.end = coded.bits;
    coded.compare(check, "random bits, open", {alone});
  }
}

Region any_region(Random& random, const jpeg::Frame& frame) {
  if (random.one_in(3)) return {0, 0, frame.height, frame.width};
  const int top = random.between(0, frame.height - 1), left = random.between(0, frame.width - 1);
  return {top, left, random.between(1, frame.height - top), random.between(1, frame.width - left)};
}

// Both give the same pixels, or the same reason.
void one_region(Check& check, Random& random, const std::vector<uint8_t>& file, const jpeg::Frame& frame,
                const jpeg::SeekIndex* index, bool whole) {
  const Region region = any_region(random, frame);
  static jpeg::Workspace scalar, tuned;
  const auto want = jpeg::decode_region(file, frame, index, region, scalar, cpu::Target::kScalar);
  const auto got = jpeg::decode_region(file, frame, index, region, tuned, cpu::Target::kBest);
  const std::string what = std::to_string(region.height) + "x" + std::to_string(region.width) + " at " +
                           std::to_string(region.top) + ", " + std::to_string(region.left);
  if (whole) check.equal(what + ": " + want.error, true, want.ok());
  check.equal(what + ": decoded; " + got.error, want.ok(), got.ok());
  if (!want.ok()) return;
  for (int y = 0; y < region.height; ++y)
    check.equal(what, want.image.row(y), got.image.row(y), static_cast<size_t>(region.width) * kChannels);
}

void one_file(Check& check, Random& random) {
  const bool restarts = random.one_in(4);
  std::vector<uint8_t> file = encode(any_stream(random, restarts), random);
  jpeg::Frame frame;
  check.equal("headers", true, jpeg::parse_frame(file, frame).empty());
  const jpeg::Built built = restarts ? jpeg::Built{} : jpeg::build_index(file, random.between(0, 9));
  check.equal("index: " + built.why, true, built.why.empty());
  jpeg::SeekIndex index;
  if (!restarts) check.equal("index opens", true, index.open(built.index, file, frame).empty());
  for (int n = 0; n < 3; ++n) {
    one_region(check, random, file, frame, nullptr, true);
    if (!restarts) one_region(check, random, file, frame, &index, true);
  }
  file[random.between(frame.scan, file.size() - 1)] ^= static_cast<uint8_t>(1 << random.between(0, 7));
  one_region(check, random, file, frame, nullptr, false);
  if (!restarts) one_region(check, random, file, frame, &index, false);
}

}  // namespace

void check_coefficients() {
  Check check("coefficients");
  Random random(7);
  for (int n = 0; n < 60; ++n) one_stream(check, random);
}

void check_regions() {
  Check check("JPEG regions");
  Random random(8);
  for (int n = 0; n < 250; ++n) one_file(check, random);
}

}  // namespace fl::check
