// FETCH: what is read of a sample, and its image's size. Where its layer serves, its JPEG is not
// read, unless the layer turns out to be damaged later.
//
// Nothing leaves this file as an exception but for what `read_now` says: what goes wrong becomes
// the sample's status and message.
#include "engine/fetch.h"

#include <cerrno>
#include <exception>
#include <utility>

#include "base/error.h"
#include "base/system.h"
#include "engine/look.h"
#include "jpeg/layer/layer.h"

namespace fl {

// What is being handled becomes the sample's status; its text may find no memory either.
void fail(Sample& sample) noexcept {
  try {
    throw;
  } catch (const IndexError& error) {
    try {
      sample.end(kFailed, std::string("cannot be found (") + error.what() + ")",
                 error.code == 0 ? EIO : error.code);
    } catch (const std::bad_alloc&) {
      out_of_memory(sample);
    }
  } catch (const FileError& error) {
    try {
      // Whoever asks knows the path.
      sample.end(kFailed, "cannot be read (" + error.why + ")", error.code == 0 ? EIO : error.code);
    } catch (const std::bad_alloc&) {
      out_of_memory(sample);
    }
  } catch (const std::bad_alloc&) {
    out_of_memory(sample);
  } catch (const std::exception& error) {
    try {
      sample.end(kFailed, error.what());
    } catch (const std::bad_alloc&) {
      out_of_memory(sample);
    }
  }
}

namespace {

// The file is large: it is read when its turn comes, and no two of a batch at once.
struct Later {};

constexpr const char* kLarge = "large file";

// Counts waits for a file, and not those for a lock; where the system does not tell, each read is
// one.
class FileWaits {
 public:
  explicit FileWaits(Worker& worker) : worker_(worker) {}
  ~FileWaits() { pause(); }
  FileWaits(const FileWaits&) = delete;
  FileWaits& operator=(const FileWaits&) = delete;

  void pause() {
    const int64_t now = os::thread_waits();
    worker_.waits += now < 0 || now > begun_;
  }
  void go_on() { begun_ = os::thread_waits(); }

 private:
  Worker& worker_;
  int64_t begun_ = os::thread_waits();
};

Buffer read(const Files& files, const Location& location, BufferList& buffers, Worker& worker) {
  Buffer out;
  FileWaits waits(worker);
  files.read(location, [&](int64_t size) {
    if (size > kMostAhead) throw Later();
    waits.pause();
    out = buffers.lend(size);
    waits.go_on();
    return out.data();
  });
  return out;
}

// An index only saves time: what cannot be read is as good as none.
void read_seek(Sample& sample, const Origin& origin, BufferList& buffers, Worker& worker) {
  if (origin.seek == nullptr || sample.seek_location.size <= 0) return;
  try {
    sample.seek = read(*origin.seek, sample.seek_location, buffers, worker);
  } catch (const FileError&) {
    sample.seek = {};
  } catch (const Later&) {
    sample.seek = {};
  }
}

// The JPEG of a layer is not read where it is known by its size and checksum: no other has this
// layer. Whether it is sound was found when the layer was made (layer::build).
bool known_by_layer(Sample& sample, const Origin& origin, BufferList& buffers) {
  const auto size = static_cast<size_t>(sample.location.size);
  if (!origin.check || !jpeg::layer::is_layer(sample.seek.bytes())) return false;
  jpeg::layer::Layer layer;
  jpeg::Frame frame;
  if (!layer.open(sample.seek.bytes(), frame).empty() || !layer.is_of(size, sample.checksum))
    return false;
  sample.unread = {origin.files.get(), &buffers};
  sample.hash = sample.checksum;
  sample.height = frame.height;
  sample.width = frame.width;
  sample.end(kOk, {});
  return true;
}

std::string by(int height, int width) {
  return std::to_string(height) + "x" + std::to_string(width);
}

}  // namespace

// The bytes that a layer was to stand for, once it was refused: then the JPEG decides. False: the
// sample is not OK any more.
bool read_now(Sample& sample, Worker& worker) {
  const int height = sample.height, width = sample.width;
  const Unread from = std::exchange(sample.unread, {});
  sample.seek = {};
  try {
    sample.encoded = read(*from.files, sample.location, *from.buffers, worker);
  } catch (const Later&) {
    sample.end(kForeign, kLarge);
    return false;
  }
  look(sample, true, worker);
  if (sample.status == kOk && (sample.height != height || sample.width != width))
    sample.end(kFailed, "is " + by(sample.height, sample.width) + " px, and its layer says " +
                            by(height, width));
  return sample.status == kOk;
}

// Nothing is read yet: only the rows under the crop will be.
bool fetched(Sample& sample, const Origin& origin) noexcept {
  if (sample.raw_height == 0) return false;
  sample.rows = origin.files.get();
  sample.height = sample.raw_height;
  sample.width = sample.raw_width;
  sample.end(kOk, {});
  return true;
}

void fetch(Sample& sample, const Origin& origin, BufferList& buffers, Worker& worker) noexcept {
  try {
    if (fetched(sample, origin)) return;
    Stopwatch watch(worker.stats);
    read_seek(sample, origin, buffers, worker);
    if (!known_by_layer(sample, origin, buffers)) {
      sample.encoded = read(*origin.files, sample.location, buffers, worker);
      look(sample, origin.check, worker);
    }
    watch.lap(Stage::kRead);
  } catch (const Later&) {
    sample.status = kForeign;
    sample.message = kLarge;  // short, as above
  } catch (...) {
    fail(sample);
  }
}

void fetch_as_said(Sample& sample, const Origin& origin, BufferList& buffers,
                   Worker& worker) noexcept {
  const int height = sample.height, width = sample.width;
  fetch(sample, origin, buffers, worker);
  const int got_height = std::exchange(sample.height, height),
            got_width = std::exchange(sample.width, width);
  if (sample.status != kOk || (got_height == height && got_width == width)) return;
  try {
    sample.end(kFailed,
               "is " + by(got_height, got_width) + " px, and its row says " + by(height, width));
  } catch (const std::bad_alloc&) {
    out_of_memory(sample);
  }
}

}  // namespace fl
