// The job owns all that its tasks touch, and does not end before they do; so tasks hold a plain pointer to it.
#include "core/job.h"

#include <stdexcept>
#include <string>

namespace fl {

using Clock = std::chrono::steady_clock;

Job::Job(std::shared_ptr<Pool> pool, Origin origin, std::vector<Sample> samples)
    : pool_(std::move(pool)), origin_(std::move(origin)), samples_(std::move(samples)) {
  for (Sample& sample : samples_)
    if (sample.row >= 0) sample.collector = origin_.collector.get();
}

std::shared_ptr<Job> Job::start(std::shared_ptr<Pool> pool, Origin origin, std::vector<Sample> samples) {
  std::shared_ptr<Job> job(new Job(std::move(pool), std::move(origin), std::move(samples)), [](Job* it) {
    if (!it->pool_->forked()) delete it;  // in a child of fork its tasks never end and its mutex may be locked
  });
  job->begin(job->size());
  return job;
}

Job::~Job() {
  pool_->cancel(*this);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return left_ == 0; });
}

void Job::begin(int64_t tasks) {
  if (tasks == 0) return pool_->check_process();
  {
    const std::lock_guard lock(mutex_);
    left_ = tasks;
  }
  try {
    pool_->submit(*this, tasks);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    left_ = 0;
    throw;
  }
}

void Job::run(Plans plans, const Output& output) {
  plans_ = std::move(plans);
  output_ = output;
  output_.format.table = plans_.table.empty() ? nullptr : plans_.table.data();
  fetching_ = false;
  to_store_.clear();
  for (int64_t n = 0; n < size(); ++n)
    if (samples_[n].status == kOk && !samples_[n].stored) to_store_.push_back(n);
  begin(static_cast<int64_t>(to_store_.size()));
}

void Job::run(int64_t task, Worker& worker) noexcept {
  if (fetching_) return fetch(samples_[task], origin_, *pool_->buffers(), worker);
  const int64_t n = to_store_[task];
  const augment::Program* program = plans_.programs.empty() ? nullptr : &plans_.programs[n];
  fl::run(samples_[n], {plans_.crops[n], program, kept(n), erased(n), output_.slot(n)}, output_, worker);
}

Kept Job::kept(int64_t n) const {
  if (plans_.rows.empty()) return {};
  const auto of = [n](const std::vector<int32_t>& list, int64_t length) {
    return list.data() + (list.size() > static_cast<size_t>(length) ? n * length : 0);
  };
  return {of(plans_.rows, output_.kept_height), of(plans_.columns, output_.kept_width), output_.kept_width,
          output_.width};
}

cpu::Erased Job::erased(int64_t n) const {
  return {plans_.boxes.data() + n * plans_.erased * 4, plans_.fills.data(), plans_.erased};
}

// Under the lock to the end: once a waiter sees left_ == 0 the job may be gone.
void Job::finished(int64_t tasks, bool cancelled) noexcept {
  const std::lock_guard lock(mutex_);
  left_ -= tasks;
  cancelled_ |= cancelled;
  if (left_ == 0) done_.notify_all();
}

bool Job::wait(std::chrono::milliseconds slice) {
  pool_->check_process();
  const auto until = Clock::now() + slice;
  const auto over = [&] { return left_ == 0; };
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (over()) return true;
    }
    if (Clock::now() >= until) return false;
    if (pool_->threads() > 0 || !pool_->help()) break;
  }
  std::unique_lock lock(mutex_);
  return done_.wait_until(lock, until, over);
}

bool Job::done() const {
  pool_->check_process();
  const std::lock_guard lock(mutex_);
  return left_ == 0;
}

void Job::check_idle(const char* where) const {
  pool_->check_process();
  const std::lock_guard lock(mutex_);
  if (left_ > 0) throw std::runtime_error(std::string(where) + ": tasks are still running; wait first");
  if (cancelled_) throw std::runtime_error(std::string(where) + ": the pool was closed before the job was done");
}

}  // namespace fl
