// class Pool: the threads that read and make samples. How a batch is handed to them: start.cpp.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <new>
#include <system_error>

#include "base/error.h"
#include "bind/job.h"
#include "bind/paths.h"
#include "engine/calls.h"

namespace fl::bind {
namespace {

using namespace nb::literals;

constexpr int kMaxThreads = 1024;

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
