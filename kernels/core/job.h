// One batch: its samples, and how many tasks of the current phase are left.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "core/pool.h"
#include "core/sample.h"

namespace fl {

// What one run does, for all samples of a batch.
struct Plans {
  std::vector<Crop> crops;                 // one each
  std::vector<uint8_t> table;              // what the output's format looks values up in; empty: nothing
  std::vector<augment::Program> programs;  // one each, or none at all
  std::vector<int32_t> rows, columns;      // that are kept: one list for all or one each; empty: everything
  std::vector<int32_t> boxes;              // that are erased: [samples, K, 4]
  std::vector<uint8_t> fills;              // [K, 3] of the output's type
  int erased = 0;                          // K
};

class Job final : public Work {
 public:
  // Starts reading.
  static std::shared_ptr<Job> start(std::shared_ptr<Pool> pool, Origin origin, std::vector<Sample> samples);
  ~Job() override;  // drops what has not begun, waits for what runs

  int64_t size() const { return static_cast<int64_t>(samples_.size()); }
  Pool& pool() const { return *pool_; }

  // True once nothing is left to do; false after `slice`. threads=0: the caller does the work meanwhile.
  bool wait(std::chrono::milliseconds slice);
  bool done() const;                         // nothing is left to do; waits for nothing, does nothing
  void check_idle(const char* where) const;  // throws std::runtime_error while tasks are left or if they were dropped

  // The rest needs an idle job.
  Sample& sample(int64_t n) { return samples_[n]; }
  const Sample& sample(int64_t n) const { return samples_[n]; }
  void run(Plans plans, const Output& output);

 private:
  Job(std::shared_ptr<Pool> pool, Origin origin, std::vector<Sample> samples);

  void begin(int64_t tasks);
  void run(int64_t task, Worker& worker) noexcept override;
  Kept kept(int64_t n) const;
  cpu::Erased erased(int64_t n) const;
  void finished(int64_t tasks, bool cancelled) noexcept override;

  const std::shared_ptr<Pool> pool_;
  const Origin origin_;
  std::vector<Sample> samples_;

  bool fetching_ = true;
  std::vector<int64_t> to_store_;  // the samples of this run
  Plans plans_;
  Output output_;

  mutable std::mutex mutex_;
  std::condition_variable done_;
  int64_t left_ = 0;        // tasks
  bool cancelled_ = false;  // the pool was closed first
};

}  // namespace fl
