// A log of seek indexes that one process appends to while it loads: records that check themselves,
// so that a kill at any byte leaves a prefix that is good. docs/formats.md tells the layout.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace fl {

constexpr int64_t kLogHeader = 24;  // bytes

struct LogRecord {
  int64_t row = 0;        // of the writer's list of files
  int64_t file_size = 0;  // bytes of the image
  int64_t path_offset = 0, path_size = 0;
  int64_t offset = 0, size = 0;  // of the index, in the log; size 0: this image has none
};

struct LogPart {
  uint64_t names = 0;  // XXH3 of the writer's list of files
  int64_t end = 0;     // byte behind the last good record
  std::vector<LogRecord> records;
};

void write_log_header(std::vector<uint8_t>& out, int step, uint64_t names);

// Appends a record to `out`; returns the index's offset from the record's start.
int64_t write_log_record(std::vector<uint8_t>& out, int64_t row, int64_t file_size,
                         const std::string& path, std::span<const uint8_t> index);

// The good records from byte `from` on (0: from the first); what follows a bad one is not looked
// at. A file that is no log has names 0 and end 0. Throws FileError.
LogPart read_log(const std::string& path, int64_t from);

}  // namespace fl
