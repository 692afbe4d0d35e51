// A log that cannot be written any more keeps what it has; the next records go to memory.
//
// A record is written whole or cut off again, and carries its own hash, so a reader can stop at any
// byte. Locks are held while a record is written: a few KB to the page cache, never fsync. Errors
// end the collecting, never the sample.
#include "engine/collector.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <limits>

#include "base/system.h"
#include "engine/seek_log.h"
#include "jpeg/seek.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace fl {
namespace {

bool write_all(int fd, std::span<const uint8_t> bytes, int64_t at) {
  for (size_t done = 0; done < bytes.size();) {
    const int64_t got =
        os::write_at(fd, bytes.data() + done, static_cast<int64_t>(bytes.size() - done),
                     at + static_cast<int64_t>(done));
    if (got == 0) errno = ENOSPC;
    if (got <= 0) return false;
    done += got;
  }
  return true;
}

// The folder and those above it that are missing, for this user alone; false with errno.
bool make_private(const std::filesystem::path& folder) {
  std::filesystem::path above;
  int refused = 0;  // that one may not be made where it is there already is no reason
  for (const auto& part : folder) {
    above /= part;
    if (os::make_folder(above.string()) == 0 || errno == EEXIST || errno == EISDIR) continue;
    if (errno != EROFS && errno != EACCES && refused == 0) return false;
    if (refused == 0) refused = errno;
  }
  std::error_code error;
  if (std::filesystem::is_directory(folder, error)) return true;
  errno = refused != 0 ? refused : error ? error.value() : ENOTDIR;
  return false;
}

}  // namespace

Collector::Collector(std::shared_ptr<const Files> files, std::string root, std::string folder,
                     int64_t most_memory)
    : process_(os::process()),
      files_(std::move(files)),
      root_(std::move(root)),
      folder_(std::move(folder)),
      most_memory_(most_memory),
      on_disk_(!folder_.empty()) {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for (int64_t row = 0; row < files_->count(); ++row) {  // as seek.names_hash in Python
    const std::string path = name(row);
    if (row > 0) XXH3_64bits_update(&state, "", 1);
    XXH3_64bits_update(&state, path.data(), path.size());
  }
  names_ = XXH3_64bits_digest(&state);
}

Collector::~Collector() {
  for (const Log& log : logs_)
    if (log.fd >= 0) os::close(log.fd);
}

std::string Collector::name(int64_t row) const {
  const std::string& path = files_->path(row);
  return path.starts_with(root_) ? path.substr(root_.size()) : path;
}

bool Collector::wants(int64_t row, size_t file_size, bool refused) const {
  const std::lock_guard lock(mutex_);
  // A fork's child would write into its parent's log
  if (full_ || os::process() != process_) return false;
  return refused || slots_.empty() || slots_[row].file_size != file_size;
}

void Collector::add(int64_t row, size_t file_size, std::span<const uint8_t> index) noexcept {
  const std::lock_guard lock(mutex_);
  constexpr size_t kMost = std::numeric_limits<uint32_t>::max();
  if (full_ || os::process() != process_ || file_size == 0 || file_size > kMost ||
      index.size() > kMost)
    return;
  try {
    if (slots_.empty()) slots_.resize(files_->count());
    record_.clear();
    const int64_t inside =
        write_log_record(record_, row, static_cast<int64_t>(file_size), name(row), index);
    if (!append(record_) && !append(record_)) {  // again: in memory
      full_ = true;
      return;
    }
    const int64_t start = logs_.back().end - static_cast<int64_t>(record_.size());
    slots_[row] = {start + inside, static_cast<uint32_t>(index.size()),
                   static_cast<uint32_t>(file_size), static_cast<uint32_t>(logs_.size() - 1)};
    ++count_;
  } catch (const std::exception&) {  // no memory
    full_ = true;
  }
}

// By pwrite at the known end, so a half record is overwritten by the next one.
bool Collector::append(std::span<const uint8_t> record) {
  if (!open_ && !open_log()) return false;
  Log& log = logs_.back();
  const auto size = static_cast<int64_t>(record.size());
  if (log.path.empty() && log.end + size > most_memory_) return false;
  if (write_all(log.fd, record, log.end)) {
    log.end += size;
    return true;
  }
  const int code = errno;
  // A reader finds the half record out by its hash
  if (os::truncate(log.fd, log.end) != 0) errno = 0;
  if (!log.path.empty()) leave_disk(code);
  return false;
}

void Collector::leave_disk(int code) {
  problem_ = folder_ + ": cannot be written (" + std::strerror(code) + ")";
  on_disk_ = open_ = false;
}

bool Collector::open_log() {
  Log log;
  log.fd = on_disk_ ? create(log.path) : os::open_memory("fastload-seek");
  std::vector<uint8_t> header;
  write_log_header(header, jpeg::kDefaultStep, names_);
  if (log.fd < 0 || !write_all(log.fd, header, 0)) {
    const int code = errno;
    if (log.fd >= 0) os::close(log.fd);
    if (on_disk_) {
      if (log.fd >= 0) os::remove(log.path);
      leave_disk(code);
    }
    return false;
  }
  log.end = static_cast<int64_t>(header.size());
  logs_.push_back(std::move(log));
  return open_ = true;
}

// A file of a new name, locked before it has it: as long as it is locked, its writer lives. -1 with
// errno.
int Collector::create(std::string& path) {
  if (!make_private(folder_)) return -1;
  const auto now = std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch());
  constexpr int64_t kSecond = 1'000'000'000;
  path = folder_ + "/fastload.seek." + std::to_string(os::process()) + "-" +
         std::to_string(now.count() / kSecond) + "-" + std::to_string(now.count() % kSecond) +
         ".log";
  return os::create_locked(path);
}

std::vector<Collector::Entry> Collector::entries() const {
  const std::lock_guard lock(mutex_);
  std::vector<Entry> out;
  for (size_t row = 0; row < slots_.size(); ++row) {
    const Slot& it = slots_[row];
    if (it.file_size > 0)
      out.push_back({static_cast<int64_t>(row), it.log, it.offset, it.size, it.file_size});
  }
  return out;
}

int64_t Collector::count() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

std::string Collector::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

void Collector::seal() {
  const std::lock_guard lock(mutex_);
  if (open_ && !logs_.back().path.empty()) open_ = false;
}

std::vector<std::string> Collector::logs() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> out;
  for (const Log& log : logs_) out.push_back(log.fd >= 0 ? log.path : "");
  return out;
}

// The numbers of logs never change; a log that is forgotten leaves a gap.
void Collector::forget(int64_t log) {
  const std::lock_guard lock(mutex_);
  if (log < 0 || log >= static_cast<int64_t>(logs_.size()) || logs_[log].fd < 0) return;
  if (open_ && log == static_cast<int64_t>(logs_.size()) - 1) open_ = false;
  os::close(logs_[log].fd);
  logs_[log].fd = -1;
  for (Slot& slot : slots_)
    if (slot.file_size > 0 && slot.log == log) slot = {};
}

std::shared_ptr<const Files> Collector::open_logs(std::vector<std::string> paths) const {
  const std::lock_guard lock(mutex_);
  std::vector<int> opened(paths.size(), -1);
  for (const Log& log : logs_) {
    paths.push_back(log.path.empty() ? "seek indexes in memory" : log.path);
    opened.push_back(log.fd < 0 ? -1 : os::duplicate(log.fd));
  }
  return std::make_shared<const Files>(std::move(paths), opened);
}

}  // namespace fl
