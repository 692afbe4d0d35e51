// How a job ends: early, where its owner drops it, or with samples that have failed.
#include "engine/job.h"

namespace fl {

bool Job::abandon() {
  {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;  // MIX does not begin any more
  }
  pool_->cancel(*this);
  constexpr std::chrono::milliseconds kLook{20};
  while (true) {
    {
      std::unique_lock lock(mutex_);
      if (done_.wait_for(lock, kLook, [&] { return left_ == 0; })) return true;
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
