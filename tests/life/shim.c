// Loaded before libc (LD_PRELOAD): makes the system calls on some files fail, stall or take long.
//
// LIFE_SWITCH: a file; faults happen only while it exists, and its first line is the fault: an errno as a number, "stall" (until the
// file is gone), "eintr" (three of four calls), "short" (half of what was asked for), or "slow BASE JITTER" (microseconds per read).
// LIFE_MATCH: a part of the paths that are meant. LIFE_CALLS: of open, read, write; default: all.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static __thread unsigned calls;

static int switched(char *fault, size_t size) {
  const char *path = getenv("LIFE_SWITCH");
  if (path == NULL) return 0;
  int fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t got = syscall(SYS_read, fd, fault, size - 1);
  syscall(SYS_close, fd);
  fault[got < 0 ? 0 : got] = 0;
  return got > 0;
}

static void doze(long us) {
  struct timespec left = {us / 1000000, us % 1000000 * 1000};
  while (syscall(SYS_nanosleep, &left, &left) != 0 && errno == EINTR) {
  }
}

// Whether the call is to fail, with errno; *length may shrink.
static int fails(const char *call, const char *path, size_t *length) {
  char fault[64];
  const char *match = getenv("LIFE_MATCH"), *meant = getenv("LIFE_CALLS");
  if (match == NULL || path == NULL || strstr(path, match) == NULL) return 0;
  if (meant != NULL && strstr(meant, call) == NULL) return 0;
  const int saved = errno;
  if (!switched(fault, sizeof fault)) return errno = saved, 0;
  if (strncmp(fault, "stall", 5) == 0) {
    while (switched(fault, sizeof fault)) doze(5000);
    return errno = saved, 0;
  }
  if (strncmp(fault, "slow", 4) == 0) {
    long base = 0, jitter = 0;
    sscanf(fault + 4, "%ld %ld", &base, &jitter);
    unsigned mixed = 2654435761u * (unsigned)(calls++ + strlen(path) + 31 * path[strlen(path) - 6]);
    if (strcmp(call, "read") == 0) doze(base + (jitter ? mixed % jitter : 0));
    return errno = saved, 0;
  }
  if (strncmp(fault, "eintr", 5) == 0) {
    if (calls++ % 4 == 3) return errno = saved, 0;
    return errno = EINTR, 1;
  }
  if (strncmp(fault, "short", 5) == 0) {
    if (length != NULL && *length > 1) *length /= 2;
    return errno = saved, 0;
  }
  return errno = atoi(fault), 1;
}

static const char *path_of(int fd, char *room, size_t size) {
  char link[64];
  const int saved = errno;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t got = readlink(link, room, size - 1);
  errno = saved;
  if (got < 0) return NULL;
  room[got] = 0;
  return room;
}

#define OPEN(name)                                                                     \
  int name(const char *path, int flags, ...) {                                         \
    static int (*next)(const char *, int, ...);                                        \
    if (next == NULL) next = dlsym(RTLD_NEXT, #name);                                  \
    va_list more;                                                                      \
    va_start(more, flags);                                                             \
    const int mode = va_arg(more, int);                                                \
    va_end(more);                                                                      \
    return fails("open", path, NULL) ? -1 : next(path, flags, mode);                   \
  }
OPEN(open)
OPEN(open64)

#define AT(name, call, pointer)                                                        \
  ssize_t name(int fd, pointer data, size_t length, off_t at) {                        \
    static ssize_t (*next)(int, pointer, size_t, off_t);                               \
    char room[4096];                                                                   \
    if (next == NULL) next = dlsym(RTLD_NEXT, #name);                                  \
    return fails(call, path_of(fd, room, sizeof room), &length) ? -1 : next(fd, data, length, at); \
  }
AT(pread, "read", void *)
AT(pread64, "read", void *)
AT(pwrite, "write", const void *)
AT(pwrite64, "write", const void *)

#define PLAIN(name, pointer)                                                           \
  ssize_t name(int fd, pointer data, size_t length) {                                  \
    static ssize_t (*next)(int, pointer, size_t);                                      \
    char room[4096];                                                                   \
    if (next == NULL) next = dlsym(RTLD_NEXT, #name);                                  \
    return fails(#name, path_of(fd, room, sizeof room), &length) ? -1 : next(fd, data, length); \
  }
PLAIN(read, void *)
PLAIN(write, const void *)

// LIFE_CLOCK: the time of day goes back by an hour at each look, while the switch is there; the monotonic clock cannot.
int clock_gettime(clockid_t clock, struct timespec *out) {
  static int (*next)(clockid_t, struct timespec *);
  static long back;
  char fault[64];
  if (next == NULL) next = dlsym(RTLD_NEXT, "clock_gettime");
  const int result = next(clock, out);
  if (clock == CLOCK_REALTIME && getenv("LIFE_CLOCK") != NULL && switched(fault, sizeof fault)) out->tv_sec -= back += 3600;
  return result;
}
