// The host's part of decoding on a GPU, as tasks of the job's pool. Phase one plans every sample,
// in any order; what cannot be planned keeps a reason and stays the CPU's. Phase two packs the
// chosen ones, one task each, into memory of the caller. Between the phases nothing runs, so plans
// are read without a lock.
//
// No task throws: a reason is a string, and where even that finds no memory, a short one needs
// none.
#include "engine/device_decode.h"

#include <new>
#include <stdexcept>
#include <utility>

#include "jpeg/layer/layer.h"
#include "simd/hash.h"

namespace fl {

using Clock = std::chrono::steady_clock;

DeviceDecode::DeviceDecode(std::shared_ptr<Job> job, How how)
    : job_(std::move(job)), how_(std::move(how)), plans_(job_->size()), why_(job_->size()) {}

std::shared_ptr<DeviceDecode> DeviceDecode::start(std::shared_ptr<Job> job, How how) {
  std::shared_ptr<DeviceDecode> work(new DeviceDecode(std::move(job), std::move(how)),
                                     [](DeviceDecode* it) {
                                       if (!it->job_->pool().forked())
                                         delete it;  // in a child of fork its tasks never end
                                     });
  work->begin(Phase::kPlan, work->size());
  return work;
}

DeviceDecode::~DeviceDecode() {
  job_->pool().cancel(*this);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return left_ == 0; });
}

// Before all others: these tasks are short, and what the device can do waits for them.
void DeviceDecode::begin(Phase phase, int64_t tasks) {
  phase_ = phase;
  if (tasks == 0) return job_->pool().check_process();
  {
    const std::lock_guard lock(mutex_);
    left_ = tasks;
  }
  try {
    job_->pool().go_on(*this, tasks);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    left_ = 0;
    throw;
  }
}

void DeviceDecode::run(int64_t task, Worker& worker) noexcept {
  if (phase_ == Phase::kPack) {
    worker.stats.count(Way::kIndexed);
    return batch_.write(static_cast<size_t>(task), to_);
  }
  Stopwatch watch(worker.stats);
  try {
    why_[task] = plan(task, worker);
  } catch (const std::bad_alloc&) {
    why_[task] = "out of memory";  // short: nothing is allocated
  } catch (const std::exception& error) {
    refuse(task, error.what());
  }
  if (!why_[task].empty()) plans_[task] = {};
  watch.lap(Stage::kDecode, why_[task].empty() ? 1 : 0);
}

void DeviceDecode::refuse(int64_t task, const char* why) noexcept {
  try {
    why_[task] = why;
  } catch (const std::bad_alloc&) {
    why_[task] = "out of memory";
  }
}

std::string DeviceDecode::describe(int64_t) const {
  return phase_ == Phase::kPlan ? "plans for a GPU" : "packs for a GPU";
}

// Empty, or why not. Reads the sample, changes only its own plan: safe beside other samples.
std::string DeviceDecode::plan(int64_t n, Worker& worker) {
  const Sample& sample = job_->sample(n);
  const auto bytes = sample.encoded.bytes(), packed = sample.seek.bytes();
  if (sample.status != kOk || sample.stored || sample.late) return "not to be decoded";
  if (sample.pixels.data != nullptr || sample.rows != nullptr) return "not encoded";
  if (how_.crops[n].scale != 1) return "decoded at a part of its size";
  if (packed.empty()) return "no seek index";
  if (jpeg::layer::is_layer(packed)) return "a coefficient layer, which the CPU decodes";
  if (std::string why = jpeg::parse_frame(bytes, worker.frame); !why.empty()) return why;
  if (worker.frame.height != sample.height || worker.frame.width != sample.width)
    return "another size in its header";
  const uint64_t hash = sample.hash ? *sample.hash : xxh3(bytes);
  jpeg::SeekIndex index;
  if (std::string why = index.open(packed, bytes, worker.frame, &hash); !why.empty())
    return "index refused: " + why;
  if (worker.plans.empty()) worker.plans.resize(1);
  cpu::CropPlan& crop = worker.plans.front();
  const cpu::Resampling by{how_.filters.size() > 1 ? how_.filters[n] : how_.filters.front(),
                           how_.order};
  cpu::plan_crop(how_.crops[n], by, how_.height, how_.width, crop);
  return jpeg::plan_device(bytes, worker.frame, index, crop, worker.jpeg, plans_[n]);
}

// Under the lock to the end: once a waiter sees left_ == 0 this may be gone.
void DeviceDecode::finished(int64_t tasks, bool cancelled) noexcept {
  const std::lock_guard lock(mutex_);
  left_ -= tasks;
  cancelled_ |= cancelled;
  if (left_ > 0) return;
  if (phase_ == Phase::kPlan) keep_within();
  done_.notify_all();
}

// In order of the batch, so that the same samples fit every time.
void DeviceDecode::keep_within() {
  int64_t sum = 0;
  for (size_t n = 0; n < plans_.size(); ++n) {
    if (!why_[n].empty()) continue;
    const bool fits = sum + plans_[n].scratch() <= how_.most;
    if (fits) sum += plans_[n].scratch();
    if (fits) continue;
    why_[n] = "no memory left";  // short: nothing is allocated under the lock
    plans_[n] = {};
  }
}

bool DeviceDecode::wait(std::chrono::milliseconds slice) {
  Pool& pool = job_->pool();
  pool.check_process();
  const auto until = Clock::now() + slice;
  const auto over = [&] { return left_ == 0; };
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (over()) return true;
    }
    if (Clock::now() >= until) return false;
    if (pool.threads() > 0 || !pool.help()) break;
  }
  std::unique_lock lock(mutex_);
  return done_.wait_until(lock, until, over);
}

void DeviceDecode::check_idle(const char* where) const {
  job_->pool().check_process();
  const std::lock_guard lock(mutex_);
  if (left_ > 0)
    throw std::runtime_error(std::string(where) + ": tasks are still running; wait first");
  if (cancelled_)
    throw std::runtime_error(std::string(where) + ": the pool was closed before all was done");
}

const jpeg::DeviceBatch& DeviceDecode::choose(const std::vector<int64_t>& positions) {
  std::vector<const jpeg::DevicePlan*> plans;
  for (const int64_t n : positions) plans.push_back(&plans_[n]);
  batch_ = {plans, positions, how_.height, how_.width};
  return batch_;
}

void DeviceDecode::pack(uint8_t* to) {
  to_ = to;
  batch_.begin(to);
  begin(Phase::kPack, static_cast<int64_t>(batch_.size()));
}

}  // namespace fl
