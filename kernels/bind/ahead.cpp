// Job.then: a job that reads is told what comes after, and goes on without Python.
//
// All that the pool's thread touches lies in Ahead: arrays that Python has made, whose owner keeps
// them until the job is done, and programs that draw into them. It takes no reference to a Python
// object and gives none back.
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "bind/draws.h"
#include "bind/job.h"

namespace fl::bind {

struct Ahead {
  std::vector<PictureWork> pictures;
  Functions functions;
  std::vector<Drawn> draws;      // of all pictures
  std::vector<nb::list> arrays;  // that these hold pointers to
  uint64_t seed = 0;
  uint32_t epoch = 0;
  int64_t most_pixels = 0;  // of an image; 0: any number

  std::optional<std::vector<Planned>> planned(const Job& job) const;
};

namespace {

// Of each sample; those of a batch's own draws are 0.
std::vector<int32_t> sizes_of(const Job& job) {
  std::vector<int32_t> out(job.size() * 2);
  for (int64_t n = 0; n < job.size(); ++n) {
    out[n * 2] = job.sample(n).height;
    out[n * 2 + 1] = job.sample(n).width;
  }
  return out;
}

Drawn drawn(const nb::handle& given) {
  const auto parts = nb::cast<nb::tuple>(given);
  const auto array = [&](int i) { return nb::cast<Input>(parts[i], false); };
  return Drawn::of(nb::cast<const PyDraws&>(parts[0]), array(1), array(2), array(3),
                   nb::cast<std::vector<Output>>(parts[4], false));
}

}  // namespace

// Larger images than Pillow allows are for Python, which warns of them or refuses them.
std::optional<std::vector<Planned>> Ahead::planned(const Job& job) const {
  const std::vector<int32_t> sizes = sizes_of(job), none(2);
  const int64_t side = sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end());
  if (most_pixels > 0 && side * side > most_pixels) return std::nullopt;
  for (const Drawn& it : draws)
    if (!it.run(seed, epoch, it.program->sizes.empty() ? none.data() : sizes.data()))
      return std::nullopt;
  return bind::planned(job, pictures, functions);
}

void then(PyJob& self, std::vector<PictureWork> pictures, const std::vector<nb::list>& draws,
          uint64_t seed, int64_t epoch, int64_t most_pixels) {
  if (epoch < 0 || epoch >= int64_t{1} << 32)
    refuse("Job.then", "epoch", std::to_string(epoch), "0..4294967295");
  auto ahead = std::make_shared<Ahead>();
  ahead->functions = functions_of(pictures);
  for (const nb::list& of_picture : draws)
    for (const nb::handle& it : of_picture) ahead->draws.push_back(drawn(it));
  for (const Drawn& it : ahead->draws)
    if (!it.program->sizes.empty() && it.count() != self.job->size())
      refuse("Job.then: draws", "samples", std::to_string(it.count()),
             std::to_string(self.job->size()));
  ahead->arrays = draws;
  ahead->pictures = std::move(pictures);
  ahead->seed = seed;
  ahead->epoch = static_cast<uint32_t>(epoch);
  ahead->most_pixels = most_pixels;
  keep(self, ahead->pictures);
  self.ahead = ahead;
  // The plain pointers live as long as the job: its owner drops what it was told when it is done.
  self.job->then([to = ahead.get(), job = self.job.get()] { return to->planned(*job); });
}

}  // namespace fl::bind
