// class Files; and what a conversion needs to write large ones: a checksum that grows, and the
// disk's early start.
//
// Reading releases the GIL. What fails raises OSError with its errno and path (module.cpp).
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

// Python's PackedIndex, which all Files that read by it share.
struct PyPacked {
  std::shared_ptr<const PackedIndex> index;
};

constexpr size_t kPartColumns = sizeof(PackedIndex::Part) / sizeof(int64_t);
static_assert(sizeof(PackedIndex::Part) == kPartColumns * sizeof(int64_t));

std::shared_ptr<const PackedIndex> packed_index(FsPath where, int file, const Input& rows) {
  check("PackedIndex: parts", Facts(rows), {kAny, kPartColumns}, nb::dtype<int64_t>());
  std::vector<PackedIndex::Part> parts(rows.shape(0));
  if (!parts.empty())
    std::memcpy(parts.data(), rows.data(), parts.size() * sizeof(PackedIndex::Part));
  return std::make_shared<const PackedIndex>(std::move(where.bytes), file, std::move(parts));
}

// Python's PixelArray, which all Files that read it share.
struct PyPixels {
  std::shared_ptr<const PixelArray> array;
};

// A thread of a pool may be the last to have it, even after the interpreter.
void drop(const Input* pixels) {
  if (nb::is_alive()) delete pixels;
}

// uint8 [N, H, W, 3] of any strides.
PyPixels pixel_array(const Input& pixels) {
  const char* what = "PixelArray: pixels";
  const Facts facts(pixels);
  check_strided(what, facts, {kAny, kAny, kAny, kChannels}, nb::dtype<uint8_t>());
  const PixelArray::Shape shape{facts.shape[0], facts.shape[1], facts.shape[2]};
  if (shape.height < 1 || shape.width < 1 || shape.height > kMostGiven / shape.width)
    refuse(what, "size", std::to_string(shape.height) + "x" + std::to_string(shape.width),
           "1.." + std::to_string(kMostGiven) + " px");
  const auto* data = static_cast<const uint8_t*>(pixels.data());
  const auto& strides = facts.strides;  // bytes, of uint8
  return {std::make_shared<const PixelArray>(
      data, shape, std::array{strides[0], strides[1], strides[2], strides[3]},
      std::shared_ptr<const void>(new Input(pixels), &drop))};
}

using ArrayPairs = std::vector<std::tuple<int64_t, PyPixels>>;

std::vector<ArrayFile> arrays_of(const ArrayPairs& pairs, int64_t files) {
  std::vector<ArrayFile> out;
  for (const auto& [file, pixels] : pairs) {
    if (file < 0 || file >= files)
      refuse("Files: arrays[" + std::to_string(out.size()) + "]", "no such file",
             std::to_string(file), "0.." + std::to_string(files - 1));
    out.push_back({file, pixels.array});
  }
  return out;
}

ArrayPairs array_pairs(const PyFiles& self) {
  ArrayPairs out;
  for (const ArrayFile& each : self.files->arrays())
    out.emplace_back(each.file, PyPixels{each.array});
  return out;
}

using PackedPairs = std::vector<std::tuple<int64_t, PyPacked>>;

std::vector<PackedFiles> packed_of(const PackedPairs& pairs, int64_t files) {
  std::vector<PackedFiles> out;
  int64_t end = 0;
  for (const auto& [first, packed] : pairs) {
    if (first < end || packed.index->parts() > files - first)
      refuse("Files: packed[" + std::to_string(out.size()) + "]", "first file",
             std::to_string(first), std::to_string(end) + " or more, and all of its files");
    out.push_back({first, packed.index});
    end = first + packed.index->parts();
  }
  return out;
}

PackedPairs packed_pairs(const PyFiles& self) {
  PackedPairs out;
  for (const PackedFiles& each : self.files->packed())
    out.emplace_back(each.first, PyPacked{each.index});
  return out;
}

nb::bytes unpacked(const nb::object& elements, int64_t skip, int64_t size) {
  if (skip < 0 || size < 0 || skip > kMaxSample || size > kMaxSample - skip)
    refuse("snappy_unpack", "skip and size", std::to_string(skip) + " and " + std::to_string(size),
           "0 or more, 2 GiB together");
  const Buffered held(elements);
  std::vector<uint8_t> bytes(size);
  bool good = false;
  {
    const nb::gil_scoped_release unlocked;
    good = unpack(held.bytes(), skip, bytes);
  }
  if (!good) throw std::invalid_argument("snappy_unpack: elements are damaged; read them again");
  return nb::bytes(bytes.data(), bytes.size());
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
  nb::class_<PyPacked>(m, "PackedIndex", nb::is_final())
      .def(
          "__init__",
          [](PyPacked* self, FsPath where, int file, const Input& parts) {
            new (self) PyPacked{packed_index(std::move(where), file, parts)};
          },
          "where"_a, "file"_a, "parts"_a);
  nb::class_<PyPixels>(m, "PixelArray", nb::is_final())
      .def(
          "__init__",
          [](PyPixels* self, const Input& pixels) { new (self) PyPixels{pixel_array(pixels)}; },
          "pixels"_a.noconvert());
  m.def("snappy_unpack", &unpacked, "elements"_a, "skip"_a, "size"_a);
  nb::class_<PyFiles>(m, "Files", nb::is_final())
      .def(
          "__init__",
          [](PyFiles* self, std::vector<FsPath> paths, bool keep_open, const PackedPairs& packed,
             const ArrayPairs& arrays) {
            const auto count = static_cast<int64_t>(paths.size());
            new (self) PyFiles{std::make_shared<const Files>(to_bytes(std::move(paths)), keep_open,
                                                             packed_of(packed, count),
                                                             arrays_of(arrays, count))};
          },
          "paths"_a, "keep_open"_a, "packed"_a = PackedPairs(), "arrays"_a = ArrayPairs())
      .def("__len__", [](const PyFiles& self) { return self.files->count(); })
      .def(
          "path",
          [](const PyFiles& self, int64_t file) {
            check_file(self, file, "Files.path");
            return FsPath{self.files->path(file)};
          },
          "file"_a)
      .def_prop_ro("packed", &packed_pairs)
      .def_prop_ro("arrays", &array_pairs)
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
