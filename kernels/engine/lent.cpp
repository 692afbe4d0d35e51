// Lent jobs, whose samples others' threads make: reading is a part of making, and a worker is
// borrowed for each sample.
#include <new>
#include <utility>

#include "engine/job.h"

namespace fl {

std::shared_ptr<Job> Job::lend(std::shared_ptr<Pool> pool, Origin origin,
                               std::vector<Sample> samples) {
  std::shared_ptr<Job> job(new Job(std::move(pool), std::move(origin), std::move(samples)),
                           [](Job* it) {
                             // In a child of fork its tasks never end and its mutex may be locked
                             if (!it->pool_->forked()) delete it;
                           });
  job->lent_ = true;
  return job;
}

template <class Step>
Status Job::lent_to(int64_t n, Step step) noexcept {
  Worker* worker = nullptr;
  try {
    worker = &pool_->borrow();
  } catch (const std::bad_alloc&) {
    out_of_memory(samples_[n]);
    return kFailed;
  }
  {
    const room::Task task(room::limited());
    step(n, *worker);
    worker->trim();
  }
  pool_->give_back(*worker);
  return samples_[n].status;
}

Status Job::give(int64_t n) noexcept {
  if (origin_.files->count() == 0) return kFailed;  // lent without locations
  return lent_to(n, [this](int64_t it, Worker& worker) {
    fetch_as_said(samples_[it], origin_, *pool_->buffers(), worker);
    if (samples_[it].status == kOk) make(it, worker);
  });
}

Status Job::give(int64_t n, const uint8_t* pixels) noexcept {
  Sample& sample = samples_[n];
  sample.pixels = {pixels, sample.height, sample.width,
                   static_cast<ptrdiff_t>(sample.width) * kChannels, false};
  return lent_to(n, [this](int64_t it, Worker& worker) { make(it, worker); });
}

}  // namespace fl
