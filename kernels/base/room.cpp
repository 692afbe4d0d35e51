// One mutex: it is taken for images of many megapixels and for foreign decoders, never for ordinary
// ones.
//
// The design: memory is asked for before it is taken. Without limits (no RLIMIT_AS or RLIMIT_DATA,
// no strict accounting) a question costs two system calls, and the answer is yes. With limits,
// whether memory can be had is tried by mapping it, since only the kernel knows what all parts of
// the process have taken.
#include "base/room.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "base/system.h"

namespace fl::room {
namespace {

// Bytes from which on the machine's memory is looked at
constexpr size_t kLarge = size_t{256} << 20;
// Bytes beyond four times the need: nobody has to stand still
constexpr size_t kPlenty = size_t{1} << 30;
constexpr size_t kLookAfter = size_t{4} << 20;  // bytes of small allocations between two looks

// What all threads of this process share. Numbers without a comment are bytes.
struct State {
  const int64_t process = os::process();
  std::mutex mutex;
  std::condition_variable changed;
  size_t most = size_t{2} << 30;
  size_t used = 0;  // by claims
  int claims = 0;
  uint64_t next = 0, served = 0;    // tickets
  int tasks = 0;                    // that run
  bool closed = false;              // for tasks: foreign code works alone
  std::atomic<size_t> promised{0};  // to foreign code
  std::vector<std::string> groups;
};

std::atomic<State*> current{nullptr};
std::atomic<size_t> small{0};

// In a child of fork the parent's threads are gone, with what they have claimed: it begins anew.
State& state() {
  State* last = current.load(std::memory_order_acquire);
  while (last == nullptr || last->process != os::process()) {
    auto* fresh = new State;  // never freed: threads outlive the interpreter
    if (last != nullptr) {
      fresh->most = last->most;
      fresh->groups = last->groups;
    }
    if (current.compare_exchange_strong(last, fresh)) return *fresh;
    delete fresh;
  }
  return *last;
}

// Private pages are counted against the limits when they are mapped, and cost nothing until they
// are touched. So mapping and unmapping asks the question without an effect.
bool mappable(size_t bytes) noexcept {
  void* memory = os::map_pages(bytes);
  if (memory == nullptr) return false;
  os::unmap_pages(memory, bytes);
  return true;
}

size_t promised() noexcept {
  const State* last = current.load(std::memory_order_acquire);
  return last == nullptr ? 0 : last->promised.load(std::memory_order_relaxed);
}

// The number behind `name` at the start of a line; SIZE_MAX if there is none. An empty name: the
// file's first. Not std::ifstream: files of /proc and of control groups are read often, and a
// stream would allocate.
size_t number(const std::string& path, const char* name) {
  if (!os::kProc) return SIZE_MAX;
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return SIZE_MAX;
  char line[256];
  size_t result = SIZE_MAX;
  const size_t length = std::strlen(name);
  while (result == SIZE_MAX && std::fgets(line, sizeof line, file) != nullptr) {
    unsigned long long value = 0;
    if (std::strncmp(line, name, length) == 0 && std::sscanf(line + length, " %llu", &value) == 1)
      result = value;
  }
  std::fclose(file);
  return result;
}

// The names are those of version 2 and of version 1 of control groups.
size_t first_of(const std::string& folder, const char* one, const char* other,
                const char* name = "") {
  const size_t result = number(folder + "/" + one, name);
  return result != SIZE_MAX ? result : number(folder + "/" + other, name);
}

// Of a control group, version 2 or 1. Pages of files do not count: they are given back before the
// limit is enforced.
size_t left_in(const std::string& folder) {
  const size_t limit = first_of(folder, "memory.max", "memory.limit_in_bytes");
  const size_t used = first_of(folder, "memory.current", "memory.usage_in_bytes");
  if (limit >= SIZE_MAX / 16 || used == SIZE_MAX) return SIZE_MAX;
  size_t dropped = 0;
  for (const char* name : {"inactive_file", "active_file"}) {
    const size_t bytes = number(folder + "/memory.stat", name);
    if (bytes != SIZE_MAX) dropped += bytes;
  }
  const size_t held = used > dropped ? used - dropped : 0;
  return limit > held ? limit - held : 0;
}

// Whether claims of so many bytes in all may stand. What some of them have taken already counts
// twice: then it is waited for, as long as there is another claim.
bool possible(size_t bytes) { return fits(bytes) && (bytes < kLarge || bytes <= available()); }

}  // namespace

bool limited() noexcept { return os::memory_limited(); }

bool fits(size_t bytes, size_t margin) noexcept {
  return !limited() || mappable(bytes + promised() + margin);
}

void admit(size_t bytes, size_t margin) {
  if (fits(bytes, margin)) return;
  if (promised() > 0) {
    State& all = state();
    std::unique_lock lock(all.mutex);
    all.changed.wait(lock, [&] { return all.promised.load() == 0; });
  }
  if (!fits(bytes, margin)) throw std::bad_alloc();
}

// Asking each time would cost more than the allocation. So threads count together, and who crosses
// a multiple of kLookAfter looks.
void admit_small(size_t bytes) {
  const size_t before = small.fetch_add(bytes, std::memory_order_relaxed);
  if (before / kLookAfter != (before + bytes) / kLookAfter) admit(0);
}

void be_ready_to_throw() noexcept {
  try {
    throw std::bad_alloc();
  } catch (const std::bad_alloc&) {  // as the first that matters would be
  }
}

size_t most(size_t bytes) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  if (bytes > 0) all.most = bytes;
  return all.most;
}

void set_groups(std::vector<std::string> folders) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  all.groups = std::move(folders);
}

size_t available() {
  size_t least = number("/proc/meminfo", "MemAvailable:");
  if (least != SIZE_MAX) least *= 1024;
  for (const std::string& folder : state().groups) least = std::min(least, left_in(folder));
  return least;
}

// Foreign code that has to work alone closes the pools before it queues: tasks that run may still
// need claims. Tickets keep the order: a large claim is not passed for ever by small ones. A claim
// is granted when all claims together stay within `most` and the memory is there; without any other
// claim, the limit is not asked, since one image may be larger than it. What is refused throws in
// its turn, so those behind it go on.
void Claim::take(size_t bytes, bool foreign) {
  drop();
  State& all = state();
  std::unique_lock lock(all.mutex);
  const bool close = foreign && !fits(4 * bytes + kPlenty);
  if (close) {
    all.changed.wait(lock, [&] { return !all.closed; });
    all.closed = true;
    all.changed.wait(lock, [&] { return all.tasks == 0; });
  }
  const uint64_t ticket = all.next++;
  all.changed.wait(lock, [&] { return all.served == ticket; });
  bool there = false;
  const auto settled = [&] {
    there = (all.claims == 0 || all.used + bytes <= all.most) && possible(all.used + bytes);
    return there || all.claims == 0;
  };
  all.changed.wait(lock, settled);
  ++all.served;
  if (there) {
    of_ = &all;
    bytes_ = bytes;
    foreign_ = foreign;
    alone_ = close;
    all.used += bytes;
    ++all.claims;
    if (foreign) all.promised += bytes;
  } else if (close) {
    all.closed = false;
  }
  all.changed.notify_all();
  if (!there) throw std::bad_alloc();
}

// A child of fork inherits the object, but not the claim: it must not give back what its parent
// holds. So the state that granted it is compared, and its process.
void Claim::drop() noexcept {
  const void* of = std::exchange(of_, nullptr);
  const size_t bytes = std::exchange(bytes_, 0);
  State* all = current.load(std::memory_order_acquire);
  if (of == nullptr || of != all || all->process != os::process()) return;
  const std::lock_guard lock(all->mutex);
  all->used -= bytes;
  --all->claims;
  if (foreign_) all->promised -= bytes;
  if (alone_) all->closed = false;
  all->changed.notify_all();
}

Task::Task(bool asked) : asked_(asked) {
  if (!asked_) return;
  State& all = state();
  std::unique_lock lock(all.mutex);
  all.changed.wait(lock, [&] { return !all.closed; });
  ++all.tasks;
}

Task::~Task() {
  if (!asked_) return;
  State& all = state();
  const std::lock_guard lock(all.mutex);
  --all.tasks;
  all.changed.notify_all();
}

}  // namespace fl::room
