// The files that samples live in, read with pread so that threads share descriptors; arrays in
// memory may stand for some.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/packed.h"
#include "engine/pixel_array.h"

namespace fl {

constexpr int64_t kToEnd = -1;  // size: up to the end of the file
// Bytes of an encoded sample that is read before its turn
constexpr int64_t kMostAhead = int64_t{64} << 20;
constexpr int64_t kMaxSample = int64_t{1} << 31;  // bytes; more is a mistake, not an image

// An array that stands for a file.
struct ArrayFile {
  int64_t file;
  std::shared_ptr<const PixelArray> array;
};

struct Location {
  int64_t file = 0;
  int64_t offset = 0;     // bytes
  int64_t size = kToEnd;  // bytes
};

// Thread-safe: reads carry their own offset (pread), so threads share a descriptor.
class Files {
 public:
  // keep_open: a descriptor is opened at its first use and kept (few large files), else per read
  // (many small ones). packed: indexes of their packed samples, by their first files. arrays: what
  // is read in place of these files, whose paths only name them.
  Files(std::vector<std::string> paths, bool keep_open, std::vector<PackedFiles> packed = {},
        std::vector<ArrayFile> arrays = {});
  // Descriptors that are kept, and closed at the end; -1: to be opened by path. One per path.
  Files(std::vector<std::string> paths, const std::vector<int>& opened);
  ~Files();
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  int64_t count() const { return static_cast<int64_t>(paths_.size()); }
  const std::string& path(int64_t file) const { return paths_[file]; }

  // `room(size)` gives the memory for the bytes. Returns the size. Throws FileError.
  template <class Room>
  int64_t read(const Location& location, Room room) const {
    if (const PixelArray* array = array_of(location)) {
      const int64_t size = length(location, array->size());
      array->read(location.offset, size, room(size));
      return size;
    }
    const Opened opened(*this, location.file);
    if (is_packed(location)) {
      const Part part = packed_at(location);
      unpack(opened.fd, location.file, part, room(part.size));
      return part.size;
    }
    const int64_t size = length(opened.fd, location);
    fill(opened.fd, location, size, room(size));
    return size;
  }

  // The bytes of such a location, as `read` would give them, where they lie in memory; else null.
  // Throws FileError.
  const uint8_t* in_memory(const Location& location) const {
    const PixelArray* array = array_of(location);
    if (array == nullptr) return nullptr;
    length(location, array->size());
    return array->bytes(location.offset);
  }

  // Where in the file the bytes are that are read for this location. Throws FileError.
  Location place(const Location& location) const;
  const std::vector<PackedFiles>& packed() const { return packed_; }
  const std::vector<ArrayFile>& arrays() const { return arrays_; }

  // XXH3 of a file's first bytes, read in parts. Throws FileError.
  uint64_t xxh3(int64_t file, int64_t size) const;

  // Read-ahead; errors are ignored, since the read itself reports them.
  void advise(const Location& asked) const noexcept;

 private:
  struct Opened {
    Opened(const Files& files, int64_t file);
    ~Opened();
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;

    int fd;
    bool kept;
  };

  // `size` bytes of a packed sample, from `inside` on.
  struct Part {
    Packed of;
    int64_t inside, size;
  };

  int kept(int64_t file) const;
  // Null where the file is one.
  const PixelArray* array_of(const Location& location) const {
    for (const ArrayFile& it : arrays_)
      if (it.file == location.file) return it.array.get();
    return nullptr;
  }
  int64_t length(int fd, const Location& location) const;
  // Of a location in so many bytes.
  int64_t length(const Location& location, int64_t bytes) const;
  int64_t bounded(const Location& location, int64_t size) const;
  [[noreturn]] void ends(const Location& location, int64_t size, int64_t end) const;
  void fill(int fd, const Location& location, int64_t size, uint8_t* out) const;
  bool is_packed(const Location& location) const {
    return !packed_.empty() && (location.offset & kPackedBit) != 0;
  }
  Part packed_at(const Location& location) const;
  void unpack(int fd, int64_t file, const Part& part, uint8_t* out) const;
  [[noreturn]] void fail(int64_t file, int code) const;

  std::vector<std::string> paths_;
  std::vector<PackedFiles> packed_;
  std::vector<ArrayFile> arrays_;
  std::unique_ptr<std::atomic<int>[]> descriptors_;  // -1: not open yet; null: not kept
};

}  // namespace fl
