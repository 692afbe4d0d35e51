// Linux and macOS. Calls that a signal interrupts are made again.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <sys/uio.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/system.h"

namespace fl::os {
namespace {

template <class Call>
auto again(const Call& call) {
  auto got = call();
  while (got < 0 && errno == EINTR) got = call();
  return got;
}

#ifdef __linux__
bool strict_accounting() {
  static const bool strict = [] {
    int mode = '0';
    if (std::FILE* file = std::fopen("/proc/sys/vm/overcommit_memory", "re")) {
      mode = std::fgetc(file);
      std::fclose(file);
    }
    return mode == '2';
  }();
  return strict;
}

int64_t voluntary_switches() {
  rusage use{};
  return ::getrusage(RUSAGE_THREAD, &use) == 0 ? use.ru_nvcsw : -1;
}

// Kernels of some containers count nothing.
bool switches_are_counted() {
  static const bool counted = [] {
    const int64_t before = voluntary_switches();
    const timespec moment{0, 1};
    ::nanosleep(&moment, nullptr);
    return before >= 0 && voluntary_switches() > before;
  }();
  return counted;
}
#endif

}  // namespace

void* c_function(const char* name) noexcept { return ::dlsym(RTLD_DEFAULT, name); }

int64_t process() noexcept { return ::getpid(); }

void name_thread([[maybe_unused]] std::thread& thread, [[maybe_unused]] const std::string& name) {
#ifdef __linux__  // elsewhere only a thread itself may
  ::pthread_setname_np(thread.native_handle(), name.c_str());
#endif
}

// The thread that feeds the GPU must not wait for a decoder's time slice where there are as many
// threads as cores.
void give_way() noexcept {
#ifdef __linux__  // where a thread has a niceness of its own
  constexpr int kNicer = 10;
  const auto thread = static_cast<id_t>(::syscall(SYS_gettid));
  ::setpriority(
      PRIO_PROCESS, thread,
      std::min(19, ::getpriority(PRIO_PROCESS, thread) + kNicer));  // if it may not: as before
#endif
}

int64_t thread_cpu_ns() noexcept {
  timespec time;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
}

int64_t thread_waits() noexcept {
#ifdef __linux__
  return switches_are_counted() ? voluntary_switches() : -1;
#else
  return -1;
#endif
}

SignalsBlocked::SignalsBlocked() {
  static_assert(sizeof(sigset_t) <= sizeof before_);
  sigset_t all;
  sigfillset(&all);  // a macro on macOS
  ::pthread_sigmask(SIG_SETMASK, &all, new (before_) sigset_t);
}

SignalsBlocked::~SignalsBlocked() {
  ::pthread_sigmask(SIG_SETMASK, std::launder(reinterpret_cast<sigset_t*>(before_)), nullptr);
}

void* map_pages(size_t bytes) noexcept {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

void unmap_pages(void* memory, size_t bytes) noexcept { ::munmap(memory, bytes); }

void* heap(size_t align, size_t bytes) noexcept { return std::aligned_alloc(align, bytes); }

void free_heap(void* memory) noexcept { std::free(memory); }

bool memory_limited() noexcept {
  for (const auto which : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    if (::getrlimit(which, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) return true;
  }
#ifdef __linux__
  return strict_accounting();
#else
  return false;
#endif
}

int open_to_read(const std::string& path, bool through_link) {
  const int flags = O_RDONLY | O_CLOEXEC | (through_link ? 0 : O_NOFOLLOW);
  int wait = O_NONBLOCK;  // a named pipe would be waited for until somebody writes
  while (true) {
    const int file = again([&] { return ::open(path.c_str(), flags | wait); });
    if (file >= 0 || errno != EAGAIN || wait == 0) return file;
    wait = 0;  // a file that another machine holds a lease on
  }
}

int create_locked(const std::string& path) {
  const std::string before = path + ".new";
  const int file = ::open(before.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return -1;
  if (::flock(file, LOCK_EX | LOCK_NB) == 0 && ::rename(before.c_str(), path.c_str()) == 0)
    return file;
  const int code = errno;
  ::close(file);
  ::unlink(before.c_str());
  errno = code;
  return -1;
}

int open_memory([[maybe_unused]] const char* name) {
#ifdef __linux__
  return ::memfd_create(name, MFD_CLOEXEC);
#else  // a file of the disk's, whose name is gone at once
  const char* const said = std::getenv("TMPDIR");
  const std::string folder = said == nullptr || *said == '\0' ? P_tmpdir : said;
  std::string path = folder + "/fastload.XXXXXX";  // mkstemp's own pattern
  const int file = ::mkstemp(path.data());
  if (file < 0) return -1;
  ::unlink(path.c_str());
  ::fcntl(file, F_SETFD, FD_CLOEXEC);
  return file;
#endif
}

int duplicate(int file) { return ::fcntl(file, F_DUPFD_CLOEXEC, 0); }

void close(int file) { ::close(file); }

void remove(const std::string& path) { ::unlink(path.c_str()); }

int make_folder(const std::string& path) { return ::mkdir(path.c_str(), 0700); }

int facts_of(int file, Facts& out) {
  struct stat facts;
  if (::fstat(file, &facts) != 0) return -1;
  out.kind = S_ISREG(facts.st_mode)    ? Kind::kFile
             : S_ISDIR(facts.st_mode)  ? Kind::kFolder
             : S_ISFIFO(facts.st_mode) ? Kind::kPipe
                                       : Kind::kOther;
  out.size = facts.st_size;
  return 0;
}

int truncate(int file, int64_t size) { return ::ftruncate(file, size); }

int64_t read_at(int file, void* out, int64_t size, int64_t at) {
  return again([&] { return ::pread(file, out, static_cast<size_t>(size), at); });
}

int64_t write_at(int file, const void* from, int64_t size, int64_t at) {
  return again([&] { return ::pwrite(file, from, static_cast<size_t>(size), at); });
}

// A quarter of what advice costs that has nothing to do. preadv2 with RWF_NOWAIT returns EAGAIN
// where the page is not there.
bool in_memory([[maybe_unused]] int file, [[maybe_unused]] int64_t at) {
#ifdef RWF_NOWAIT
  char byte;
  const iovec to{&byte, 1};
  return ::preadv2(file, &to, 1, at, RWF_NOWAIT) == 1;
#else
  return false;
#endif
}

void will_read(int file, int64_t at, int64_t size) {
#ifdef __linux__
  ::posix_fadvise(file, at, size, POSIX_FADV_WILLNEED);
#else
  constexpr int64_t kMost = int64_t{1} << 30;  // what the call's count holds
  radvisory what{at, static_cast<int>(size == 0 ? kMost : std::min(size, kMost))};
  ::fcntl(file, F_RDADVISE, &what);
#endif
}

// A hint: fsync tells what fails.
void start_writing([[maybe_unused]] int file, [[maybe_unused]] int64_t at,
                   [[maybe_unused]] int64_t size) {
#ifdef __linux__
  ::sync_file_range(file, at, size, SYNC_FILE_RANGE_WRITE);
#endif
}

}  // namespace fl::os
