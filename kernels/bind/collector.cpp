// class Collector, and what reads its logs.
//
// Records come out as int64 arrays, whose columns fastload/_native.pyi names.
#include "bind/collector.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include "base/error.h"
#include "bind/paths.h"
#include "engine/seek_log.h"

namespace fl::bind {
namespace {

using namespace nb::literals;

// Records as int64 [K, columns].
template <class Record>
nb::object table(const std::vector<Record>& records) {
  constexpr size_t kColumns = sizeof(Record) / sizeof(int64_t);
  static_assert(sizeof(Record) == kColumns * sizeof(int64_t));
  std::vector<int64_t> values(records.size() * kColumns);
  if (!records.empty()) std::memcpy(values.data(), records.data(), records.size() * sizeof(Record));
  return to_numpy<int64_t, 2>(values, {records.size(), kColumns});
}

nb::object entries(const PyCollector& self) {
  std::vector<Collector::Entry> out;
  {
    const nb::gil_scoped_release unlocked;
    out = self.collector->entries();
  }
  return table(out);
}

nb::tuple read(const FsPath& path, int64_t from) {
  LogPart part;
  {
    const nb::gil_scoped_release unlocked;
    part = read_log(path.bytes, from);
  }
  return nb::make_tuple(part.names, part.end, table(part.records));
}

void make(PyCollector* self, const PyFiles& files, FsPath root, FsPath folder,
          int64_t most_memory) {
  if (most_memory < 0)
    refuse("Collector", "most_memory", std::to_string(most_memory), "0 or more bytes");
  const nb::gil_scoped_release unlocked;
  new (self) PyCollector{std::make_shared<Collector>(files.files, std::move(root.bytes),
                                                     std::move(folder.bytes), most_memory)};
}

}  // namespace

void bind_collector(nb::module_& m) {
  m.def("read_seek_log", &read, "path"_a, "start"_a);
  nb::class_<PyCollector>(m, "Collector", nb::is_final())
      .def("__init__", &make, "files"_a, "root"_a, "folder"_a, "most_memory"_a)
      .def_prop_ro("count", [](const PyCollector& self) { return self.collector->count(); })
      .def_prop_ro("names", [](const PyCollector& self) { return self.collector->names(); })
      .def_prop_ro("problem",
                   [](const PyCollector& self) { return readable(self.collector->problem()); })
      .def("entries", &entries)
      .def("seal", [](const PyCollector& self) { self.collector->seal(); })
      .def("logs",
           [](const PyCollector& self) {
             std::vector<FsPath> out;
             for (std::string& path : self.collector->logs()) out.push_back({std::move(path)});
             return out;
           })
      .def(
          "forget", [](const PyCollector& self, int64_t log) { self.collector->forget(log); },
          "log"_a)
      .def(
          "open_logs",
          [](const PyCollector& self, std::vector<FsPath> paths) {
            return PyFiles{self.collector->open_logs(to_bytes(std::move(paths)))};
          },
          "paths"_a);
}

}  // namespace fl::bind
