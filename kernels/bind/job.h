// Python's Job: the engine's job and the Python objects whose memory its tasks use.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bind/bind.h"
#include "engine/job.h"

namespace fl::bind {

struct Ahead;

struct PyJob {
  explicit PyJob(std::shared_ptr<Job> started) : job(std::move(started)) {}
  PyJob(PyJob&&) = default;
  ~PyJob();

  std::shared_ptr<Job> job;
  // Given by set_pixels, by sample; until it is stored
  std::vector<std::pair<int64_t, Input>> pixels;
  std::vector<Output> out;            // of the run in progress, or in preparation
  std::vector<nb::object> functions;  // that its programs call
  // What `then` was told: the job draws into its arrays, and holds pointers to it.
  std::shared_ptr<Ahead> ahead;
};

// Where samples lie: array elements checked against the files; `where` names who was called.
std::vector<Location> parse_locations(const char* where, const PyFiles& files, const Input& file,
                                      const Input& offset, const Input& size);

// Pool.fetch, Pool.lend and Job.run, see _native.pyi.
PyJob fetch(const PyPool& self, const PyFiles& files, const Input& file, const Input& offset,
            const Input& size, const std::optional<Input>& checksum,
            const std::optional<nb::tuple>& seek, const std::optional<nb::tuple>& collect,
            const std::optional<Input>& raw);
PyJob lend(const PyPool& self, const Input& sizes, const std::optional<nb::tuple>& locations,
           const std::optional<nb::tuple>& seek, const std::optional<Input>& raw);
void run(PyJob& self, const std::vector<PictureWork>& pictures);

// Job.then, see _native.pyi: of each picture the programs that draw its records.
void then(PyJob& self, std::vector<PictureWork> pictures, const std::vector<nb::list>& draws,
          uint64_t seed, int64_t epoch, int64_t most_pixels);

// class Kit, and Job.follow, which uses one.
void bind_kit(nb::module_& m, nb::class_<PyJob>& job);

using Functions = std::vector<std::span<const augment::Function>>;  // of each picture
Functions functions_of(const std::vector<PictureWork>& pictures);

// The pictures' records as the job has them, checked. Touches no Python object, but for what the
// arrays say of themselves: any thread may call it, without the GIL.
std::vector<Planned> planned(const Job& job, const std::vector<PictureWork>& pictures,
                             const Functions& functions);

// The job's tasks use these arrays and functions from now on.
void keep(PyJob& self, const std::vector<PictureWork>& pictures);

// Throws ValueError unless every sample's crop suits it, and has the scale of its crop in `others`,
// those of another picture (null: there is none); `function` names who was called.
void check_crops(const std::string& function, const Job& job, const std::vector<Crop>& crops,
                 const std::vector<Crop>* others, int height, int width);

// One name for all, or int32 [count] of Pillow's numbers (Image.Resampling), one for each.
std::vector<Filter> parse_filters(const std::string& function,
                                  const std::variant<std::string, Input>& filter, int64_t count);

}  // namespace fl::bind
