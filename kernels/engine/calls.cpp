// What compiled code of others calls (FFCV's loops, by Numba): it knows a job by its address only.
// Who calls must keep the Python Job alive; a number out of range is answered with kFailed. Nothing
// throws, and no GIL is needed.
#include "engine/calls.h"

#include "engine/job.h"

namespace {

// Null where there is no such sample.
fl::Job* job_of(int64_t address, int64_t n) {
  auto* job = reinterpret_cast<fl::Job*>(static_cast<intptr_t>(address));
  return job != nullptr && n >= 0 && n < job->size() ? job : nullptr;
}

}  // namespace

int32_t fastload_make_sample(const int64_t* job, int64_t n) {
  fl::Job* lent = job_of(*job, n);
  return lent == nullptr ? fl::kFailed : lent->give(n);
}

int32_t fastload_give_pixels(int64_t job, int64_t n, const uint8_t* pixels) {
  fl::Job* lent = job_of(job, n);
  return lent == nullptr ? fl::kFailed : lent->give(n, pixels);
}
