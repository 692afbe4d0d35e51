// Writer and reader of the log of seek indexes. A log may be read while another process still
// writes it, and may end anywhere; it may also be a file that somebody else put there. So lengths
// are bounded before memory is taken, every record is proved by its hash, and reading stops at the
// first that is not right. No link and no pipe is followed.
#include "engine/seek_log.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/reader.h"
#include "base/system.h"
#include "simd/hash.h"

namespace fl {
namespace {

constexpr char kMagic[] = "FASTSEEK";  // as every file of indexes, which a log may become
constexpr uint32_t kVersion = 1;
// Bytes of a record before its path: XXH3 of what follows it in the record, …
constexpr int64_t kFixed = 32;
constexpr size_t kRead = 4 << 20;  // bytes at a time
// What a record may say that it has: a path has up to 4 KiB; an index of the largest image, with an
// entry for each MCU, half of that.
constexpr int64_t kLongestPath = 1 << 16, kLongestIndex = 1 << 28;

void number(std::vector<uint8_t>& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

uint64_t u64(Reader& in, size_t at) { return in.u32(at) | uint64_t{in.u32(at + 4)} << 32; }

// A window that moves through a file. Not mapped: the writer may cut a record off that it could not
// finish.
class Window {
 public:
  explicit Window(const std::string& path) : path_(path) {
    fd_ = os::open_to_read(path, false);
    os::Facts facts;
    if (fd_ < 0 || os::facts_of(fd_, facts) != 0) fail();
    size_ = facts.kind == os::Kind::kFile ? facts.size : 0;
  }
  ~Window() {
    if (fd_ >= 0) os::close(fd_);
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  // Fewer than `count` at the end of the file. Valid until the next call.
  std::span<const uint8_t> at(int64_t offset, int64_t count) {
    count = std::max<int64_t>(0, std::min(count, size_ - offset));
    if (offset < begin_ || offset + count > begin_ + static_cast<int64_t>(bytes_.size()))
      load(offset, count);
    return std::span<const uint8_t>(bytes_).subspan(offset - begin_, count);
  }
  int64_t size() const { return size_; }

 private:
  void load(int64_t offset, int64_t count) {
    const int64_t wanted = std::min(std::max<int64_t>(count, kRead), size_ - offset);
    bytes_.resize(wanted);
    begin_ = offset;
    for (int64_t done = 0; done < wanted;) {
      const int64_t got = os::read_at(fd_, bytes_.data() + done, wanted - done, offset + done);
      if (got < 0) fail();
      if (got == 0) {  // shorter than it was
        size_ = offset + done;
        std::fill(bytes_.begin() + done, bytes_.end(), uint8_t{0});
        return;
      }
      done += got;
    }
  }
  [[noreturn]] void fail() {
    const int code = errno;
    if (fd_ >= 0) os::close(fd_);
    fd_ = -1;
    throw FileError(code, path_, std::strerror(code));
  }

  const std::string path_;
  int fd_ = -1;
  int64_t size_ = 0, begin_ = 0;
  std::vector<uint8_t> bytes_;
};

// Where the record at `at` ends; 0: it is not whole.
int64_t read_record(Window& file, int64_t at, LogRecord& out) {
  const auto fixed = file.at(at, kFixed);
  if (fixed.size() < static_cast<size_t>(kFixed)) return 0;
  Reader in(fixed, false);
  const uint64_t hash = u64(in, 0), row = u64(in, 16), file_size = u64(in, 24);
  const int64_t path_size = in.u32(8), size = in.u32(12), whole = kFixed + path_size + size;
  if (path_size > kLongestPath || size > kLongestIndex || whole > file.size() - at) return 0;
  const auto bytes = file.at(at, whole);
  if (bytes.size() < static_cast<size_t>(whole) || xxh3(bytes.subspan(8)) != hash) return 0;
  if (row > INT64_MAX || file_size > INT64_MAX) return 0;
  out = {static_cast<int64_t>(row),
         static_cast<int64_t>(file_size),
         at + kFixed,
         path_size,
         size == 0 ? 0 : at + kFixed + path_size,
         size};
  return at + whole;
}

}  // namespace

void write_log_header(std::vector<uint8_t>& out, int step, uint64_t names) {
  for (int i = 0; i < 8; ++i) out.push_back(static_cast<uint8_t>(kMagic[i]));
  number(out, kVersion, 4);
  number(out, static_cast<uint64_t>(step), 4);
  number(out, names, 8);
}

// Layout: u64 hash, u32 path size, u32 index size, u64 row, u64 file size, then the path and the
// index. All little-endian.
int64_t write_log_record(std::vector<uint8_t>& out, int64_t row, int64_t file_size,
                         const std::string& path, std::span<const uint8_t> index) {
  const size_t start = out.size();
  number(out, 0, 8);
  number(out, path.size(), 4);
  number(out, index.size(), 4);
  number(out, static_cast<uint64_t>(row), 8);
  number(out, static_cast<uint64_t>(file_size), 8);
  out.insert(out.end(), path.begin(), path.end());
  out.insert(out.end(), index.begin(), index.end());
  const uint64_t hash = xxh3(std::span(out).subspan(start + 8));
  for (int i = 0; i < 8; ++i) out[start + i] = static_cast<uint8_t>(hash >> (8 * i));
  return kFixed + static_cast<int64_t>(path.size());
}

LogPart read_log(const std::string& path, int64_t from) {
  Window file(path);
  LogPart out;
  const auto head = file.at(0, kLogHeader);
  Reader in(head, false);
  if (head.size() < static_cast<size_t>(kLogHeader) || !in.starts_with(kMagic, 8) ||
      in.u32(8) != kVersion)
    return out;
  out.names = u64(in, 16);
  out.end = from < kLogHeader || from > file.size() ? kLogHeader : from;
  LogRecord record;
  for (int64_t next; (next = read_record(file, out.end, record)) != 0; out.end = next)
    out.records.push_back(record);
  return out;
}

}  // namespace fl
