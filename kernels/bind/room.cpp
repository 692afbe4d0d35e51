// Memory that is asked for before it is taken: class Claim, and what the process may still have.
//
// Waiting for memory releases the GIL, since those who have the memory may need it to give it back.
#include "base/room.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/error.h"
#include "base/image.h"
#include "bind/bind.h"

namespace fl::bind {
namespace {

using namespace nb::literals;

size_t bytes_of(const char* where, int64_t bytes, int64_t least) {
  if (bytes < least)
    refuse(where, "bytes", std::to_string(bytes), std::to_string(least) + " or more");
  return static_cast<size_t>(bytes);
}

void claim(room::Claim* self, int64_t bytes) {
  const size_t wanted = bytes_of("Claim", bytes, 1);
  new (self) room::Claim();
  const nb::gil_scoped_release unlocked;  // others may decode for a while
  self->take(wanted, true);
}

void admit(int64_t bytes) {
  const size_t wanted = bytes_of("admit", bytes, 0);
  const size_t margin = wanted > 0 ? room::kMargin : room::kLeast;
  if (room::fits(wanted, margin)) return;  // as nearly always: another thread may want the GIL
  const nb::gil_scoped_release unlocked;
  room::admit(wanted, margin);
}

}  // namespace

void bind_room(nb::module_& m) {
  m.attr("MAX_PIXELS") = kMostGiven;
  m.attr("MARGIN") = room::kMargin;
  m.attr("LEAST") = room::kLeast;
  m.attr("SHARE") = room::kShare;
  nb::class_<room::Claim>(m, "Claim", nb::is_final())
      .def("__init__", &claim, "bytes"_a)
      .def_prop_ro("bytes", &room::Claim::bytes, nb::lock_self())
      .def("drop", &room::Claim::drop, nb::lock_self());
  m.def("admit", &admit, "bytes"_a);
  m.def(
      "claims_most", [](int64_t bytes) { return room::most(bytes_of("claims_most", bytes, 0)); },
      "bytes"_a = 0);
  m.def("memory_groups", &room::set_groups, "folders"_a);
  m.def("memory_available", &room::available);
}

}  // namespace fl::bind
