// What is left when a job is done: whether all went well, and who frees its memory.
#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "engine/job.h"

namespace fl {

Job::~Job() {
  abandon();
  {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return left_ == 0; });
  }
  using Owned = std::pair<std::vector<Sample>, std::vector<Planned>>;
  try {
    pool_->leave(std::make_shared<Owned>(std::move(samples_), std::move(pictures_)));
  } catch (const std::bad_alloc&) {  // freed here
  }
}

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
