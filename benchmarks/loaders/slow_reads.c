// Loaded before libc (LD_PRELOAD) by `python -m benchmarks storage`: reads of some files take as long as over a network.
//
// SLOW_MATCH: a part of the paths that are meant. SLOW_US: "BASE JITTER", microseconds before a file's first byte (read at its beginning, or
// any pread, which is how samples inside of large files are read); the jitter is uniform, and the same for the same file and place.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void wait_for(int fd, off_t at) {
  char link[64], path[4096];
  const char *match = getenv("SLOW_MATCH"), *how = getenv("SLOW_US");
  const int saved = errno;
  long base = 0, jitter = 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t size = readlink(link, path, sizeof path - 1);
  errno = saved;
  if (size < 0 || match == NULL || how == NULL) return;
  path[size] = 0;
  if (strstr(path, match) == NULL || sscanf(how, "%ld %ld", &base, &jitter) != 2) return;
  unsigned mixed = 2166136261u ^ (unsigned)at;
  for (ssize_t i = 0; i < size; ++i) mixed = (mixed ^ (unsigned char)path[i]) * 16777619u;
  const long us = base + (jitter > 0 ? (long)(mixed >> 8) % jitter : 0);
  struct timespec left = {us / 1000000, us % 1000000 * 1000};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
  errno = saved;
}

ssize_t read(int fd, void *data, size_t length) {
  static ssize_t (*next)(int, void *, size_t);
  if (next == NULL) next = dlsym(RTLD_NEXT, "read");
  const int saved = errno;
  if (lseek(fd, 0, SEEK_CUR) == 0) wait_for(fd, 0);
  errno = saved;
  return next(fd, data, length);
}

ssize_t pread(int fd, void *data, size_t length, off_t at) {
  static ssize_t (*next)(int, void *, size_t, off_t);
  if (next == NULL) next = dlsym(RTLD_NEXT, "pread");
  wait_for(fd, at);
  return next(fd, data, length, at);
}

ssize_t pread64(int fd, void *data, size_t length, off_t at) { return pread(fd, data, length, at); }
