// Seek indexes made while samples are decoded: each goes at once to a log on the disk or, where
// that cannot be written, in memory. Threads add; nobody waits for the disk's platters.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/files.h"

namespace fl {

// Thread-safe. In a child of fork it collects nothing: the log is its parent's.
class Collector {
 public:
  // One row per file. root: what paths begin with, and is left out of records. folder: where logs
  // go; empty: nowhere. most_memory: bytes of logs in memory; then nothing more is collected.
  Collector(std::shared_ptr<const Files> files, std::string root, std::string folder,
            int64_t most_memory);
  ~Collector();
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  // Whether a file of this size, known or `refused` to fit its index, should be added.
  bool wants(int64_t row, size_t file_size, bool refused) const;
  // index empty: this file has none, which is worth knowing too.
  void add(int64_t row, size_t file_size, std::span<const uint8_t> index) noexcept;

  struct Entry {
    int64_t row, log, offset, size, file_size;  // log: number; offset, size, file_size: bytes
  };
  // The last one of each row, of the logs that are not forgotten
  std::vector<Entry> entries() const;
  int64_t rows() const { return files_->count(); }
  int64_t count() const;        // records ever added
  std::string problem() const;  // why logs are in memory; empty: they are not
  uint64_t names() const { return names_; }

  // The next record begins a new log.
  void seal();
  // Paths of the logs by number; empty: in memory, or forgotten.
  std::vector<std::string> logs() const;
  // The log's entries are somewhere else now.
  void forget(int64_t log);
  // `paths` and then the logs, in the order of their numbers, each with a descriptor of its own.
  std::shared_ptr<const Files> open_logs(std::vector<std::string> paths) const;

 private:
  struct Log {
    int fd = -1;
    std::string path;  // empty: in memory
    int64_t end = 0;   // bytes
  };
  struct Slot {
    int64_t offset = 0;
    uint32_t size = 0, file_size = 0;  // bytes; file_size 0: not collected
    uint32_t log = 0;
  };

  std::string name(int64_t row) const;  // the path below root
  bool append(std::span<const uint8_t> record);
  bool open_log();
  int create(std::string& path);
  void leave_disk(int code);

  const int64_t process_;
  const std::shared_ptr<const Files> files_;
  const std::string root_, folder_;
  const int64_t most_memory_;
  uint64_t names_ = 0;

  mutable std::mutex mutex_;
  std::vector<Slot> slots_;  // by row, once there is one
  std::vector<Log> logs_;
  bool open_ = false;  // logs_.back() takes records
  bool on_disk_;
  bool full_ = false;
  int64_t count_ = 0;
  std::vector<uint8_t> record_;
  std::string problem_;
};

}  // namespace fl
