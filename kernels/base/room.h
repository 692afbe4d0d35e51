// How much more memory this process may take. What takes a lot asks first, waits where others have
// it, and leaves room for small allocations: Python, Pillow and torch handle missing memory in
// their own ways, and some end the process.
//
// All of it belongs to the process, as the limits do.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace fl::room {

constexpr size_t kMargin = size_t{64} << 20;  // bytes that large allocations leave …
constexpr size_t kLeast = size_t{16} << 20;   // … and without which nothing is begun
// Bytes that a thread may take for an image unasked, and may keep
constexpr size_t kShare = size_t{64} << 20;

// Whether limits of the process (RLIMIT_AS, RLIMIT_DATA) or strict accounting may refuse memory.
bool limited() noexcept;
// Whether `bytes` more can be had, beside the margin and what foreign code was promised.
bool fits(size_t bytes, size_t margin = kMargin) noexcept;
// As `fits`; where foreign code has been promised memory, waits until that is over. Throws
// std::bad_alloc.
void admit(size_t bytes, size_t margin = kMargin);
void admit_small(size_t bytes);  // of many small allocations: looks once in a while

// Gives this thread what it needs to throw. The C++ library takes that at a thread's first
// exception, and the dynamic linker ends the process where there is no memory for it.
void be_ready_to_throw() noexcept;

// What all claims of the process may add up to; one alone may be larger. 0: only tells.
size_t most(size_t bytes = 0);
// Folders of the control groups that may limit this process's memory.
void set_groups(std::vector<std::string> folders);
// Bytes that the machine and these groups have left, caches that can be dropped included; SIZE_MAX
// where unknown.
size_t available();

// Memory for one image: claims are granted in the order in which they were asked for.
class Claim {
 public:
  Claim() = default;
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  ~Claim() { drop(); }

  // Waits until all claims are within the limit with this one, or there is no other. Throws
  // std::bad_alloc where the process or the machine has less than that. foreign: by code that must
  // not be left without memory; where there is little, no task of a pool runs meanwhile.
  void take(size_t bytes, bool foreign = false);
  void drop() noexcept;
  size_t bytes() const { return bytes_; }

 private:
  void* of_ = nullptr;  // the process that has granted it: a child of fork has not
  size_t bytes_ = 0;
  bool foreign_ = false, alone_ = false;
};

// A task of a pool runs. `asked`: whether there are limits; else nothing is done.
class Task {
 public:
  explicit Task(bool asked);
  ~Task();
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

 private:
  const bool asked_;
};

}  // namespace fl::room
