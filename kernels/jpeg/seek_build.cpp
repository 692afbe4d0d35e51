// The index of a file that nobody decodes otherwise.
#include "jpeg/seek.h"
#include "jpeg/seek_notes.h"

namespace fl::jpeg {
namespace {

// One pass over the scan; empty, or why it cannot be indexed. The frame must outlive the notes.
std::string walk(Bytes bytes, int step, cpu::Target target, Frame& frame, SeekNotes& notes) {
  if (std::string why = parse_frame(bytes, frame); !why.empty()) return why;
  if (frame.restart_interval != 0)
    return "not covered: restart markers, where decoding can begin without an index";
  Tables tables;
  tables.prepare(frame, bytes.size() - frame.scan);
  Lanes lanes;
  Ahead ahead;
  Scratch window;
  Pass pass(bytes, frame, tables, lanes, ahead, window, target);
  pass.start(frame.scan);
  notes.begin(frame, step);
  return notes.rest(pass) ? std::string() : pass.why();
}

}  // namespace

Built build_index(Bytes bytes, int step, const uint64_t* file_hash, cpu::Target target) {
  Frame frame;
  SeekNotes notes;
  if (std::string why = walk(bytes, step, target, frame, notes); !why.empty())
    return {{}, std::move(why)};
  return {notes.pack(bytes, file_hash != nullptr ? *file_hash : seek::hash(bytes)), {}};
}

std::string check_scan(Bytes bytes) {
  Frame frame;
  SeekNotes notes;
  return walk(bytes, 0, cpu::Target::kBest, frame, notes);
}

}  // namespace fl::jpeg
