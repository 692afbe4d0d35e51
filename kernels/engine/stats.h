// How long each stage takes: wall time and CPU time of the thread, two clock reads (0.3 us) per
// stage and sample. Where that is much beside what is timed, some samples are timed for all.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/system.h"

namespace fl {

enum class Stage { kRead, kDecode, kResize, kAugment, kStore };
constexpr int kStages = 5;
constexpr const char* kStageNames[kStages] = {"read", "decode", "resize", "augment", "store"};

// How an image's region was decoded. A JPEG: by its seek index; by the own decoder from the scan's
// start; by libjpeg-turbo. Besides the way taken: refused, an index that lied; scaled, decoded at a
// half, a quarter or an eighth of the size. Or it was a PNG or a WebP.
enum class Way { kIndexed, kWhole, kLibrary, kRefused, kScaled, kPng, kWebp };
constexpr int kWays = 7;
constexpr const char* kWayNames[kWays] = {"indexed", "whole", "library", "refused",
                                          "scaled",  "png",   "webp"};

// One cache line per thread, so that counting does not slow the neighbours
struct alignas(64) StageStats {
  struct Row {
    std::atomic<int64_t> samples{0}, wall_ns{0}, cpu_ns{0};
  };
  std::array<Row, kStages> rows;
  std::array<std::atomic<int64_t>, kWays> ways{};

  void count(Way way) { ways[static_cast<int>(way)].fetch_add(1, std::memory_order_relaxed); }
};

// CPU time less than wall time means that the thread waited, for a disk or for a core.
class Stopwatch {
 public:
  // stands_for: of how many samples the times are, this one among them; 0: another one's stand for
  // its own, and only the sample is counted.
  explicit Stopwatch(StageStats& stats, int stands_for = 1)
      : stats_(stats), stands_for_(stands_for) {
    if (stands_for_ > 0) start();
  }

  // The time since the last lap belongs to `stage`, and so do `samples` more.
  void lap(Stage stage, int samples = 1) {
    StageStats::Row& row = stats_.rows[static_cast<int>(stage)];
    row.samples.fetch_add(samples, std::memory_order_relaxed);
    if (stands_for_ == 0) return;
    const int64_t wall = wall_, cpu = cpu_;
    start();
    row.wall_ns.fetch_add((wall_ - wall) * stands_for_, std::memory_order_relaxed);
    row.cpu_ns.fetch_add((cpu_ - cpu) * stands_for_, std::memory_order_relaxed);
  }

 private:
  void start() {
    wall_ = now();
    cpu_ = os::thread_cpu_ns();
  }

  static int64_t now() {
    const auto time = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
  }

  StageStats& stats_;
  int stands_for_;
  int64_t wall_ = 0, cpu_ = 0;
};

}  // namespace fl
