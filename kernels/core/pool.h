// Threads that run per-sample tasks, first in first out. It knows nothing of images: a Work has numbered tasks.
#pragma once

#include <sys/types.h>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/buffers.h"
#include "core/worker.h"

namespace fl {

class Work {
 public:
  virtual ~Work() = default;
  virtual void run(int64_t task, Worker& worker) noexcept = 0;
  virtual void finished(int64_t tasks, bool cancelled) noexcept = 0;  // after this many were run, or never will be
};

class Pool {
 public:
  static std::shared_ptr<Pool> make(int threads);  // 0: tasks run in help()
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  int threads() const { return threads_; }
  const std::shared_ptr<BufferList>& buffers() const { return buffers_; }

  void submit(Work& work, int64_t tasks);       // throws std::runtime_error once the pool is closed
  void go_on(Work& work, int64_t tasks);        // the same, before all others: the work has waited its turn already
  void cancel(Work& work);                      // what has not begun is never run
  bool help();                                  // threads=0: run the oldest task; false: there is none
  void background(std::function<void()> call);  // in order, in one thread of its own
  Worker& borrow();                             // for a thread that is none of the pool's
  void give_back(Worker& worker);
  void close();  // cancel all, wait for what runs, end the threads

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
    int64_t next, end;
  };
  struct Claim {
    Work* work;
    int64_t task;
  };

  explicit Pool(int threads);
  void put(const Ticket& ticket, bool first);
  bool claim(Claim& claim);  // with mutex_ held
  void loop(Worker& worker);
  void loop_background();

  const pid_t process_;
  const int threads_;
  std::shared_ptr<BufferList> buffers_ = std::make_shared<BufferList>();

  mutable std::mutex mutex_;
  std::condition_variable more_, more_background_;
  std::deque<Ticket> queue_;
  std::deque<std::function<void()>> calls_;
  bool closed_ = false;

  std::vector<std::unique_ptr<Worker>> workers_;  // the threads', and as many as others ever had at once
  std::vector<Worker*> idle_;                     // that others may have
  std::vector<std::thread> crew_;
  std::thread background_;
};

}  // namespace fl
