// The index of a file that nobody decodes otherwise.
#include "jpeg/seek.h"
#include "jpeg/seek_notes.h"

namespace fl::jpeg {

Built build_index(Bytes bytes, int step) {
  Frame frame;
  if (std::string why = parse_frame(bytes, frame); !why.empty()) return {{}, std::move(why)};
  if (frame.restart_interval != 0)
    return {{}, "not covered: restart markers, where decoding can begin without an index"};
  Tables tables;
  tables.prepare(frame);
  Lanes lanes;
  Scratch window;
  Pass pass(bytes, frame, tables, lanes, window, cpu::Target::kBest);
  pass.start(frame.scan);
  SeekNotes notes;
  notes.begin(frame, step);
  if (!notes.rest(pass)) return {{}, pass.why()};
  return {notes.pack(bytes, seek::hash(bytes)), {}};
}

}  // namespace fl::jpeg
