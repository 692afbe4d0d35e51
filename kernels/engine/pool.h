// Threads that run per-sample tasks, first in first out. It knows nothing of images: a Work has
// numbered tasks.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/buffers.h"
#include "engine/worker.h"

namespace fl {

// What a pool runs. `run` and `finished` come from any thread of the pool; after the last
// `finished` the pool does not touch the work again, so it may be destroyed then.
class Work {
 public:
  virtual ~Work() = default;
  virtual void run(int64_t task, Worker& worker) noexcept = 0;
  // After this many were run, or never will be
  virtual void finished(int64_t tasks, bool cancelled) noexcept = 0;
  // Of one that runs: what it does, and to which file
  virtual std::string describe(int64_t task) const = 0;
};

// All calls are thread-safe. Not usable in a child of fork, where it has no threads: check_process
// says so.
class Pool {
 public:
  // threads=0: tasks run in help(). readers: threads that only take tasks that read, as long as
  // reading waits, so that none of the others waits for a disk while it could decode; they read too
  // once nothing else is to be done. Where reading waits for nothing, the others do it in turn.
  static std::shared_ptr<Pool> make(int threads, int readers);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  int threads() const { return threads_; }
  const std::shared_ptr<BufferList>& buffers() const { return buffers_; }

  // Throw std::runtime_error once the pool is closed. together: how many a thread takes at once.
  void submit(Work& work, int64_t tasks, bool reads, int64_t together);
  // Of a work that has waited its turn already: before all others
  void go_on(Work& work, int64_t tasks);
  // … or before all that is only to be read
  void go_on_before_reads(Work& work, int64_t tasks, int64_t together);
  void cancel(Work& work);  // what has not begun is never run
  // threads=0: run the oldest task; false: there is none
  bool help();
  // Freed by the next thread that is free, and not by the caller, whom that would hold up: the
  // memory lies in the cache of who wrote it.
  void leave(std::shared_ptr<void> over);
  void background(std::function<void()> call);  // in order, in one thread of its own
  Worker& borrow();                             // for a thread that is none of the pool's
  void give_back(Worker& worker) noexcept;
  // Cancels all, waits for what runs and ends the threads. Leaves them, and is false, where a task
  // does not end: whoever asked must keep the pool for ever.
  bool close();
  // A task of it, in a thread of the pool, has run for longer than any decode
  bool stuck(const Work& work) const;

  struct Running {
    std::string thread, what;
    double seconds;
  };
  std::vector<Running> running() const;  // what each thread does now; idle ones are left out

  struct Total {
    int64_t samples, wall_ns, cpu_ns;
  };
  std::array<Total, kStages> stats() const;
  std::array<int64_t, kWays> ways() const;

  bool forked() const;         // this process is a child of the pool's: no thread came along
  void check_process() const;  // throws std::runtime_error if forked

 private:
  struct Ticket {
    Work* work;
    int64_t next, end, together;
    bool reads;
  };
  struct Claim {
    Work* work = nullptr;  // null: none
    int64_t task = 0, end = 0;
    std::chrono::steady_clock::time_point since{};
    bool reads = false;
    bool others = false;  // tasks were left in the queue
  };
  enum class Place { kFirst, kBeforeReads, kLast };

  Pool(int threads, int readers);
  void put(const Ticket& ticket, Place place);
  bool claim(Claim& claim, bool reader);  // with mutex_ held
  bool reads_wait() const { return readers_ > 0 && reads_left_ > 0; }
  void note_read(bool waited);
  void run(const Claim& now, Worker& worker);
  void loop(int thread);
  void loop_background();
  bool claim_here(Claim& claim);
  void count_thread();
  void end_of_thread();
  std::string name(int thread) const;
  bool all_stuck() const;  // with mutex_ held: every thread that is left

  const int64_t process_;
  const int threads_, readers_;
  // Whether limits of the process may refuse memory, when work came last
  std::atomic<bool> limited_{false};
  std::shared_ptr<BufferList> buffers_ = std::make_shared<BufferList>();

  mutable std::mutex mutex_;
  std::condition_variable more_, more_reads_, more_background_;
  std::vector<Ticket> queue_;  // a few; closing a pool must need no memory
  std::deque<std::function<void()>> calls_;
  std::vector<std::shared_ptr<void>> left_;  // that nobody needs any more
  bool closed_ = false;
  // Reads that are left to the readers, since one has waited
  std::atomic<int64_t> reads_left_;
  std::vector<Claim> running_;                             // by thread of the crew
  std::chrono::steady_clock::time_point calling_since_{};  // of the background thread; 0: it waits
  int alive_ = 0;                                          // threads that have not ended
  std::condition_variable ended_;

  // The threads', and as many as others ever had at once
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<Worker*> idle_;  // that others may have
  std::vector<std::thread> crew_;
  std::thread background_;
};

}  // namespace fl
