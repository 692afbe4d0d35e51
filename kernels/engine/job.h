// One batch: its samples, and how many tasks of the current phase are left.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/pool.h"
#include "engine/sample.h"
#include "pixels/mix.h"

namespace fl {

// What one picture is, for all samples of a batch.
struct Plans {
  std::vector<Crop> crops;      // one each
  std::vector<Filter> filters;  // one each, or one for all
  cpu::Order order = cpu::Order::kPillow13;
  // What the output's format looks values up in; empty: nothing
  std::vector<uint8_t> table;
  std::vector<augment::Program> programs;  // one each, or none at all
  // That are kept: one list for all or one each; empty: everything
  std::vector<int32_t> rows, columns;
  std::vector<int32_t> boxes;     // that are erased: [samples, K, 4]
  std::vector<uint8_t> fills;     // [K, 3] of the output's type
  int erased = 0;                 // K
  std::vector<Filling> fillings;  // [K]; empty: the fills above
  std::vector<uint32_t> keys;     // [samples, K], of noise
  std::vector<uint8_t> noise;     // [tables, 3, 4096] of the output's type
  std::vector<Partner> partners;  // one each, or none at all: nothing is mixed
  Number number{};                // what is stored, where there are partners
};

// One picture of every sample, and where it goes.
struct Planned {
  Plans plans;
  Output output;

  Picture of(int64_t n) const;  // one sample's
};

// One batch under way. Shared by Python's object and by what is launched from it; tasks hold a
// plain pointer, since the destructor waits for them.
class Job final : public Work {
 public:
  // Starts reading.
  static std::shared_ptr<Job> start(std::shared_ptr<Pool> pool, Origin origin,
                                    std::vector<Sample> samples);
  // A job of others' threads, one `give` per sample: nothing is read before, and its first run is
  // done by them. Needs samples with a size and status OK.
  static std::shared_ptr<Job> lend(std::shared_ptr<Pool> pool, Origin origin,
                                   std::vector<Sample> samples);
  ~Job() override;  // drops what has not begun, waits for what runs
  // The same. False where that does not end: whoever asked must keep the job, and its memory, till
  // it is done.
  bool abandon();

  int64_t size() const { return static_cast<int64_t>(samples_.size()); }
  Pool& pool() const { return *pool_; }

  // True once nothing is left to do; false after `slice`. threads=0: the caller does the work
  // meanwhile.
  bool wait(std::chrono::milliseconds slice);
  // Nothing is left to do; waits for nothing, does nothing
  bool done() const;
  // Throws std::runtime_error while tasks are left or if they were dropped
  void check_idle(const char* where) const;

  // The rest needs an idle job.
  Sample& sample(int64_t n) { return samples_[n]; }
  const Sample& sample(int64_t n) const { return samples_[n]; }
  // Every sample is OK, and none comes late.
  bool regular() const;
  // Makes every sample that is OK and not stored yet. pictures: at least one, with crops of one
  // scale for each sample.
  void run(std::vector<Planned> pictures);

  // Of a job that reads: what is to be made once all is read, so that it goes on by itself. `draw`
  // is called in a thread of the pool, where every sample is OK and none comes late; without a
  // value the job is left to its owner, as one that was told nothing.
  using Draw = std::function<std::optional<std::vector<Planned>>()>;
  void then(Draw draw);
  // True once it makes its samples by itself, or nothing is left to do; false after `slice`.
  bool wait_started(std::chrono::milliseconds slice);
  bool drawn() const;  // it has gone on by itself

  // Of a lent job, after `run`: reads sample n and makes it, or makes it from its decoded pixels.
  // Any thread, each sample once. Returns its status.
  Status give(int64_t n) noexcept;
  Status give(int64_t n, const uint8_t* pixels) noexcept;

 private:
  Job(std::shared_ptr<Pool> pool, Origin origin, std::vector<Sample> samples);

  // MAKE ends with STORE, or, where samples have partners, with uint8 images; MIX stores them once
  // all are there.
  enum class Phase { kFetch, kDraw, kMake, kMix };

  void begin(int64_t tasks);
  void prepare(std::vector<Planned> pictures);
  void draw() noexcept;
  bool go_to(Phase phase, int64_t tasks) noexcept;
  void run(int64_t task, Worker& worker) noexcept override;
  void make(int64_t n, Worker& worker) noexcept;
  // A step of others' thread, with a worker that it borrows.
  template <class Step>
  Status lent_to(int64_t n, Step step) noexcept;
  void mix(int64_t n, Worker& worker) noexcept;
  // Whether partners are mixed: of a sample's only picture.
  bool mixes() const { return !pictures_.empty() && !pictures_.front().plans.partners.empty(); }
  void hold_back();
  void note(const Sample& sample) noexcept;
  bool all_made() const;
  bool all_read() const;
  bool go_on() noexcept;
  void finished(int64_t tasks, bool cancelled) noexcept override;
  std::string describe(int64_t task) const override;

  const std::shared_ptr<Pool> pool_;
  const Origin origin_;
  std::vector<Sample> samples_;

  Phase phase_ = Phase::kFetch;
  bool small_ = false;             // all samples are few pixels that need no decoder
  int64_t together_ = 1;           // tasks of MAKE that a thread takes at once
  bool lent_ = false;              // the next run is others' …
  bool running_lent_ = false;      // … and this one is
  std::vector<int64_t> to_store_;  // the samples of this run
  std::vector<Planned> pictures_;  // of each; where they are mixed, as MAKE leaves them
  Output stored_;                  // of MIX
  Buffer unmixed_;

  // Outlives the job where a task's thread still has it: whoever waits may drop the job as soon as
  // nothing is left.
  struct Shared {
    std::mutex mutex;
    std::condition_variable done, started;
  };
  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  int64_t left_ = 0;        // tasks
  bool cancelled_ = false;  // the pool was closed first
  Draw draw_;
  bool drawn_ = false;               // by draw_, and what it has planned is made, or was
  std::atomic<bool> failed_{false};  // a sample that was to be made, so far
};

}  // namespace fl
