// The host's part of decoding a batch on a device: which of a job's samples can be, and their bytes
// packed for it. Both phases are tasks of the job's pool; the job's own `run` may go on beside the
// second one, for the samples put aside.
#pragma once

#include "engine/job.h"
#include "gpu/device_batch.h"

namespace fl {

// Keeps its job alive, whose bytes it reads. Calls come from one thread; tasks from any.
class DeviceDecode final : public Work {
 public:
  struct How {
    std::vector<Crop> crops;      // one each, checked
    std::vector<Filter> filters;  // one each, or one for all
    cpu::Order order = cpu::Order::kPillow13;
    int height = 0, width = 0;  // of the output, px
    int64_t most = 0;           // bytes of the device's scratch memory for all samples together
  };

  // Needs an idle job, which stays as it is until `wait` says that all is planned. Starts planning.
  static std::shared_ptr<DeviceDecode> start(std::shared_ptr<Job> job, How how);
  ~DeviceDecode() override;

  int64_t size() const { return job_->size(); }
  Job& job() const { return *job_; }
  const How& how() const { return how_; }

  // True once nothing is left to do; false after `slice`. threads=0: the caller does the work
  // meanwhile.
  bool wait(std::chrono::milliseconds slice);
  // Throws std::runtime_error while tasks are left or if they were dropped
  void check_idle(const char* where) const;

  // The rest needs all planned.
  // Sample n is not for the device; empty: it is
  const std::string& why(int64_t n) const { return why_[n]; }
  // Takes the samples that are wanted, all of them fit; what `pack` writes is the batch's.
  const jpeg::DeviceBatch& choose(const std::vector<int64_t>& positions);
  const jpeg::DeviceBatch& batch() const { return batch_; }
  void pack(uint8_t* to);  // batch().header().bytes, at a multiple of 16; starts

 private:
  enum class Phase { kPlan, kPack };

  DeviceDecode(std::shared_ptr<Job> job, How how);
  void begin(Phase phase, int64_t tasks);
  void run(int64_t task, Worker& worker) noexcept override;
  void finished(int64_t tasks, bool cancelled) noexcept override;
  std::string describe(int64_t task) const override;
  void refuse(int64_t task, const char* why) noexcept;
  std::string plan(int64_t n, Worker& worker);
  void keep_within();

  const std::shared_ptr<Job> job_;
  const How how_;
  std::vector<jpeg::DevicePlan> plans_;
  std::vector<std::string> why_;
  jpeg::DeviceBatch batch_;
  uint8_t* to_ = nullptr;

  Phase phase_ = Phase::kPlan;
  mutable std::mutex mutex_;
  std::condition_variable done_;
  int64_t left_ = 0;        // tasks
  bool cancelled_ = false;  // the pool was closed first
};

}  // namespace fl
