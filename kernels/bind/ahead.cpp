// Job.then and Job.follow: a job that reads is told what comes after, and goes on without Python.
// class Kit: records that one batch after the other fills, so that none has to make them.
//
// All that the pool's thread touches lies in Ahead: arrays that Python has made, whose owner keeps
// them until the job is done, and programs that draw into them. It takes no reference to a Python
// object and gives none back.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/error.h"
#include "bind/draws.h"
#include "bind/job.h"

namespace fl::bind {

// Of one picture.
struct Kit {
  struct Filled {
    std::shared_ptr<const draws::Program> program;
    bool of_batch;  // the samples share what it draws
    Input given;    // that Python fills before a job follows
    std::vector<Output> outs;
  };

  CropRecords crops;
  StoreRecords store;
  std::optional<Programs> programs;
  std::vector<Filled> draws;
  std::atomic<bool> used{false};  // by a job that is not done
};

struct PyKit {
  std::shared_ptr<Kit> kit;
};

struct Ahead {
  ~Ahead() {
    if (kit) kit->used = false;
  }

  std::vector<PictureWork> pictures;
  Functions functions;
  std::vector<Drawn> draws;      // of all pictures
  std::vector<nb::list> arrays;  // that these hold pointers to
  std::shared_ptr<Kit> kit;      // that has them; null: Python has made them for this batch
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

uint32_t checked_epoch(const char* where, int64_t epoch) {
  if (epoch < 0 || epoch >= int64_t{1} << 32)
    refuse(where, "epoch", std::to_string(epoch), "0..4294967295");
  return static_cast<uint32_t>(epoch);
}

// The plain pointers live as long as the job: its owner drops what it was told when it is done.
void tell(PyJob& self, std::shared_ptr<Ahead> ahead) {
  keep(self, ahead->pictures);
  self.ahead = std::move(ahead);
  self.job->then([to = self.ahead.get(), job = self.job.get()] { return to->planned(*job); });
}

void make_kit(PyKit* self, const CropRecords& crops, const StoreRecords& store,
              const std::optional<Programs>& programs, const nb::list& draws) {
  auto kit = std::make_shared<Kit>();
  kit->crops = crops;
  kit->store = store;
  kit->programs = programs;
  for (const nb::handle& it : draws) {
    const auto parts = nb::cast<nb::tuple>(it);
    kit->draws.push_back({nb::cast<const PyDraws&>(parts[0]).program, nb::cast<bool>(parts[1]),
                          nb::cast<Input>(parts[2], false),
                          nb::cast<std::vector<Output>>(parts[3], false)});
  }
  new (self) PyKit{std::move(kit)};
}

// int64 [count]
std::vector<int64_t> keys(const char* where, const Input& array, int64_t count) {
  const int64_t* values = checked<int64_t>(where, array, {count});
  return {values, values + count};
}

void follow(PyJob& self, const PyKit& given, const Output& out, const Input& samples,
            const Input& occurrences, const std::optional<Input>& partners, uint64_t seed,
            int64_t epoch, int64_t step, int64_t rank, int64_t most_pixels) {
  Kit& kit = *given.kit;
  auto ahead = std::make_shared<Ahead>();
  ahead->epoch = checked_epoch("Job.follow", epoch);
  const int64_t count = self.job->size();
  const auto sample = keys("Job.follow: samples", samples, count);
  const auto occurrence = keys("Job.follow: occurrences", occurrences, count);
  if (kit.used.exchange(true))
    throw std::runtime_error("Job.follow: another job, which is not done, has the kit");
  ahead->kit = given.kit;  // gives it back, whatever comes
  for (const Kit::Filled& it : kit.draws)
    ahead->draws.push_back(it.of_batch
                               ? Drawn::of(it.program, {step}, {rank}, it.given, it.outs)
                               : Drawn::of(it.program, sample, occurrence, it.given, it.outs));
  ahead->pictures.push_back({kit.crops, kit.store, out, kit.programs});
  ahead->pictures.front().store.partners = partners;
  ahead->functions = functions_of(ahead->pictures);
  ahead->seed = seed;
  ahead->most_pixels = most_pixels;
  tell(self, std::move(ahead));
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
  auto ahead = std::make_shared<Ahead>();
  ahead->epoch = checked_epoch("Job.then", epoch);
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
  ahead->most_pixels = most_pixels;
  tell(self, std::move(ahead));
}

void bind_kit(nb::module_& m, nb::class_<PyJob>& job) {
  using namespace nb::literals;
  nb::class_<PyKit>(m, "Kit", nb::is_final())
      .def("__init__", &make_kit, "crops"_a, "store"_a, "programs"_a.none(), "draws"_a);
  job.def("follow", &follow, "kit"_a, "out"_a.noconvert(), "samples"_a.noconvert(),
          "occurrences"_a.noconvert(), "partners"_a.noconvert().none() = nb::none(), nb::kw_only(),
          "seed"_a, "epoch"_a, "step"_a, "rank"_a, "most_pixels"_a, nb::lock_self());
}

}  // namespace fl::bind
