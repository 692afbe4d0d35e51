// One mutex and one queue: a task takes about a millisecond, so fairness is worth more than a
// lock-free queue.
//
// A work hands in a range of tasks as one ticket; threads take them from the oldest ticket that
// suits them, one by one, or several where they are short.
//
// Readers read as long as reads wait. Where files lie in memory, waking readers would only take
// cores from other threads, so the threads that decode read there.
#include "engine/pool.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/system.h"

namespace fl {
namespace {

using Clock = std::chrono::steady_clock;

// A task takes milliseconds, the largest image that is allowed a second or two: more means that a
// read hangs.
constexpr std::chrono::milliseconds kStuck{1000};
constexpr std::chrono::milliseconds kLook{20};  // how often a wait looks for that
constexpr int64_t kWary = 256;                  // reads that readers do after one that has waited

}  // namespace

Pool::Pool(int threads, int readers)
    : process_(os::process()),
      threads_(threads),
      readers_(threads > 0 ? readers : 0),
      reads_left_(kWary),
      running_(threads_ + readers_) {
  const os::SignalsBlocked blocked;
  room::most();               // made now: tasks must not fail at it
  room::be_ready_to_throw();  // without threads, tasks run in this one
  const int all = threads_ + readers_;
  for (int i = 0; i < all; ++i) workers_.push_back(std::make_unique<Worker>());
  try {
    for (int i = 0; i < all; ++i) {
      crew_.emplace_back(&Pool::loop, this, i);
      count_thread();
      os::name_thread(crew_.back(), name(i));
    }
  } catch (...) {
    close();
    throw;
  }
}

std::string Pool::name(int thread) const {
  return thread < threads_ ? "fastload-" + std::to_string(thread)
                           : "fastload-r" + std::to_string(thread - threads_);
}

std::shared_ptr<Pool> Pool::make(int threads, int readers) {
  // In a child of fork the threads do not exist and the mutex may be locked for ever: the child
  // forgets the pool.
  return {new Pool(threads, readers), [](Pool* pool) {
            if (!pool->forked()) delete pool;
          }};
}

Pool::~Pool() { close(); }

bool Pool::forked() const { return os::process() != process_; }

void Pool::check_process() const {
  if (!forked()) return;
  throw std::runtime_error("Pool: made in process " + std::to_string(process_) +
                           ", used in its child " + std::to_string(os::process()) +
                           "; make a new Pool after fork");
}

void Pool::submit(Work& work, int64_t tasks, bool reads, int64_t together) {
  put({&work, 0, tasks, together, reads}, Place::kLast);
}

void Pool::go_on(Work& work, int64_t tasks) { put({&work, 0, tasks, 1, false}, Place::kFirst); }

void Pool::go_on_before_reads(Work& work, int64_t tasks, int64_t together) {
  put({&work, 0, tasks, together, false}, Place::kBeforeReads);
}

void Pool::put(const Ticket& ticket, Place place) {
  check_process();
  limited_ = room::limited();
  bool for_readers = false;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) throw std::runtime_error("Pool: closed");
    auto at = place == Place::kFirst ? queue_.begin() : queue_.end();
    if (place == Place::kBeforeReads)
      at = std::find_if(queue_.begin(), at, [](const Ticket& it) { return it.reads; });
    queue_.insert(at, ticket);
    for_readers = ticket.reads && reads_wait();
  }
  // One: whoever takes a task and leaves others behind wakes the next (loop).
  more_.notify_one();
  if (for_readers) more_reads_.notify_one();
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

bool Pool::claim(Claim& claim, bool reader) {
  const bool apart = reads_wait();
  if (reader && !apart) return false;
  auto oldest = std::find_if(queue_.begin(), queue_.end(),
                             [&](const Ticket& it) { return !apart || it.reads == reader; });
  if (oldest == queue_.end() && !reader) oldest = queue_.begin();
  if (oldest == queue_.end()) return false;
  const int64_t first = oldest->next;
  oldest->next = std::min(oldest->end, first + oldest->together);
  claim = {oldest->work, first, oldest->next, Clock::now(), oldest->reads};
  if (oldest->next == oldest->end) queue_.erase(oldest);
  claim.others = !queue_.empty();
  return true;
}

void Pool::loop(int thread) {
  room::be_ready_to_throw();
  if (thread < threads_) os::give_way();
  Worker& worker = *workers_[thread];
  Claim& now = running_[thread];
  const bool reader = thread >= threads_;
  std::condition_variable& more = reader ? more_reads_ : more_;
  std::unique_lock lock(mutex_);
  while (true) {
    bool claimed = false;
    const auto frees = [&] { return !reader && !left_.empty(); };
    more.wait(lock, [&] { return (claimed = claim(now, reader)) || closed_ || frees(); });
    std::vector<std::shared_ptr<void>> over;
    if (frees()) over.swap(left_);
    if (!claimed && over.empty()) return end_of_thread();
    lock.unlock();
    if (claimed && now.others) more.notify_one();
    over.clear();
    if (!claimed) {
      lock.lock();
      continue;
    }
    run(now, worker);
    lock.lock();
    Work& work = *std::exchange(now.work, nullptr);
    lock.unlock();
    work.finished(now.end - now.task, false);
    lock.lock();
  }
}

void Pool::count_thread() {
  const std::lock_guard lock(mutex_);
  ++alive_;
}

bool Pool::claim_here(Claim& now) {
  const std::lock_guard lock(mutex_);
  return claim(now, false);
}

void Pool::end_of_thread() {
  --alive_;
  ended_.notify_all();
}

// What reads waits for nobody: it needs little memory, and may take long.
void Pool::run(const Claim& now, Worker& worker) {
  const room::Task task(limited_ && !now.reads);
  const int64_t waits = worker.waits;
  for (int64_t task = now.task; task < now.end; ++task) now.work->run(task, worker);
  worker.trim();
  if (now.reads && readers_ > 0) note_read(worker.waits > waits);
}

// Without the lock: what a thread misses of it costs a moment.
void Pool::note_read(bool waited) {
  if (!waited && reads_left_ > 0) --reads_left_;
  if (waited && reads_left_.exchange(kWary) <= 0) more_reads_.notify_one();
}

bool Pool::help() {
  if (threads_ > 0) return false;
  Worker& worker = borrow();  // first: it may find no memory
  Claim now;
  const bool claimed = claim_here(now);
  if (claimed) run(now, worker);
  give_back(worker);
  if (!claimed) return false;
  now.work->finished(now.end - now.task, false);
  return true;
}

Worker& Pool::borrow() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) {
    idle_.reserve(workers_.size() + 1);  // so that giving back needs no memory
    workers_.push_back(std::make_unique<Worker>());
    return *workers_.back();
  }
  Worker& worker = *idle_.back();
  idle_.pop_back();
  return worker;
}

void Pool::give_back(Worker& worker) noexcept {
  const std::lock_guard lock(mutex_);
  idle_.push_back(&worker);
}

void Pool::leave(std::shared_ptr<void> over) {
  if (threads_ == 0) return;
  {
    const std::lock_guard lock(mutex_);
    left_.push_back(std::move(over));
  }
  more_.notify_one();
}

void Pool::background(std::function<void()> call) {
  check_process();
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  calls_.push_back(std::move(call));
  if (!background_.joinable()) {
    const os::SignalsBlocked blocked;
    background_ = std::thread(&Pool::loop_background, this);
    ++alive_;
  }
  more_background_.notify_one();
}

void Pool::loop_background() {
  room::be_ready_to_throw();
  std::unique_lock lock(mutex_);
  while (true) {
    more_background_.wait(lock, [&] { return closed_ || !calls_.empty(); });
    if (closed_) return end_of_thread();
    const std::function<void()> call = std::move(calls_.front());
    calls_.pop_front();
    calling_since_ = Clock::now();
    lock.unlock();
    call();
    lock.lock();
    calling_since_ = {};
  }
}

bool Pool::all_stuck() const {
  const auto limit = Clock::now() - kStuck;
  const auto is = [&](Clock::time_point since) { return since < limit; };
  int count = calling_since_ != Clock::time_point{} && is(calling_since_);
  for (const Claim& it : running_) count += it.work != nullptr && is(it.since);
  return count == alive_;
}

bool Pool::close() {
  if (forked()) return true;
  std::vector<Ticket> dropped;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    dropped.swap(queue_);
  }
  for (const Ticket& ticket : dropped) ticket.work->finished(ticket.end - ticket.next, true);
  more_.notify_all();
  more_reads_.notify_all();
  more_background_.notify_all();
  {
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, kLook, [&] { return alive_ == 0; }))
      if (all_stuck()) return false;
  }
  for (std::thread& thread : crew_) thread.join();
  crew_.clear();
  if (background_.joinable()) background_.join();
  return true;
}

bool Pool::stuck(const Work& work) const {
  const std::lock_guard lock(mutex_);
  const auto limit = Clock::now() - kStuck;
  return std::any_of(running_.begin(), running_.end(),
                     [&](const Claim& it) { return it.work == &work && it.since < limit; });
}

}  // namespace fl
