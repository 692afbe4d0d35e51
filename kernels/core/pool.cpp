// One mutex and one queue: a task takes about a millisecond, so fairness is worth more than a lock-free queue.
#include "core/pool.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

namespace fl {
namespace {

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

}  // namespace

Pool::Pool(int threads) : process_(getpid()), threads_(threads) {
  const SignalsBlocked blocked;
  for (int i = 0; i < threads; ++i) workers_.push_back(std::make_unique<Worker>());
  try {
    for (int i = 0; i < threads; ++i) {
      crew_.emplace_back(&Pool::loop, this, std::ref(*workers_[i]));
      pthread_setname_np(crew_.back().native_handle(), ("fastload-" + std::to_string(i)).c_str());
    }
  } catch (...) {
    close();
    throw;
  }
}

std::shared_ptr<Pool> Pool::make(int threads) {
  // In a child of fork the threads do not exist and the mutex may be locked for ever: the child forgets the pool.
  return {new Pool(threads), [](Pool* pool) {
            if (!pool->forked()) delete pool;
          }};
}

Pool::~Pool() { close(); }

bool Pool::forked() const { return getpid() != process_; }

void Pool::check_process() const {
  if (!forked()) return;
  throw std::runtime_error("Pool: made in process " + std::to_string(process_) + ", used in its child " +
                           std::to_string(getpid()) + "; make a new Pool after fork");
}

void Pool::submit(Work& work, int64_t tasks) { put({&work, 0, tasks}, false); }

void Pool::go_on(Work& work, int64_t tasks) { put({&work, 0, tasks}, true); }

void Pool::put(const Ticket& ticket, bool first) {
  check_process();
  {
    const std::lock_guard lock(mutex_);
    if (closed_) throw std::runtime_error("Pool: closed");
    queue_.insert(first ? queue_.begin() : queue_.end(), ticket);
  }
  more_.notify_all();
}

void Pool::cancel(Work& work) {
  int64_t dropped = 0;
  {
    const std::lock_guard lock(mutex_);
    for (const Ticket& ticket : queue_)
      if (ticket.work == &work) dropped += ticket.end - ticket.next;
    std::erase_if(queue_, [&](const Ticket& ticket) { return ticket.work == &work; });
  }
  if (dropped > 0) work.finished(dropped, true);
}

bool Pool::claim(Claim& claim) {
  if (queue_.empty()) return false;
  Ticket& oldest = queue_.front();
  claim = {oldest.work, oldest.next++};
  if (oldest.next == oldest.end) queue_.pop_front();
  return true;
}

void Pool::loop(Worker& worker) {
  std::unique_lock lock(mutex_);
  for (Claim now; true;) {
    more_.wait(lock, [&] { return closed_ || !queue_.empty(); });
    if (!claim(now)) return;  // closed
    lock.unlock();
    now.work->run(now.task, worker);
    worker.trim();
    now.work->finished(1, false);
    lock.lock();
  }
}

bool Pool::help() {
  Claim now;
  {
    const std::lock_guard lock(mutex_);
    if (threads_ > 0 || !claim(now)) return false;
  }
  Worker& worker = borrow();
  now.work->run(now.task, worker);
  worker.trim();
  give_back(worker);
  now.work->finished(1, false);
  return true;
}

Worker& Pool::borrow() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) {
    workers_.push_back(std::make_unique<Worker>());
    return *workers_.back();
  }
  Worker& worker = *idle_.back();
  idle_.pop_back();
  return worker;
}

void Pool::give_back(Worker& worker) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(&worker);
}

void Pool::background(std::function<void()> call) {
  check_process();
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  calls_.push_back(std::move(call));
  if (!background_.joinable()) {
    const SignalsBlocked blocked;
    background_ = std::thread(&Pool::loop_background, this);
  }
  more_background_.notify_one();
}

void Pool::loop_background() {
  std::unique_lock lock(mutex_);
  while (true) {
    more_background_.wait(lock, [&] { return closed_ || !calls_.empty(); });
    if (closed_) return;
    const std::function<void()> call = std::move(calls_.front());
    calls_.pop_front();
    lock.unlock();
    call();
    lock.lock();
  }
}

void Pool::close() {
  if (forked()) return;
  std::deque<Ticket> dropped;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    dropped.swap(queue_);
  }
  for (const Ticket& ticket : dropped) ticket.work->finished(ticket.end - ticket.next, true);
  more_.notify_all();
  more_background_.notify_all();
  for (std::thread& thread : crew_) thread.join();
  crew_.clear();
  if (background_.joinable()) background_.join();
}

std::array<Pool::Total, kStages> Pool::stats() const {
  check_process();
  std::array<Total, kStages> totals{};
  const std::lock_guard lock(mutex_);
  for (const auto& worker : workers_) {
    for (int i = 0; i < kStages; ++i) {
      const StageStats::Row& row = worker->stats.rows[i];
      totals[i].samples += row.samples.load(std::memory_order_relaxed);
      totals[i].wall_ns += row.wall_ns.load(std::memory_order_relaxed);
      totals[i].cpu_ns += row.cpu_ns.load(std::memory_order_relaxed);
    }
  }
  return totals;
}

std::array<int64_t, kWays> Pool::ways() const {
  check_process();
  std::array<int64_t, kWays> totals{};
  const std::lock_guard lock(mutex_);
  for (const auto& worker : workers_)
    for (int i = 0; i < kWays; ++i) totals[i] += worker->stats.ways[i].load(std::memory_order_relaxed);
  return totals;
}

}  // namespace fl
