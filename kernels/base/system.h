// What the engine asks of the operating system. system_posix.cpp has it for Linux and macOS,
// system_windows.cpp for Windows; everything else in kernels/ is the same on all of them.
//
// Calls that can fail return -1 or nullptr and leave the reason in errno.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>

namespace fl::os {

#ifdef __linux__
constexpr bool kProc = true;  // there is /proc
#else
constexpr bool kProc = false;
#endif

// A function of the C library that this process runs with; nullptr: not found.
void* c_function(const char* name) noexcept;

int64_t process() noexcept;  // this process's number; a child of fork has another one

// --- Threads ---

void name_thread(std::thread& thread, const std::string& name);  // where a thread may name another
void give_way() noexcept;  // the calling thread, to others that want its core
int64_t thread_cpu_ns() noexcept;
// How often the calling thread has waited for something, a disk or a lock; -1: the system does not
// tell.
int64_t thread_waits() noexcept;

// Signals belong to Python's main thread. Threads made meanwhile get none.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  alignas(16) unsigned char before_[128];  // the mask
};

// --- Memory ---

// Whole pages, zero, which the system gets back at once when they are given back.
void* map_pages(size_t bytes) noexcept;
void unmap_pages(void* memory, size_t bytes) noexcept;
// Of the heap, uninitialised; bytes: a multiple of align.
void* heap(size_t align, size_t bytes) noexcept;
void free_heap(void* memory) noexcept;
bool memory_limited() noexcept;  // whether a limit of the process may refuse memory

// --- Files: descriptors, which the processes that this one starts do not get ---

enum class Kind { kFile, kFolder, kPipe, kOther };
struct Facts {
  Kind kind = Kind::kOther;
  int64_t size = 0;  // bytes
};

// Never waits, as a named pipe would have it. through_link: false refuses a link.
int open_to_read(const std::string& path, bool through_link = true);
// A new file of this name for this user alone, locked as long as it is open, from before it has
// its name on.
int create_locked(const std::string& path);
int open_memory(const char* name);  // a file that nobody else sees
int duplicate(int file);
void close(int file);
void remove(const std::string& path);
int make_folder(const std::string& path);  // for this user alone
int facts_of(int file, Facts& out);
int truncate(int file, int64_t size);
// Bytes read or written, often fewer than asked for. Threads may share the descriptor.
int64_t read_at(int file, void* out, int64_t size, int64_t at);
int64_t write_at(int file, const void* from, int64_t size, int64_t at);

// Advice, which may do nothing.
bool in_memory(int file,
               int64_t at);  // whether this byte can be read without waiting; false: unknown
void will_read(int file, int64_t at, int64_t size);      // size 0: up to the end
void start_writing(int file, int64_t at, int64_t size);  // to the disk

}  // namespace fl::os
