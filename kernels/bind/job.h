// Python's Job: the engine's job and the Python objects whose memory its tasks use.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bind/bind.h"
#include "engine/job.h"

namespace fl::bind {

struct PyJob {
  explicit PyJob(std::shared_ptr<Job> started) : job(std::move(started)) {}
  PyJob(PyJob&&) = default;
  ~PyJob();

  std::shared_ptr<Job> job;
  // Given by set_pixels, by sample; until it is stored
  std::vector<std::pair<int64_t, Input>> pixels;
  std::vector<Output> out;            // of the run in progress, or in preparation
  std::vector<nb::object> functions;  // that its programs call
};

// Throws ValueError unless every sample's crop suits it, and has the scale of its crop in `others`,
// those of another picture (null: there is none); `function` names who was called.
void check_crops(const std::string& function, const Job& job, const std::vector<Crop>& crops,
                 const std::vector<Crop>* others, int height, int width);

// One name for all, or int32 [count] of Pillow's numbers (Image.Resampling), one for each.
std::vector<Filter> parse_filters(const std::string& function,
                                  const std::variant<std::string, Input>& filter, int64_t count);

}  // namespace fl::bind
