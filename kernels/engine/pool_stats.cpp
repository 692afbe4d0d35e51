// What a pool says of itself: what its threads do, and what they have done.
#include "engine/pool.h"

namespace fl {

using Clock = std::chrono::steady_clock;

std::vector<Pool::Running> Pool::running() const {
  check_process();
  std::vector<Running> out;
  const std::lock_guard lock(mutex_);
  const auto seconds = [](Clock::time_point since) {
    return std::chrono::duration<double>(Clock::now() - since).count();
  };
  for (size_t i = 0; i < running_.size(); ++i) {
    const Claim& it = running_[i];
    if (it.work != nullptr)
      out.push_back({name(static_cast<int>(i)), it.work->describe(it.task), seconds(it.since)});
  }
  if (calling_since_ != Clock::time_point{})
    out.push_back({"fastload-ahead", "asks for read-ahead", seconds(calling_since_)});
  return out;
}

std::array<Pool::Total, kStages> Pool::stats() const {
  check_process();
  std::array<Total, kStages> totals{};
  const std::lock_guard lock(mutex_);
  for (const auto& worker : workers_) {
    for (int i = 0; i < kStages; ++i) {
      const StageStats::Row& row = worker->stats.rows[i];
      totals[i].samples += row.samples.load(std::memory_order_relaxed);
      totals[i].wall_ns += row.wall_ns.load(std::memory_order_relaxed);
      totals[i].cpu_ns += row.cpu_ns.load(std::memory_order_relaxed);
    }
  }
  return totals;
}

std::array<int64_t, kWays> Pool::ways() const {
  check_process();
  std::array<int64_t, kWays> totals{};
  const std::lock_guard lock(mutex_);
  for (const auto& worker : workers_)
    for (int i = 0; i < kWays; ++i)
      totals[i] += worker->stats.ways[i].load(std::memory_order_relaxed);
  return totals;
}

}  // namespace fl
