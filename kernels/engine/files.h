// The files that samples live in, read with pread so that threads share descriptors.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/packed.h"

namespace fl {

constexpr int64_t kToEnd = -1;  // size: up to the end of the file
// Bytes of an encoded sample that is read before its turn
constexpr int64_t kMostAhead = int64_t{64} << 20;
constexpr int64_t kMaxSample = int64_t{1} << 31;  // bytes; more is a mistake, not an image

struct Location {
  int64_t file = 0;
  int64_t offset = 0;     // bytes
  int64_t size = kToEnd;  // bytes
};

// Thread-safe: reads carry their own offset (pread), so threads share a descriptor.
class Files {
 public:
  // keep_open: a descriptor is opened at its first use and kept (few large files), else per read
  // (many small ones). packed: their packed samples, behind the files' ends.
  Files(std::vector<std::string> paths, bool keep_open, PackedList packed = {});
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
    const Opened opened(*this, location.file);
    if (packed_.holds(location.file, location.offset)) {
      const Packed& it = packed_at(location);
      const int64_t size =
          location.size == kToEnd ? it.at + it.size - location.offset : location.size;
      unpack(opened.fd, it, location.offset - it.at, size, room(size));
      return size;
    }
    const int64_t size = length(opened.fd, location);
    fill(opened.fd, location, size, room(size));
    return size;
  }

  // Where in the file the bytes are that are read for this location. Throws FileError.
  Location place(const Location& location) const;
  const PackedList& packed() const { return packed_; }

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

  int kept(int64_t file) const;
  int64_t length(int fd, const Location& location) const;
  void fill(int fd, const Location& location, int64_t size, uint8_t* out) const;
  const Packed& packed_at(const Location& location) const;
  // `size` bytes of a packed sample, from `inside` on.
  void unpack(int fd, const Packed& it, int64_t inside, int64_t size, uint8_t* out) const;
  [[noreturn]] void fail(int64_t file, int code) const;

  std::vector<std::string> paths_;
  PackedList packed_;
  std::unique_ptr<std::atomic<int>[]> descriptors_;  // -1: not open yet; null: not kept
};

}  // namespace fl
