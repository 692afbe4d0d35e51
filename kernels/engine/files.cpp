// Reads of Files: short ones are continued, errors have path and reason.
#include "engine/files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/scratch.h"
#include "base/system.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace fl {
namespace {

constexpr int64_t kHashed = 1 << 20;             // bytes at a time
constexpr size_t kPackedKept = size_t{2} << 20;  // bytes that a thread keeps for the next sample

}  // namespace

Files::Files(std::vector<std::string> paths, bool keep_open, std::vector<PackedFiles> packed,
             std::vector<ArrayFile> arrays)
    : paths_(std::move(paths)), packed_(std::move(packed)), arrays_(std::move(arrays)) {
  if (!keep_open) return;
  descriptors_ = std::make_unique<std::atomic<int>[]>(paths_.size());
  for (size_t i = 0; i < paths_.size(); ++i) descriptors_[i] = -1;
}

Files::Files(std::vector<std::string> paths, const std::vector<int>& opened)
    : Files(std::move(paths), true) {
  for (size_t i = 0; i < opened.size(); ++i) descriptors_[i] = opened[i];
}

Files::~Files() {
  if (descriptors_ == nullptr) return;
  for (size_t i = 0; i < paths_.size(); ++i)
    if (descriptors_[i] >= 0) os::close(descriptors_[i]);
}

void Files::fail(int64_t file, int code) const {
  throw FileError(code, path(file), std::strerror(code));
}

// Without a lock: two threads may open the file at the same time; one descriptor stays, the other
// is closed.
int Files::kept(int64_t file) const {
  std::atomic<int>& slot = descriptors_[file];
  int fd = slot.load(std::memory_order_acquire);
  if (fd >= 0) return fd;
  const int opened = os::open_to_read(path(file));
  if (opened < 0) fail(file, errno);
  if (slot.compare_exchange_strong(fd, opened)) return opened;
  os::close(opened);  // another thread was first
  return fd;
}

Files::Opened::Opened(const Files& files, int64_t file) : kept(files.descriptors_ != nullptr) {
  fd = kept ? files.kept(file) : os::open_to_read(files.path(file));
  if (fd < 0) files.fail(file, errno);
}

Files::Opened::~Opened() {
  if (!kept) os::close(fd);
}

int64_t Files::length(int fd, const Location& location) const {
  int64_t size = location.size;
  if (size == kToEnd) {
    os::Facts facts;
    if (os::facts_of(fd, facts) != 0) fail(location.file, errno);
    if (facts.kind == os::Kind::kFolder) fail(location.file, EISDIR);
    if (facts.kind == os::Kind::kPipe)
      throw FileError(0, path(location.file), "is a named pipe (want a file)");
    size = facts.size > location.offset ? facts.size - location.offset : 0;
  }
  return bounded(location, size);
}

int64_t Files::bounded(const Location& location, int64_t size) const {
  if (size > kMaxSample)
    throw FileError(0, path(location.file),
                    "a sample of " + std::to_string(size) + " bytes (want at most 2 GiB)");
  return size;
}

int64_t Files::length(const Location& location, int64_t bytes) const {
  const int64_t left = std::max<int64_t>(0, bytes - location.offset);
  const int64_t size = bounded(location, location.size == kToEnd ? left : location.size);
  if (size > left) ends(location, size, bytes);
  return size;
}

void Files::ends(const Location& location, int64_t size, int64_t end) const {
  throw FileError(0, path(location.file),
                  "ends at byte " + std::to_string(end) + " (want bytes " +
                      std::to_string(location.offset) + ".." +
                      std::to_string(location.offset + size) + ")");
}

void Files::fill(int fd, const Location& location, int64_t size, uint8_t* out) const {
  for (int64_t done = 0; done < size;) {
    const int64_t got = os::read_at(fd, out + done, size - done, location.offset + done);
    if (got < 0) fail(location.file, errno);
    if (got == 0) ends(location, size, location.offset + done);
    done += got;
  }
}

Files::Part Files::packed_at(const Location& location) const {
  const auto behind =
      std::upper_bound(packed_.begin(), packed_.end(), location.file,
                       [](int64_t file, const PackedFiles& each) { return file < each.first; });
  Part part{};
  if (behind != packed_.begin()) {
    const PackedFiles& its = *(behind - 1);
    part.inside = location.offset & ((int64_t{1} << kPackedInside) - 1);
    if (its.index->find(location.file - its.first, location.offset, part.of)) {
      const int64_t most = part.of.size - part.inside;
      part.size = location.size == kToEnd ? most : location.size;
      if (most >= 0 && part.size <= most) return part;
    }
  }
  throw FileError(0, path(location.file),
                  "has no packed sample at byte " + std::to_string(location.offset));
}

void Files::unpack(int fd, int64_t file, const Part& part, uint8_t* out) const {
  thread_local Scratch elements;
  const Packed& it = part.of;
  uint8_t* bytes = elements.reserve(it.length);
  fill(fd, {file, it.start, it.length}, it.length, bytes);
  const bool good = fl::unpack({bytes, static_cast<size_t>(it.length)}, it.skip + part.inside,
                               {out, static_cast<size_t>(part.size)});
  elements.trim(kPackedKept);
  if (!good)
    throw FileError(0, path(file),
                    "its bytes " + std::to_string(it.start) + ".." +
                        std::to_string(it.start + it.length) + " are no Snappy data any more");
}

Location Files::place(const Location& location) const {
  if (!is_packed(location)) return location;
  const Packed it = packed_at(location).of;
  return {location.file, it.start, it.length};
}

uint64_t Files::xxh3(int64_t file, int64_t size) const {
  std::vector<uint8_t> bytes(std::min<int64_t>(size, kHashed));
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for (int64_t at = 0; at < size; at += kHashed) {
    const int64_t count = std::min(size - at, kHashed);
    read({file, at, count}, [&](int64_t) { return bytes.data(); });
    XXH3_64bits_update(&state, bytes.data(), count);
  }
  return XXH3_64bits_digest(&state);
}

void Files::advise(const Location& asked) const noexcept {
  if (array_of(asked) != nullptr) return;
  try {
    const Location location = place(asked);
    const Opened opened(*this, location.file);
    // What was read in order is there up to its last byte; where some of it has been dropped since,
    // reading it waits.
    if (location.size > 0 && os::in_memory(opened.fd, location.offset + location.size - 1)) return;
    os::will_read(opened.fd, location.offset, location.size == kToEnd ? 0 : location.size);
  } catch (const std::exception&) {  // advice only
  }
}

}  // namespace fl
