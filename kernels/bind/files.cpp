// class Files; and what a conversion needs to write large ones: a checksum that grows, and the
// disk's early start.
//
// Reading releases the GIL. What fails raises OSError with its errno and path (module.cpp).
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <memory>
#include <new>

#include "base/error.h"
#include "base/system.h"
#include "bind/bind.h"
#include "bind/buffered.h"
#include "bind/paths.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace fl::bind {
namespace {

using namespace nb::literals;

void check_file(const PyFiles& self, int64_t file, const char* where) {
  if (file < 0 || file >= self.files->count()) {
    throw std::out_of_range(std::string(where) + ": no such file (got " + std::to_string(file) +
                            ", want 0.." + std::to_string(self.files->count() - 1) + ")");
  }
}

constexpr size_t kPackedColumns = sizeof(Packed) / sizeof(int64_t);
static_assert(sizeof(Packed) == kPackedColumns * sizeof(int64_t));

PackedList packed_of(const std::optional<Input>& rows, int64_t files) {
  if (!rows) return {};
  check("Files: packed", Facts(*rows), {kAny, kPackedColumns}, nb::dtype<int64_t>());
  std::vector<Packed> out(rows->shape(0));
  if (!out.empty()) std::memcpy(out.data(), rows->data(), out.size() * sizeof(Packed));
  return {std::move(out), files, "Files"};
}

nb::object packed_rows(const PyFiles& self) {
  const std::vector<Packed>& rows = self.files->packed().rows();
  std::vector<int64_t> values(rows.size() * kPackedColumns);
  if (!rows.empty()) std::memcpy(values.data(), rows.data(), rows.size() * sizeof(Packed));
  return to_numpy<int64_t, 2>(values, {rows.size(), kPackedColumns});
}

std::tuple<int64_t, int64_t> place(const PyFiles& self, int64_t file, int64_t offset,
                                   int64_t size) {
  check_file(self, file, "Files.place");
  const Location found = self.files->place({file, offset, size});
  return {found.offset, found.size};
}

nb::bytes read(const PyFiles& self, int64_t file, int64_t offset, int64_t size) {
  check_file(self, file, "Files.read");
  if (offset < 0) refuse("Files.read", "offset", std::to_string(offset), "0 or more");
  if (size < kToEnd) refuse("Files.read", "size", std::to_string(size), "-1 or more");
  std::vector<uint8_t> bytes;
  {
    const nb::gil_scoped_release unlocked;
    self.files->read({file, offset, size}, [&](int64_t length) {
      bytes.resize(length);
      return bytes.data();
    });
  }
  return nb::bytes(bytes.data(), bytes.size());
}

uint64_t hash(const PyFiles& self, int64_t file, int64_t size) {
  check_file(self, file, "Files.xxh3");
  if (size < 0) refuse("Files.xxh3", "size", std::to_string(size), "0 or more");
  const nb::gil_scoped_release unlocked;
  return self.files->xxh3(file, size);
}

struct FreeState {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

// XXH3 of bytes that come one after the other.
class Xxh3 {
 public:
  Xxh3() : state_(XXH3_createState()) {
    if (state_ == nullptr) throw std::bad_alloc();
    XXH3_64bits_reset(state_.get());
  }

  void update(const nb::object& data) {
    const Buffered held(data);
    XXH3_64bits_update(state_.get(), held.bytes().data(), held.bytes().size());
  }

  uint64_t digest() const { return XXH3_64bits_digest(state_.get()); }

 private:
  std::unique_ptr<XXH3_state_t, FreeState> state_;
};

}  // namespace

void bind_files(nb::module_& m) {
  nb::class_<PyFiles>(m, "Files", nb::is_final())
      .def(
          "__init__",
          [](PyFiles* self, std::vector<FsPath> paths, bool keep_open,
             const std::optional<Input>& packed) {
            const auto count = static_cast<int64_t>(paths.size());
            new (self) PyFiles{std::make_shared<const Files>(to_bytes(std::move(paths)), keep_open,
                                                             packed_of(packed, count))};
          },
          "paths"_a, "keep_open"_a, "packed"_a = nb::none())
      .def("__len__", [](const PyFiles& self) { return self.files->count(); })
      .def(
          "path",
          [](const PyFiles& self, int64_t file) {
            check_file(self, file, "Files.path");
            return FsPath{self.files->path(file)};
          },
          "file"_a)
      .def_prop_ro("packed", &packed_rows)
      .def("place", &place, "file"_a, "offset"_a, "size"_a)
      .def("read", &read, "file"_a, "offset"_a, "size"_a)
      .def("xxh3", &hash, "file"_a, "size"_a);
  nb::class_<Xxh3>(m, "Xxh3", nb::is_final())
      .def(nb::init<>())
      .def("update", &Xxh3::update, "data"_a, nb::lock_self())
      .def("digest", &Xxh3::digest, nb::lock_self());
  m.def("start_writing", &os::start_writing, "file"_a, "offset"_a, "size"_a,
        nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace fl::bind
