// class Job: one batch under way, as Python sees it. The GIL is given up in every wait, and taken
// ten times a second so that Ctrl-C works. Where Python has no GIL, calls hold the object's lock in
// its place (nb::lock_self), and give it up in the same waits.
#include "bind/job.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <mutex>

#include "base/error.h"

namespace fl::bind {
namespace {

using namespace nb::literals;

constexpr std::chrono::milliseconds kSlice{100};

// Where nothing is left to do, the GIL is kept: another thread would have it for milliseconds. Who
// waited is told of a signal here, and not after the next call, which may have changed something.
void wait(PyJob& self, const char* where) {
  for (bool done = self.job->wait({}); !done;) {
    {
      const nb::gil_scoped_release unlocked;
      done = self.job->wait(kSlice);
    }
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
  self.job->check_idle(where);
}

// What `look` says of the job, which waits for a slice of time, after `seconds` at most.
bool wait_for(PyJob& self, double seconds, bool (Job::*look)(std::chrono::milliseconds)) {
  using Clock = std::chrono::steady_clock;
  const auto until =
      Clock::now() + std::chrono::duration<double>(seconds > 0 ? std::min(seconds, 1e9) : 0.0);
  while (true) {
    bool done = false;
    {
      const nb::gil_scoped_release unlocked;
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
      done = ((*self.job).*look)(std::clamp(left, std::chrono::milliseconds{0}, kSlice));
    }
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (done || Clock::now() >= until) return done;
  }
}

bool done(const PyJob& self) { return self.job->done(); }

// Drops the arrays that tasks wrote to or read from, now that none runs. As `regular`.
bool wait_done(PyJob& self) {
  wait(self, "Job.wait_done");
  self.out.clear();  // its owner may use the memory again
  self.functions.clear();
  self.ahead.reset();
  std::erase_if(self.pixels, [&](const auto& entry) {
    Sample& it = self.job->sample(entry.first);
    if (it.stored) it.pixels = {};
    return it.stored;
  });
  return self.job->regular();
}

Sample& sample(PyJob& self, int64_t n, const char* where) {
  self.job->check_idle(where);
  if (n < 0 || n >= self.job->size()) {
    throw std::out_of_range(std::string(where) + ": no such sample (got " + std::to_string(n) +
                            ", want 0.." + std::to_string(self.job->size() - 1) + ")");
  }
  return self.job->sample(n);
}

nb::object status(PyJob& self) {
  self.job->check_idle("Job.status");
  std::vector<uint8_t> out(self.job->size());
  for (size_t n = 0; n < out.size(); ++n) out[n] = self.job->sample(n).status;
  return to_numpy<uint8_t, 1>(out, {out.size()});
}

bool regular(PyJob& self) {
  self.job->check_idle("Job.regular");
  return self.job->regular();
}

nb::object sizes(PyJob& self) {
  self.job->check_idle("Job.sizes");
  const size_t count = self.job->size();
  std::vector<int32_t> out(count * 2);
  for (size_t n = 0; n < count; ++n) {
    out[n * 2] = self.job->sample(n).height;
    out[n * 2 + 1] = self.job->sample(n).width;
  }
  return to_numpy<int32_t, 2>(out, {count, 2});
}

nb::bytes payload(PyJob& self, int64_t n) {
  const auto bytes = sample(self, n, "Job.payload").encoded.bytes();
  return nb::bytes(bytes.data(), bytes.size());
}

void check_pixels(const Sample& it, int64_t height, int64_t width, int scale) {
  const char* where = "Job.set_pixels: pixels";
  const auto by = [](int64_t h, int64_t w) { return std::to_string(h) + "x" + std::to_string(w); };
  if (height < 1 || width < 1 || height > kMostGiven / width)
    refuse(where, "size", by(height, width), "1.." + std::to_string(kMostGiven) + " px");
  cpu::check_scale(scale, "Job.set_pixels");
  if (scale != 1 && (height != shrunk(it.height, scale) || width != shrunk(it.width, scale)))
    refuse(where, "size", by(height, width),
           by(shrunk(it.height, scale), shrunk(it.width, scale)) + ", 1/" + std::to_string(scale) +
               " of the image");
}

// uint8 [count]: which samples others make, or are to be made by `run` again (0).
void put_aside(PyJob& self, const Input& which) {
  self.job->check_idle("Job.put_aside");
  const uint8_t* aside = checked<uint8_t>("Job.put_aside: which", which, {self.job->size()});
  for (int64_t n = 0; n < self.job->size(); ++n) self.job->sample(n).aside = aside[n] != 0;
}

void set_pixels(PyJob& self, int64_t n, const Input& pixels, int scale) {
  Sample& it = sample(self, n, "Job.set_pixels");
  const uint8_t* data = checked<uint8_t>("Job.set_pixels: pixels", pixels, {kAny, kAny, kChannels});
  const auto height = static_cast<int64_t>(pixels.shape(0)),
             width = static_cast<int64_t>(pixels.shape(1));
  check_pixels(it, height, width, scale);
  self.pixels.emplace_back(n, pixels);
  it.pixels = {data, static_cast<int>(height), static_cast<int>(width),
               static_cast<ptrdiff_t>(width) * kChannels, false};
  it.pixels_scale = scale;
  if (scale == 1) {
    it.height = it.pixels.height;
    it.width = it.pixels.width;
  }
  it.status = kOk;
  it.late = false;
  it.message.clear();
  it.code = 0;
}

// Its pixels are to come by set_pixels, after the next run.
void set_size(PyJob& self, int64_t n, int height, int width) {
  Sample& it = sample(self, n, "Job.set_size");
  if (height < 1 || width < 1 || height > kMostGiven / width)
    refuse("Job.set_size", "size", std::to_string(height) + "x" + std::to_string(width),
           "1.." + std::to_string(kMostGiven) + " px");
  it.height = height;
  it.width = width;
  it.status = kOk;
  it.late = true;
}

nb::object jpegs(PyJob& self) {
  self.job->check_idle("Job.jpegs");
  std::vector<uint8_t> out(self.job->size());
  for (size_t n = 0; n < out.size(); ++n)
    out[n] = self.job->sample(n).status == kOk && self.job->sample(n).codec == Codec::kJpeg;
  return to_numpy<uint8_t, 1>(out, {out.size()});
}

nb::object late(PyJob& self) {
  self.job->check_idle("Job.late");
  std::vector<uint8_t> out(self.job->size());
  for (size_t n = 0; n < out.size(); ++n) out[n] = self.job->sample(n).late;
  return to_numpy<uint8_t, 1>(out, {out.size()});
}

// Keeps jobs that were dropped while one of their reads hangs, and the memory that it may write to,
// until it ends.
void leave(PyJob&& job) {
  // Never destroyed: threads outlive the interpreter
  static auto* const kept = new std::vector<std::unique_ptr<PyJob>>;
  static auto* const mutex = new std::mutex;
  std::vector<std::unique_ptr<PyJob>> over;  // dropped after the lock is: that may run Python code
  const std::lock_guard lock(*mutex);
  over.reserve(kept->size());
  for (auto& it : *kept)
    if (it->job->pool().forked() || it->job->done()) over.push_back(std::move(it));
  std::erase(*kept, nullptr);
  kept->reserve(kept->size() + 1);  // what cannot be kept is not touched
  kept->push_back(std::make_unique<PyJob>(std::move(job)));
}

}  // namespace

PyJob::~PyJob() {
  if (job == nullptr) return;
  if (!job->pool().forked() && job->done()) return;  // as nearly always
  bool ended = true;
  {
    // Running tasks end first; then the arrays are released, with the GIL
    const nb::gil_scoped_release unlocked;
    ended = job->pool().forked() || job->abandon();
    if (ended) job.reset();
  }
  if (ended) return;
  try {
    leave(std::move(*this));
  } catch (const std::bad_alloc&) {  // so it is waited for
    const nb::gil_scoped_release unlocked;
    job.reset();
  }
}

void bind_job(nb::module_& m) {
  const nb::lock_self alone;
  nb::class_<PyJob> job(m, "Job", nb::is_final());
  job.def("__len__", [](const PyJob& self) { return self.job->size(); })
      .def(
          "wait_fetched", [](PyJob& self) { wait(self, "Job.wait_fetched"); }, alone)
      .def("wait_done", &wait_done, alone)
      .def(
          "wait", [](PyJob& self, double seconds) { return wait_for(self, seconds, &Job::wait); },
          "seconds"_a)
      .def(
          "wait_started",
          [](PyJob& self, double seconds) { return wait_for(self, seconds, &Job::wait_started); },
          "seconds"_a)
      .def("then", &then, "pictures"_a, "draws"_a, nb::kw_only(), "seed"_a, "epoch"_a,
           "most_pixels"_a, alone)
      .def_prop_ro("drawn", [](const PyJob& self) { return self.job->drawn(); })
      .def_prop_ro("done", &done)
      .def_prop_ro("address",
                   [](const PyJob& self) { return reinterpret_cast<uintptr_t>(self.job.get()); })
      .def_prop_ro("regular", &regular, alone)
      .def_prop_ro("status", &status, alone)
      .def_prop_ro("sizes", &sizes, alone)
      .def(
          "message", [](PyJob& self, int64_t n) { return sample(self, n, "Job.message").message; },
          "sample"_a, alone)
      .def(
          "code", [](PyJob& self, int64_t n) { return sample(self, n, "Job.code").code; },
          "sample"_a, alone)
      .def("payload", &payload, "sample"_a, alone)
      .def("set_pixels", &set_pixels, "sample"_a, "pixels"_a.noconvert(), "scale"_a = 1, alone)
      .def("set_size", &set_size, "sample"_a, "height"_a, "width"_a, alone)
      .def_prop_ro("jpegs", &jpegs, alone)
      .def_prop_ro("late", &late, alone)
      .def("put_aside", &put_aside, "which"_a.noconvert(), alone)
      .def("run", &run, "pictures"_a, alone);
  bind_kit(m, job);
}

}  // namespace fl::bind
