// class Pool: the threads that read and make samples, and how a batch is handed to them.
//
// Arrays of locations are checked entry by entry before a job begins, so that the engine indexes
// files without a look. `fetch` starts reading and returns at once.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <new>
#include <system_error>

#include "base/error.h"
#include "bind/collector.h"
#include "bind/job.h"
#include "bind/paths.h"
#include "engine/calls.h"

namespace fl::bind {
namespace {

using namespace nb::literals;

constexpr int kMaxThreads = 1024;

std::string item(const char* where, const char* array, int64_t n) {
  return std::string(where) + ": " + array + "[" + std::to_string(n) + "]";
}

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

// (files, file, offset, size), as `each`: the samples' own locations, or those of their seek
// indexes.
std::shared_ptr<const Files> set_locations(const char* where, const nb::tuple& source,
                                           Location Sample::*each, std::vector<Sample>& samples) {
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
  for (int64_t n = 0; n < count; ++n) {
    const int64_t height = sizes[2 * n], width = sizes[2 * n + 1];
    if (height == 0 && width == 0) continue;
    const std::string where = item("Pool.fetch", "raw", n),
                      got = std::to_string(height) + "x" + std::to_string(width);
    if (checked_bytes) refuse(where, "checksum", "one", "none: raw pixels are read in part");
    if (height < 1 || width < 1 || height > kMaxPixels / width)
      refuse(where, "size", got, "1.." + std::to_string(kMaxPixels) + " px");
    if (samples[n].location.size != height * width * kChannels)
      refuse(where, "bytes", std::to_string(samples[n].location.size) + " for " + got + " px",
             std::to_string(height * width * kChannels));
    samples[n].raw_height = static_cast<int>(height);
    samples[n].raw_width = static_cast<int>(width);
  }
}

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

// Read-ahead is a wish: if there is no memory or no thread for it, nothing is said.
void advise(const PyPool& self, const PyFiles& files, const Input& file, const Input& offset,
            const Input& size) {
  std::vector<Location> list = parse_locations("Pool.advise", files, file, offset, size);
  try {
    self.pool->background([list = std::move(list), from = files.files] {
      for (const Location& location : list) from->advise(location);
    });
  } catch (const std::bad_alloc&) {     // advice only
  } catch (const std::system_error&) {  // no thread for it
  }
}

nb::dict stats(const PyPool& self) {
  const auto totals = self.pool->stats();
  nb::dict out;
  for (int i = 0; i < kStages; ++i)
    out[kStageNames[i]] = nb::make_tuple(totals[i].samples, totals[i].wall_ns, totals[i].cpu_ns);
  return out;
}

nb::dict ways(const PyPool& self) {
  const auto totals = self.pool->ways();
  nb::dict out;
  for (int i = 0; i < kWays; ++i) out[kWayNames[i]] = totals[i];
  return out;
}

nb::list running(const PyPool& self) {
  nb::list out;
  for (const Pool::Running& it : self.pool->running())
    out.append(nb::make_tuple(it.thread, readable(it.what.c_str()), it.seconds));
  return out;
}

}  // namespace

PyPool::~PyPool() {
  if (pool == nullptr) return;
  const nb::gil_scoped_release unlocked;  // running tasks may take a while
  // Never freed where a thread is still in it.
  while (!pool->close() && new (std::nothrow) std::shared_ptr<Pool>(pool) == nullptr) {
  }
  pool.reset();
}

void bind_pool(nb::module_& m) {
  nb::dict calls;
  calls["make_sample"] = reinterpret_cast<uintptr_t>(&fastload_make_sample);
  calls["give_pixels"] = reinterpret_cast<uintptr_t>(&fastload_give_pixels);
  m.attr("CALLS") = calls;
  nb::class_<PyPool>(m, "Pool", nb::is_final())
      .def(
          "__init__",
          [](PyPool* self, int64_t threads, int64_t readers) {
            for (const auto& [what, count] : {std::pair{"threads", threads}, {"readers", readers}})
              if (count < 0 || count > kMaxThreads)
                refuse("Pool", what, std::to_string(count), "0.." + std::to_string(kMaxThreads));
            new (self) PyPool{Pool::make(static_cast<int>(threads), static_cast<int>(readers))};
          },
          "threads"_a, "readers"_a = 0)
      .def_prop_ro("threads", [](const PyPool& self) { return self.pool->threads(); })
      .def("fetch", &fetch, "files"_a, "file"_a.noconvert(), "offset"_a.noconvert(),
           "size"_a.noconvert(), "checksum"_a.noconvert().none(), nb::kw_only(),
           "seek"_a = nb::none(), "collect"_a = nb::none(), "raw"_a.noconvert() = nb::none())
      .def("lend", &lend, "sizes"_a.noconvert(), "locations"_a = nb::none(), "seek"_a = nb::none(),
           "raw"_a.noconvert() = nb::none())
      .def("advise", &advise, "files"_a, "file"_a.noconvert(), "offset"_a.noconvert(),
           "size"_a.noconvert())
      .def_prop_ro("forked", [](const PyPool& self) { return self.pool->forked(); })
      .def("running", &running)
      .def("stats", &stats)
      .def("ways", &ways);
}

}  // namespace fl::bind
