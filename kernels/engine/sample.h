// One sample's way: FETCH (read, checksum, probe), then RUN (decode, crop, augment, store). No
// locks: one thread at a time has it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "augment/program.h"
#include "base/image.h"
#include "engine/buffers.h"
#include "engine/collector.h"
#include "engine/files.h"
#include "engine/worker.h"
#include "jpeg/probe.h"
#include "pixels/store.h"

namespace fl {

enum class Codec : uint8_t { kJpeg, kPng, kWebp };

// Where bytes are that were not read: the sample's layer is to serve in their place.
struct Unread {
  const Files* files = nullptr;  // null: they were read, or are not wanted
  BufferList* buffers = nullptr;
};

// Filled in stages: locations by the caller, bytes and size by `fetch`, pixels in the output by
// `run`. What went wrong is in status, message and code.
struct Sample {
  Location location;
  uint64_t checksum = 0;   // XXH3 of the bytes, where the job checks
  Location seek_location;  // of its seek index; size 0: it has none
  // Px; the bytes are uint8 [height, width, 3], not encoded. 0: they are encoded
  int raw_height = 0, raw_width = 0;
  int64_t row = -1;  // of the collector of new indexes
  // Bytes of the file that is known to have none; 0: nothing is known
  int64_t no_index = 0;

  Buffer encoded;  // empty while `unread` says where it is
  Unread unread;
  Buffer seek;
  std::optional<uint64_t> hash;    // XXH3 of the bytes, once someone has asked for it
  Collector* collector = nullptr;  // of the origin; null: new indexes are not wanted
  const Files* rows = nullptr;     // where raw rows are read from, when they are needed
  Image pixels;                    // given by the caller; then the bytes are not decoded
  int pixels_scale = 1;            // they are the image at 1/pixels_scale of its size
  Status status = kFailed;
  int height = 0, width = 0;  // px; 0 where not known
  bool stored = false;
  bool aside = false;          // somebody else makes it: `run` passes over it
  bool late = false;           // its size is known, and its pixels come after this run
  Codec codec = Codec::kJpeg;  // of its bytes, where it is OK
  std::string message;         // not OK: why
  // Of a file that could not be read: errno (EIO where the system gave none); ENOMEM; else 0
  int code = 0;

  void end(Status to, std::string why, int error = 0);
};

// Where one picture of every sample of a batch goes.
struct Output {
  uint8_t* out = nullptr;
  int height = 0, width = 0;            // of the crop, px
  int kept_height = 0, kept_width = 0;  // of what is stored of it, px
  cpu::Format format{};
  int patch = 0;       // side of the squares that it is cut into, px; 0: it stays whole
  int64_t tokens = 0;  // of these, with those that are filled up

  int64_t pixels() const { return static_cast<int64_t>(kept_height) * kept_width; }
  // Of one sample
  int64_t bytes() const {
    return (patch > 0 ? tokens * patch * patch : pixels()) * kChannels * format.item_size;
  }
  uint8_t* slot(int64_t n) const { return out + n * bytes(); }
};

// What becomes of one sample in one of its pictures.
struct Steps {
  const Crop& crop;
  cpu::Resampling resampling;
  const augment::Program* program;  // null or empty: none
  Kept kept;
  cpu::Boxes erased;
  void* slot;
};

struct Picture {
  Steps steps;
  const Output& output;
};

// Where a job's samples and their seek indexes lie.
struct Origin {
  std::shared_ptr<const Files> files, seek;  // seek: may be null
  bool check = false;                        // compare checksums
  std::shared_ptr<Collector> collector;      // of the samples that have a row there; may be null
};

void out_of_memory(Sample& sample) noexcept;  // it has failed for that; needs none itself

// Where the caller has said all that `fetch` would find: pixels, of which rows are read when they
// are needed. False: it is to be fetched.
bool fetched(Sample& sample, const Origin& origin) noexcept;

void fetch(Sample& sample, const Origin& origin, BufferList& buffers, Worker& worker) noexcept;

// `fetch` of a sample whose size is known beforehand, and stays: another one is an error.
void fetch_as_said(Sample& sample, const Origin& origin, BufferList& buffers,
                   Worker& worker) noexcept;

// Needs status OK and checked crops of one scale, at least one. Leaves the sample stored, or not
// OK. stands_for: as Stopwatch has it.
void run(Sample& sample, std::span<const Picture> pictures, Worker& worker,
         int stands_for = 1) noexcept;

}  // namespace fl
