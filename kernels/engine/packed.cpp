// The rows come from a file that anybody may have written, or from a cache of it: they are checked
// once, and unpacking checks every element.
#include "engine/packed.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/error.h"
#include "base/scratch.h"
#include "engine/files.h"
#include "parquet/snappy.h"

namespace fl {
namespace {

constexpr int64_t kFarthest = int64_t{1} << 62;  // bytes: no file is that long
constexpr size_t kKept = size_t{2} << 20;        // bytes that a thread keeps for the next sample

// Why a row is none; null: it is one. before: the row before it in the same file, or null.
const char* wrong(const Packed& it, const Packed* before) {
  if (it.size < 1 || it.skip < 0 || it.size > kMaxSample || it.skip > kMaxSample - it.size)
    return "size";
  if (it.length < 1 || it.length > kMaxSample || it.start < 0 || it.start > kFarthest)
    return "place";
  if (it.at < 1 || it.at > kFarthest) return "offset";
  if (before != nullptr && it.at < before->at + before->size) return "order";
  return nullptr;
}

}  // namespace

PackedList::PackedList(std::vector<Packed> rows, int64_t files, const char* where)
    : rows_(std::move(rows)) {
  const Packed* before = nullptr;
  for (size_t n = 0; n < rows_.size(); ++n) {
    const Packed& it = rows_[n];
    const char* why = wrong(it, before != nullptr && before->file == it.file ? before : nullptr);
    if (it.file < (before != nullptr ? before->file : 0) || it.file >= files) why = "file";
    if (why != nullptr)
      refuse(std::string(where) + ": packed[" + std::to_string(n) + "]", why, std::to_string(it.at),
             "rows by file and offset, of samples inside of the files");
    before = &it;
  }
  if (rows_.empty()) return;
  first_.assign(files + 1, 0);
  for (const Packed& it : rows_) ++first_[it.file + 1];
  for (int64_t file = 0; file < files; ++file) first_[file + 1] += first_[file];
}

bool PackedList::holds(int64_t file, int64_t offset) const {
  if (first_.empty() || first_[file] == first_[file + 1]) return false;
  return offset >= rows_[first_[file]].at;
}

const Packed* PackedList::find(int64_t file, int64_t offset, int64_t size) const {
  const auto begin = rows_.begin() + first_[file], end = rows_.begin() + first_[file + 1];
  const auto behind =
      std::upper_bound(begin, end, offset, [](int64_t at, const Packed& it) { return at < it.at; });
  if (behind == begin) return nullptr;
  const Packed& it = *(behind - 1);
  const int64_t inside = offset - it.at;
  if (inside >= it.size || (size >= 0 && size > it.size - inside)) return nullptr;
  return &it;
}

bool unpack(std::span<const uint8_t> elements, int64_t skip, std::span<uint8_t> out) {
  if (skip == 0) return snappy::unpack(elements, out);
  thread_local Scratch whole;
  const size_t size = static_cast<size_t>(skip) + out.size();
  uint8_t* bytes = whole.reserve(size);
  const bool good = snappy::unpack(elements, {bytes, size});
  if (good) std::memcpy(out.data(), bytes + skip, out.size());
  whole.trim(kKept);
  return good;
}

}  // namespace fl
