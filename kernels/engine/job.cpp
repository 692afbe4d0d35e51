// The job owns all that its tasks touch, and does not end before they do; so tasks hold a plain
// pointer to it.
//
// Phases follow each other: FETCH reads and probes, DRAW (only where the job was told by `then`)
// plans what is made, MAKE decodes to the output, MIX (only with partners) stores what MAKE has
// left as bytes. `left_` counts the tasks of the current phase; whoever finishes the last one
// starts the next phase under the same lock, where Python does not. Samples need no lock: a task
// has one sample, and Python looks at them only when the job is idle.
#include "engine/job.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace fl {
namespace {

// An image of few pixels takes some microseconds, and so would a task and the clocks for it. So a
// thread takes several at once, and one in kTimed is timed, for all.
constexpr int64_t kSmall = 96 * 96;  // px, of the image and of the output
constexpr int64_t kTogether = 16;
constexpr int kTimed = 17;  // not kTogether: else it would always be the first

// Whether that is so of what is made of it. A user's function may take any time.
bool few_steps(const std::vector<Planned>& pictures) {
  const auto& [plans, output] = pictures.front();
  return pictures.size() == 1 && output.pixels() <= kSmall &&
         std::none_of(plans.programs.begin(), plans.programs.end(), [](const augment::Program& it) {
           return std::any_of(it.begin(), it.end(), [](const augment::Instruction& step) {
             return step.code == augment::Code::kCustom;
           });
         });
}

}  // namespace

Job::Job(std::shared_ptr<Pool> pool, Origin origin, std::vector<Sample> samples)
    : pool_(std::move(pool)), origin_(std::move(origin)), samples_(std::move(samples)) {
  for (Sample& sample : samples_)
    if (sample.row >= 0) sample.collector = origin_.collector.get();
}

std::shared_ptr<Job> Job::start(std::shared_ptr<Pool> pool, Origin origin,
                                std::vector<Sample> samples) {
  const std::shared_ptr<Job> job = lend(std::move(pool), std::move(origin), std::move(samples));
  job->lent_ = false;
  bool all = true;
  job->small_ = true;
  for (Sample& sample : job->samples_) {
    all &= fetched(sample, job->origin_);
    job->small_ &= all && int64_t{sample.height} * sample.width <= kSmall;
  }
  job->begin(all ? 0 : job->size());
  return job;
}

Job::~Job() {
  abandon();
  {
    std::unique_lock lock(shared_->mutex);
    shared_->done.wait(lock, [&] { return left_ == 0; });
  }
  using Owned = std::pair<std::vector<Sample>, std::vector<Planned>>;
  try {
    pool_->leave(std::make_shared<Owned>(std::move(samples_), std::move(pictures_)));
  } catch (const std::bad_alloc&) {  // freed here
  }
}

std::string Job::describe(int64_t task) const {
  constexpr const char* kDoing[] = {"reads", "draws for", "makes", "mixes"};
  const int64_t n = phase_ == Phase::kMake ? to_store_[task] : task;
  return std::string(kDoing[static_cast<int>(phase_)]) + " " +
         origin_.files->path(samples_[n].location.file);
}

void Job::begin(int64_t tasks) {
  if (tasks == 0) return pool_->check_process();
  {
    const std::lock_guard lock(shared_->mutex);
    left_ = tasks;
  }
  try {
    pool_->submit(*this, tasks, phase_ == Phase::kFetch, phase_ == Phase::kMake ? together_ : 1);
  } catch (...) {
    const std::lock_guard lock(shared_->mutex);
    left_ = 0;
    throw;
  }
}

void Job::run(std::vector<Planned> pictures) {
  phase_ = Phase::kMake;
  prepare(std::move(pictures));
  running_lent_ = std::exchange(lent_, false);
  if (running_lent_) return;
  begin(static_cast<int64_t>(to_store_.size()));
}

void Job::prepare(std::vector<Planned> pictures) {
  pictures_ = std::move(pictures);
  for (auto& [plans, output] : pictures_)
    output.format.table = plans.table.empty() ? nullptr : plans.table.data();
  if (mixes()) hold_back();
  together_ = small_ && few_steps(pictures_) ? kTogether : 1;
  to_store_.clear();
  for (int64_t n = 0; n < size(); ++n)
    if (samples_[n].status == kOk && !samples_[n].stored && !samples_[n].aside && !samples_[n].late)
      to_store_.push_back(n);
}

void Job::then(Draw draw) {
  const std::lock_guard lock(shared_->mutex);
  draw_ = std::move(draw);
  if (left_ == 0) go_on();
}

// What fails here is left to the owner, who finds the same error and can say it.
void Job::draw() noexcept {
  try {
    if (auto planned = draw_()) {
      prepare(std::move(*planned));
      drawn_ = true;
    }
  } catch (const std::exception&) {
    pictures_.clear();
  }
}

// Partners are mixed from bytes: a quarter of the memory that float32 would take.
void Job::hold_back() {
  Output& output = pictures_.front().output;
  stored_ = output;
  output.format = {nullptr, 1, true};
  const auto bytes = static_cast<size_t>(size() * output.pixels()) * kChannels;
  if (unmixed_.bytes().size() != bytes) unmixed_ = pool_->buffers()->lend(bytes);
  output.out = unmixed_.data();
}

void Job::run(int64_t task, Worker& worker) noexcept {
  switch (phase_) {
    case Phase::kFetch:
      return fetch(samples_[task], origin_, *pool_->buffers(), worker);
    case Phase::kDraw:
      return draw();
    case Phase::kMake:
      make(to_store_[task], worker);
      return note(samples_[to_store_[task]]);
    case Phase::kMix:
      mix(task, worker);
      return note(samples_[task]);
  }
}

void Job::make(int64_t n, Worker& worker) noexcept {
  if (together_ > 1) {
    const Picture picture = pictures_.front().of(n);
    const bool timed = worker.small++ % kTimed == 0;
    return fl::run(samples_[n], {&picture, 1}, worker, timed ? kTimed : 0);
  }
  try {
    std::vector<Picture> pictures;
    pictures.reserve(pictures_.size());
    for (const Planned& picture : pictures_) pictures.push_back(picture.of(n));
    fl::run(samples_[n], pictures, worker);
  } catch (const std::bad_alloc&) {
    out_of_memory(samples_[n]);
  }
}

void Job::mix(int64_t n, Worker& worker) noexcept {
  try {
    Stopwatch watch(worker.stats);
    const Plans& plans = pictures_.front().plans;
    const cpu::Mixture batch{unmixed_.data(),       stored_.kept_height, stored_.kept_width,
                             plans.partners.data(), plans.boxes.data(),  plans.fills.data(),
                             plans.erased,          plans.number};
    cpu::mix(batch, n, stored_.format, stored_.slot(n), worker.pixels, cpu::Target::kBest);
    watch.lap(Stage::kStore, 0);  // MAKE has counted the sample
  } catch (const std::bad_alloc&) {
    out_of_memory(samples_[n]);
  }
}

Picture Planned::of(int64_t n) const {
  const auto list = [n](const std::vector<int32_t>& from, int64_t length) {
    return from.data() + (from.size() > static_cast<size_t>(length) ? n * length : 0);
  };
  Kept kept{};
  if (!plans.rows.empty())
    kept = {list(plans.rows, output.kept_height), list(plans.columns, output.kept_width),
            output.kept_width, output.width};
  const bool noise = !plans.fillings.empty();
  cpu::Boxes erased{plans.boxes.data() + n * plans.erased * 4,
                    plans.fills.data(),
                    plans.erased,
                    noise ? plans.fillings.data() : nullptr,
                    noise ? plans.keys.data() + n * plans.erased : nullptr,
                    plans.noise.data()};
  if (!plans.partners.empty()) erased = {};  // MIX erases
  const augment::Program* program = plans.programs.empty() ? nullptr : &plans.programs[n];
  const cpu::Resampling by{plans.filters.size() > 1 ? plans.filters[n] : plans.filters.front(),
                           plans.order};
  return {{plans.crops[n], by, program, kept, erased, output.slot(n)}, output};
}

// Once the lock is given up, the job may be gone. Who waits is woken after that: else it would wake
// only to wait for the lock.
void Job::finished(int64_t tasks, bool cancelled) noexcept {
  const std::shared_ptr<Shared> shared = shared_;
  bool started = false, done = false;
  {
    const std::lock_guard lock(shared->mutex);
    left_ -= tasks;
    cancelled_ |= cancelled;
    if (left_ == 0) started = go_on();
    done = left_ == 0;
  }
  if (started || done) shared->started.notify_all();
  if (done) shared->done.notify_all();
}

bool Job::all_made() const {
  return std::all_of(samples_.begin(), samples_.end(), [](const Sample& it) { return it.stored; });
}

bool Job::all_read() const {
  return std::all_of(samples_.begin(), samples_.end(),
                     [](const Sample& it) { return it.status == kOk && !it.late; });
}

// With the lock held, after the last task of a phase: the next one, if there is one. True: it makes
// its samples from now on.
bool Job::go_on() noexcept {
  if (phase_ == Phase::kMix) unmixed_ = {};
  if (cancelled_) return false;
  if (phase_ == Phase::kFetch && draw_ && all_read()) go_to(Phase::kDraw, 1);
  if (phase_ == Phase::kDraw && left_ == 0) {
    draw_ = nullptr;
    if (!drawn_) return false;
    go_to(Phase::kMake, static_cast<int64_t>(to_store_.size()));
    return true;
  }
  if (phase_ == Phase::kMake && mixes() && all_made()) go_to(Phase::kMix, size());
  return false;
}

bool Job::go_to(Phase phase, int64_t tasks) noexcept {
  phase_ = phase;
  left_ = tasks;
  if (tasks == 0) return true;
  try {
    phase == Phase::kMake ? pool_->go_on_before_reads(*this, tasks, together_)
                          : pool_->go_on(*this, tasks);
    return true;
  } catch (const std::bad_alloc&) {
    left_ = 0;
    for (Sample& sample : samples_) out_of_memory(sample);
    failed_ = true;
  } catch (const std::exception&) {  // the pool is closed
    left_ = 0;
    cancelled_ = true;
  }
  return false;
}

bool Job::wait_started(std::chrono::milliseconds slice) {
  pool_->check_process();
  std::unique_lock lock(shared_->mutex);
  return shared_->started.wait_for(lock, slice,
                                   [&] { return left_ == 0 || phase_ >= Phase::kMake; });
}

bool Job::drawn() const {
  const std::lock_guard lock(shared_->mutex);
  return drawn_ && phase_ >= Phase::kMake;
}

}  // namespace fl
