// What Python gives a job: where its samples lie (Pool.fetch, Pool.lend), and the records of what
// is made of them (Job.run). The GPU's decoding checks its crops by the same functions.
//
// Arrays of locations are checked entry by entry before a job begins, so that the engine indexes
// files without a look. `fetch` starts reading and returns at once. Crops may be drawn before sizes
// are known, so they are checked against the images here, when both are there. Only samples that
// will be made are checked.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "base/error.h"
#include "bind/collector.h"
#include "bind/job.h"
#include "bind/paths.h"

namespace fl::bind {
namespace {

std::string item(const char* where, const char* array, int64_t n) {
  return std::string(where) + ": " + array + "[" + std::to_string(n) + "]";
}

}  // namespace

std::vector<Location> parse_locations(const char* where, const PyFiles& files, const Input& file,
                                      const Input& offset, const Input& size) {
  check(std::string(where) + ": file", Facts(file), {kAny}, nb::dtype<int64_t>());
  const auto count = static_cast<int64_t>(file.shape(0));
  const auto* which = static_cast<const int64_t*>(file.data());
  const int64_t* from = checked<int64_t>(std::string(where) + ": offset", offset, {count});
  const int64_t* length = checked<int64_t>(std::string(where) + ": size", size, {count});
  std::vector<Location> out(count);
  for (int64_t n = 0; n < count; ++n) {
    if (which[n] < 0 || which[n] >= files.files->count())
      refuse(item(where, "file", n), "no such file", std::to_string(which[n]),
             "0.." + std::to_string(files.files->count() - 1));
    if (from[n] < 0)
      refuse(item(where, "offset", n), "negative", std::to_string(from[n]), "0 or more");
    if (length[n] < kToEnd)
      refuse(item(where, "size", n), "negative", std::to_string(length[n]), "-1 or more");
    out[n] = {which[n], from[n], length[n]};
  }
  return out;
}

namespace {

// (files, file, offset, size), as `each`: the samples' own locations, or those of their seek
// indexes.
std::shared_ptr<const Files> set_locations(const char* where, const nb::tuple& source,
                                           Location Sample::* each, std::vector<Sample>& samples) {
  if (source.size() != 4) refuse(where, "length", std::to_string(source.size()), "4");
  const auto& files = nb::cast<const PyFiles&>(source[0]);
  const auto array = [&](int i) { return nb::cast<Input>(source[i], false); };
  const std::vector<Location> list = parse_locations(where, files, array(1), array(2), array(3));
  if (list.size() != samples.size())
    refuse(where, "samples", std::to_string(list.size()), std::to_string(samples.size()));
  for (size_t n = 0; n < list.size(); ++n) samples[n].*each = list[n];
  return files.files;
}

// (collector, row, no_index) of the samples whose indexes are to be collected.
std::shared_ptr<Collector> set_collector(const nb::tuple& collect, std::vector<Sample>& samples) {
  if (collect.size() != 3)
    refuse("Pool.fetch: collect", "length", std::to_string(collect.size()), "3");
  const auto collector = nb::cast<const PyCollector&>(collect[0]).collector;
  const auto count = static_cast<int64_t>(samples.size());
  const auto array = [&](int i) { return nb::cast<Input>(collect[i], false); };
  const Input row = array(1), no_index = array(2);
  const int64_t* rows = checked<int64_t>("Pool.fetch: collect: row", row, {count});
  const int64_t* known = checked<int64_t>("Pool.fetch: collect: no_index", no_index, {count});
  for (int64_t n = 0; n < count; ++n) {
    if (rows[n] < -1 || rows[n] >= collector->rows())
      refuse(item("Pool.fetch: collect", "row", n), "no such row", std::to_string(rows[n]),
             "-1.." + std::to_string(collector->rows() - 1));
    samples[n].row = rows[n];
    samples[n].no_index = known[n];
  }
  return collector;
}

// int32 [N, 2]: height and width of the samples that are raw pixels; 0, 0 for the others.
void set_raw_sizes(const Input& raw, bool checked_bytes, std::vector<Sample>& samples) {
  const auto count = static_cast<int64_t>(samples.size());
  const int32_t* sizes = checked<int32_t>("Pool.fetch: raw", raw, {count, 2});
  const Where list("Pool.fetch: raw");
  for (int64_t n = 0; n < count; ++n) {
    const int64_t height = sizes[2 * n], width = sizes[2 * n + 1];
    if (height == 0 && width == 0) continue;
    const Where where(list, n);
    const auto got = [=] { return std::to_string(height) + "x" + std::to_string(width); };
    if (checked_bytes) refuse(where, "checksum", "one", "none: raw pixels are read in part");
    if (height < 1 || width < 1 || height > kMaxPixels / width)
      refuse(where, "size", got(), "1.." + std::to_string(kMaxPixels) + " px");
    if (samples[n].location.size != height * width * kChannels)
      refuse(where, "bytes", std::to_string(samples[n].location.size) + " for " + got() + " px",
             std::to_string(height * width * kChannels));
    samples[n].raw_height = static_cast<int>(height);
    samples[n].raw_width = static_cast<int>(width);
  }
}

}  // namespace

PyJob fetch(const PyPool& self, const PyFiles& files, const Input& file, const Input& offset,
            const Input& size, const std::optional<Input>& checksum,
            const std::optional<nb::tuple>& seek, const std::optional<nb::tuple>& collect,
            const std::optional<Input>& raw) {
  const std::vector<Location> where = parse_locations("Pool.fetch", files, file, offset, size);
  const auto count = static_cast<int64_t>(where.size());
  const uint64_t* sums =
      checksum ? checked<uint64_t>("Pool.fetch: checksum", *checksum, {count}) : nullptr;
  std::vector<Sample> samples(count);
  for (int64_t n = 0; n < count; ++n) {
    samples[n].location = where[n];
    if (sums != nullptr) samples[n].checksum = sums[n];
  }
  Origin origin{files.files, nullptr, sums != nullptr, nullptr};
  if (seek) origin.seek = set_locations("Pool.fetch: seek", *seek, &Sample::seek_location, samples);
  if (raw) set_raw_sizes(*raw, sums != nullptr, samples);
  if (collect) origin.collector = set_collector(*collect, samples);
  return PyJob(Job::start(self.pool, std::move(origin), std::move(samples)));
}

// Samples whose sizes are known, and which others' threads make by the functions in CALLS.
PyJob lend(const PyPool& self, const Input& sizes, const std::optional<nb::tuple>& locations,
           const std::optional<nb::tuple>& seek, const std::optional<Input>& raw) {
  const int32_t* px = checked<int32_t>("Pool.lend: sizes", sizes, {kAny, 2});
  std::vector<Sample> samples(sizes.shape(0));
  Origin origin{std::make_shared<const Files>(std::vector<std::string>{}, false), nullptr, false,
                nullptr};
  for (size_t n = 0; n < samples.size(); ++n) {
    const int64_t height = px[2 * n], width = px[2 * n + 1];
    if (height < 1 || width < 1 || height > kMaxPixels / width)
      refuse(item("Pool.lend", "sizes", static_cast<int64_t>(n)), "size",
             std::to_string(height) + "x" + std::to_string(width),
             "1.." + std::to_string(kMaxPixels) + " px");
    samples[n].height = static_cast<int>(height);
    samples[n].width = static_cast<int>(width);
    samples[n].status = kOk;
  }
  if (locations)
    origin.files = set_locations("Pool.lend: locations", *locations, &Sample::location, samples);
  if (seek) origin.seek = set_locations("Pool.lend: seek", *seek, &Sample::seek_location, samples);
  if (raw) set_raw_sizes(*raw, false, samples);
  return PyJob(Job::lend(self.pool, std::move(origin), std::move(samples)));
}

void check_crops(const std::string& function, const Job& job, const std::vector<Crop>& crops,
                 const std::vector<Crop>* others, int height, int width) {
  const std::string name = function + ": crops";
  const Where list(name);
  for (int64_t n = 0; n < job.size(); ++n) {
    const Sample& it = job.sample(n);
    if (it.status != kOk || it.stored) continue;
    const Where where(list, n);
    cpu::check_crop(crops[n], it.height, it.width, height, width, where);
    if (others != nullptr && crops[n].scale != (*others)[n].scale)
      refuse(where, "scale", std::to_string(crops[n].scale),
             std::to_string((*others)[n].scale) + ", that of the sample's other pictures");
    if (it.pixels.data != nullptr && crops[n].scale != it.pixels_scale)
      refuse(where, "scale", std::to_string(crops[n].scale),
             std::to_string(it.pixels_scale) + ", that of the pixels given for it");
  }
}

std::vector<Filter> parse_filters(const std::string& function,
                                  const std::variant<std::string, Input>& filter, int64_t count) {
  if (const auto* name = std::get_if<std::string>(&filter)) return {cpu::parse_filter(*name)};
  constexpr Filter kByNumber[] = {Filter::kNearest, Filter::kLanczos, Filter::kBilinear,
                                  Filter::kBicubic, Filter::kBox,     Filter::kHamming};
  const int32_t* numbers =
      checked<int32_t>(function + ": filter", std::get<Input>(filter), {count});
  std::vector<Filter> out{Filter::kBilinear};
  if (count > 0) out.clear();
  for (int64_t n = 0; n < count; ++n) {
    if (numbers[n] < 0 || numbers[n] > 5)
      refuse(function + ": filter[" + std::to_string(n) + "]", "number", std::to_string(numbers[n]),
             "0 to 5");
    out.push_back(kByNumber[numbers[n]]);
  }
  return out;
}

Planned planned(const Job& job, const PictureWork& work,
                std::span<const augment::Function> functions, const std::vector<Crop>* first) {
  const std::string where = "Job.run";
  const int64_t count = job.size();
  const auto& [crops, store, out, programs] = work;
  const auto [height, width] = std::pair(crops.height, crops.width);
  if (height < 1 || width < 1)
    refuse(where, "size", std::to_string(height) + "x" + std::to_string(width), "1 px or more");
  Plans plans;
  const KeptLists kept = parse_kept(where, store, count, height, width);
  plans.rows = kept.rows;
  plans.columns = kept.columns;
  const auto check = store.patch == 0 ? check_batch : check_patches;
  const cpu::Format format = check(where, store, out, count, kept.height, kept.width);
  ErasedLists erased = parse_erased(where, store, out.dtype(), count, kept.height, kept.width);
  plans.boxes = std::move(erased.boxes);
  plans.fills = std::move(erased.fills);
  plans.erased = erased.each;
  NoiseLists drawn = parse_noise(where + ": noise", store.noise, out.dtype(), count, plans.erased);
  plans.fillings = std::move(drawn.fillings);
  plans.keys = std::move(drawn.keys);
  plans.noise.assign(drawn.tables.begin(), drawn.tables.end());
  plans.partners = parse_partners(where, store, count, kept.height, kept.width);
  plans.number = number_of(out);
  plans.crops = bind::crops(where + ": crops", crops.rows, count);
  plans.filters = parse_filters(where, crops.filter, count);
  plans.order = crops.order;
  check_crops(where, job, plans.crops, first, height, width);
  if (programs.has_value())
    plans.programs =
        parse_programs(where + ": programs", *programs, count, height, width, functions);
  if (format.table != nullptr) {
    const auto* bytes = static_cast<const uint8_t*>(format.table);
    plans.table.assign(bytes, bytes + kChannels * 256 * format.item_size);
  }
  auto* to = static_cast<uint8_t*>(out.data());
  fl::Output output{to, height, width, kept.height, kept.width, format};
  if (store.patch > 0) {
    output.patch = store.patch;
    output.tokens = static_cast<int64_t>(out.shape(1));
  }
  return {std::move(plans), output};
}

Functions functions_of(const std::vector<PictureWork>& pictures) {
  Functions out;
  for (const PictureWork& it : pictures)
    out.push_back(it.programs.has_value() ? parse_functions(it.programs->functions)
                                          : std::span<const augment::Function>{});
  return out;
}

std::vector<Planned> planned(const Job& job, const std::vector<PictureWork>& pictures,
                             const Functions& functions) {
  if (pictures.empty()) refuse("Job.run", "pictures", "none", "1 or more of each sample");
  if (pictures.size() > 1)
    for (const PictureWork& picture : pictures)
      if (picture.store.partners.has_value())
        refuse("Job.run", "partners", "of several pictures", "those of one");
  std::vector<Planned> plans;
  for (size_t n = 0; n < pictures.size(); ++n)
    plans.push_back(planned(job, pictures[n], functions[n],
                            plans.empty() ? nullptr : &plans.front().plans.crops));
  return plans;
}

void keep(PyJob& self, const std::vector<PictureWork>& pictures) {
  self.out.clear();
  self.functions.clear();
  for (const PictureWork& picture : pictures) {
    self.out.push_back(picture.out);
    if (picture.programs.has_value()) self.functions.push_back(picture.programs->functions);
  }
}

void run(PyJob& self, const std::vector<PictureWork>& pictures) {
  self.job->check_idle("Job.run");
  std::vector<Planned> plans = planned(*self.job, pictures, functions_of(pictures));
  keep(self, pictures);
  self.job->run(std::move(plans));
}

}  // namespace fl::bind
