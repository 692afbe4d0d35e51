// Python's Job: the engine's job and the Python objects whose memory its tasks use.
#pragma once

#include <vector>

#include "bind/bind.h"
#include "core/job.h"

namespace fl::bind {

struct PyJob {
  explicit PyJob(std::shared_ptr<Job> started) : job(std::move(started)) {}
  PyJob(PyJob&&) = default;
  ~PyJob();

  std::shared_ptr<Job> job;
  std::vector<Input> pixels;          // given by set_pixels; until the end
  std::vector<Output> out;            // of the run in progress, or in preparation
  std::vector<nb::object> functions;  // that its programs call
};

}  // namespace fl::bind
