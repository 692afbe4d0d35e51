// How a job ends: waited for, early where its owner drops it, or with samples that have failed.
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/job.h"

namespace fl {

using Clock = std::chrono::steady_clock;

bool Job::wait(std::chrono::milliseconds slice) {
  pool_->check_process();
  const auto until = Clock::now() + slice;
  const auto over = [&] { return left_ == 0; };
  {
    const std::lock_guard lock(shared_->mutex);
    if (std::exchange(running_lent_, false)) go_on();  // others' run ends without a word
  }
  while (true) {
    {
      const std::lock_guard lock(shared_->mutex);
      if (over()) return true;
    }
    if (Clock::now() >= until) return false;
    if (pool_->threads() > 0 || !pool_->help()) break;
  }
  std::unique_lock lock(shared_->mutex);
  return shared_->done.wait_until(lock, until, over);
}

bool Job::done() const {
  pool_->check_process();
  const std::lock_guard lock(shared_->mutex);
  return left_ == 0;
}

void Job::check_idle(const char* where) const {
  pool_->check_process();
  const std::lock_guard lock(shared_->mutex);
  if (left_ > 0)
    throw std::runtime_error(std::string(where) + ": tasks are still running; wait first");
  if (cancelled_)
    throw std::runtime_error(std::string(where) + ": the pool was closed before the job was done");
}

bool Job::abandon() {
  {
    const std::lock_guard lock(shared_->mutex);
    cancelled_ = true;  // MIX does not begin any more
  }
  pool_->cancel(*this);
  constexpr std::chrono::milliseconds kLook{20};
  while (true) {
    {
      std::unique_lock lock(shared_->mutex);
      if (shared_->done.wait_for(lock, kLook, [&] { return left_ == 0; })) return true;
    }
    if (pool_->stuck(*this)) return false;
  }
}

// What draws by itself has only samples that are OK, and notes those that fail later: so its owner
// need not look at them all.
void Job::note(const Sample& sample) noexcept {
  if (sample.status != kOk) failed_.store(true, std::memory_order_relaxed);
}

bool Job::regular() const {
  if (drawn_) return !failed_.load(std::memory_order_relaxed);
  return all_read();
}

}  // namespace fl
