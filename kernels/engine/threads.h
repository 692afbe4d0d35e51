// How the pool's threads begin.
#pragma once

#include <pthread.h>
#include <signal.h>
#ifdef __linux__
#include <sys/resource.h>
#include <sys/syscall.h>
#endif
#include <unistd.h>

#include <algorithm>

namespace fl {

// Signals belong to Python's main thread. New threads inherit the mask.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

// The calling thread gives way to others that want its core: the one that feeds the GPU must not
// wait for a decoder's time slice where there are as many threads as cores.
inline void give_way() {
#ifdef __linux__  // where a thread has a niceness of its own
  constexpr int kNicer = 10;
  const auto thread = static_cast<id_t>(syscall(SYS_gettid));
  setpriority(
      PRIO_PROCESS, thread,
      std::min(19, getpriority(PRIO_PROCESS, thread) + kNicer));  // if it may not: as before
#endif
}

}  // namespace fl
