// Pages of Parquet. The input is four bytes of choices and a page. What is found lies in it, and
// unpacks by itself to the bytes that it has when the whole page is unpacked.
#include "parquet/page.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "base/system.h"
#include "fuzz/check.h"
#include "parquet/snappy.h"

namespace fl::fuzz {
namespace {

constexpr uint64_t kMostUnpacked = 1 << 18;  // bytes

// A file in memory that only this process sees.
struct InMemory {
  explicit InMemory(Bytes bytes) : file(os::open_memory("fuzz")) {
    want(file >= 0 && os::write_at(file, bytes.data(), static_cast<int64_t>(bytes.size()), 0) ==
                          static_cast<int64_t>(bytes.size()),
         "no file in memory");
  }
  ~InMemory() { os::close(file); }
  int file;
};

// Each value by itself, against the page as a whole.
void compare(Bytes page, Bytes elements, Bytes whole, const parquet::Found& found) {
  int64_t total = 0;
  for (const parquet::Value& it : found.values) total += it.size;
  want(total <= static_cast<int64_t>(whole.size()), "values are larger than the page");
  for (const parquet::Value& it : found.values) {
    if (it.size == 0) continue;
    const auto size = static_cast<int64_t>(page.size());
    want(it.start >= 0 && it.length > 0 && it.length <= size - it.start, "a value leaves the page");
    const uint8_t* start = page.data() + it.start;
    if (it.skip < 0) {
      want(it.length == it.size, "a plain value of another size");
      want(std::search(whole.begin(), whole.end(), start, start + it.size) != whole.end(),
           "a plain value has other bytes");
      continue;
    }
    want(start >= elements.data(), "a value begins before the elements");
    std::vector<uint8_t> out(it.skip + it.size);
    want(snappy::unpack({start, static_cast<size_t>(it.length)}, out), "a value does not unpack");
    want(std::search(whole.begin(), whole.end(), out.begin(), out.end()) != whole.end(),
         "a value unpacks to other bytes");
  }
}

void run(Bytes input) {
  if (input.size() < 4) return;
  const uint8_t* choices = input.data();
  const Bytes page = input.subspan(4);
  const bool packed = choices[0] & 1, indices = choices[0] & 2, second = choices[0] & 4;
  const int64_t levels = second ? std::min<int64_t>(choices[3], page.size()) : -1;
  const Bytes data = page.subspan(std::max<int64_t>(levels, 0));
  uint64_t unpacked = data.size();
  const size_t head = packed ? snappy::unpacked_size(data, unpacked) : 0;
  if (unpacked > kMostUnpacked) return;
  const InMemory held(page);
  const parquet::Page said{0,
                           static_cast<int64_t>(page.size()),
                           static_cast<int64_t>(unpacked) + std::max<int64_t>(levels, 0),
                           choices[1],
                           choices[2] % 4,
                           levels,
                           packed,
                           indices};
  parquet::Found found;
  try {
    found = parquet::look(held.file, said);
  } catch (const std::invalid_argument&) {
    return;
  }
  if (found.missing >= 0) return want(found.missing < said.values, "a missing value of none");
  want((indices ? found.indices.size() : found.values.size()) == choices[1], "other values");
  std::vector<uint8_t> whole(unpacked);
  if (packed)
    want(snappy::unpack(data.subspan(head), whole), "the page does not unpack");
  else
    std::copy(data.begin(), data.end(), whole.begin());
  compare(page, data.subspan(head), whole, found);
}

}  // namespace
}  // namespace fl::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fl::fuzz::run({data, size});
  return 0;
}
