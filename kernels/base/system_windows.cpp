// Windows: built, never run. Paths are UTF-8, as Python's are there. There is no fork, and there
// are no signals that a thread could get.
#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <direct.h>
#include <fcntl.h>
#include <io.h>
#include <malloc.h>
#include <sys/stat.h>
#include <windows.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "base/system.h"

namespace fl::os {
namespace {

std::wstring wide(const std::string& path) {
  const int size = static_cast<int>(path.size());
  std::wstring out(::MultiByteToWideChar(CP_UTF8, 0, path.data(), size, nullptr, 0), L'\0');
  ::MultiByteToWideChar(CP_UTF8, 0, path.data(), size, out.data(), static_cast<int>(out.size()));
  return out;
}

int code_of(DWORD error) {
  switch (error) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
      return ENOENT;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
      return EACCES;
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS:
      return EEXIST;
    case ERROR_TOO_MANY_OPEN_FILES:
      return EMFILE;
    case ERROR_DISK_FULL:
      return ENOSPC;
    default:
      return EIO;
  }
}

int failed() {
  errno = code_of(::GetLastError());
  return -1;
}

HANDLE handle(int file) { return reinterpret_cast<HANDLE>(::_get_osfhandle(file)); }

// What others may do with the file meanwhile: `share`. flags: FILE_FLAG_… and FILE_ATTRIBUTE_….
int open(const std::wstring& path, DWORD access, DWORD share, DWORD how, DWORD flags, int mode) {
  const HANDLE made = ::CreateFileW(path.c_str(), access, share, nullptr, how, flags, nullptr);
  if (made == INVALID_HANDLE_VALUE) return failed();
  const int file = ::_open_osfhandle(reinterpret_cast<intptr_t>(made), mode | _O_BINARY);
  if (file < 0) ::CloseHandle(made);
  return file;
}

// Of read_at and write_at: the place is given with the call, so that threads share the file.
template <class Pointer, class Call>
int64_t move(int file, Pointer bytes, int64_t size, int64_t at, const Call& call) {
  OVERLAPPED place{};
  place.Offset = static_cast<DWORD>(at);
  place.OffsetHigh = static_cast<DWORD>(at >> 32);
  DWORD done = 0;
  const auto count = static_cast<DWORD>(std::min<int64_t>(size, INT_MAX));
  if (call(handle(file), bytes, count, &done, &place)) return done;
  return ::GetLastError() == ERROR_HANDLE_EOF ? 0 : failed();
}

constexpr DWORD kEverybody = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

}  // namespace

void* c_function(const char* name) noexcept {
  const HMODULE library = ::GetModuleHandleW(L"ucrtbase.dll");
  return library ? reinterpret_cast<void*>(::GetProcAddress(library, name)) : nullptr;
}

int64_t process() noexcept { return ::GetCurrentProcessId(); }

void name_thread(std::thread&, const std::string&) {}  // mingw's threads are not the system's

void give_way() noexcept {
  ::SetThreadPriority(::GetCurrentThread(), THREAD_PRIORITY_BELOW_NORMAL);
}

int64_t thread_cpu_ns() noexcept {
  FILETIME begun, ended, system, user;
  if (!::GetThreadTimes(::GetCurrentThread(), &begun, &ended, &system, &user)) return 0;
  const auto ns = [](const FILETIME& time) {
    return 100 * (static_cast<int64_t>(time.dwHighDateTime) << 32 | time.dwLowDateTime);
  };
  return ns(system) + ns(user);
}

int64_t thread_waits() noexcept { return -1; }

SignalsBlocked::SignalsBlocked() : before_{} {
  static_cast<void>(before_);  // there is no mask here, and Clang warns of a field that is not used
}
SignalsBlocked::~SignalsBlocked() = default;

void* map_pages(size_t bytes) noexcept {
  return ::VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

void unmap_pages(void* memory, size_t) noexcept { ::VirtualFree(memory, 0, MEM_RELEASE); }

void* heap(size_t align, size_t bytes) noexcept { return ::_aligned_malloc(bytes, align); }

void free_heap(void* memory) noexcept { ::_aligned_free(memory); }

bool memory_limited() noexcept { return true; }  // what is committed is always counted

int open_to_read(const std::string& path, bool through_link) {
  const DWORD link = through_link ? 0 : FILE_FLAG_OPEN_REPARSE_POINT;
  return open(wide(path), GENERIC_READ, kEverybody, OPEN_EXISTING,
              FILE_ATTRIBUTE_NORMAL | FILE_FLAG_BACKUP_SEMANTICS | link, _O_RDONLY);
}

int create_locked(const std::string& path) {
  return open(wide(path), GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_DELETE,
              CREATE_NEW, FILE_ATTRIBUTE_NORMAL, _O_RDWR);
}

int open_memory(const char*) {
  wchar_t folder[MAX_PATH + 1], path[MAX_PATH + 1];
  if (::GetTempPathW(MAX_PATH, folder) == 0 || ::GetTempFileNameW(folder, L"fl", 0, path) == 0)
    return failed();
  return open(path, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_DELETE, CREATE_ALWAYS,
              FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, _O_RDWR);
}

int duplicate(int file) { return ::_dup(file); }

void close(int file) { ::_close(file); }

void remove(const std::string& path) { ::DeleteFileW(wide(path).c_str()); }

int make_folder(const std::string& path) { return ::_wmkdir(wide(path).c_str()); }

int facts_of(int file, Facts& out) {
  BY_HANDLE_FILE_INFORMATION facts;
  if (!::GetFileInformationByHandle(handle(file), &facts)) return failed();
  const DWORD attributes = facts.dwFileAttributes;
  out.kind = ::GetFileType(handle(file)) == FILE_TYPE_PIPE      ? Kind::kPipe
             : (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0     ? Kind::kFolder
             : (attributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0 ? Kind::kOther
                                                                : Kind::kFile;
  out.size = static_cast<int64_t>(facts.nFileSizeHigh) << 32 | facts.nFileSizeLow;
  return 0;
}

int truncate(int file, int64_t size) { return ::_chsize_s(file, size) == 0 ? 0 : -1; }

int64_t read_at(int file, void* out, int64_t size, int64_t at) {
  return move(file, out, size, at, ::ReadFile);
}

int64_t write_at(int file, const void* from, int64_t size, int64_t at) {
  return move(file, from, size, at, ::WriteFile);
}

bool in_memory(int, int64_t) { return false; }
void will_read(int, int64_t, int64_t) {}
void start_writing(int, int64_t, int64_t) {}

}  // namespace fl::os
