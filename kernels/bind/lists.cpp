// same_items, same_rows: whether a list is still what it was.
//
// fastload marks what a user's program has given it, and asks later whether that is unchanged.
// Items are compared by identity: a data set's list of samples may have a million of them.
#include "bind/bind.h"

namespace fl::bind {
namespace {

using namespace nb::literals;

// Objects by identity. No Python code runs, so neither list changes meanwhile.
bool same_objects(PyObject* held, PyObject* now) {
  const Py_ssize_t count = PyList_Size(held);
  if (count != PyList_Size(now)) return false;
  for (Py_ssize_t i = 0; i < count; ++i)
    if (PyList_GetItem(held, i) != PyList_GetItem(now, i)) return false;
  return true;
}

bool same_items(const nb::list& held, const nb::list& now) {
  const Py_ssize_t count = PyList_Size(held.ptr());
  if (count != PyList_Size(now.ptr())) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject *mine = PyList_GetItem(held.ptr(), i), *theirs = PyList_GetItem(now.ptr(), i);
    if (mine == theirs) continue;
    if (!PyList_CheckExact(mine) || !PyList_CheckExact(theirs) || !same_objects(mine, theirs))
      return false;
  }
  return true;
}

// Rows that are held as tuples, whose objects lie in them: waiting for memory is most of the time.
bool same_rows(const nb::list& held, const nb::list& now) {
  const Py_ssize_t count = PyList_Size(held.ptr());
  if (count != PyList_Size(now.ptr())) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject *mine = PyList_GetItem(held.ptr(), i), *theirs = PyList_GetItem(now.ptr(), i);
    if (!PyTuple_CheckExact(mine)) throw nb::type_error("held: want rows that are tuples");
    if (!PyList_CheckExact(theirs)) return false;
    const Py_ssize_t width = Py_SIZE(mine);  // no call, as PyTuple_Size would be
    if (width != Py_SIZE(theirs)) return false;
    for (Py_ssize_t k = 0; k < width; ++k)
      if (PyTuple_GetItem(mine, k) != PyList_GetItem(theirs, k)) return false;
  }
  return true;
}

}  // namespace

void bind_lists(nb::module_& m) {
  m.def("same_items", &same_items, "held"_a, "now"_a);
  m.def("same_rows", &same_rows, "held"_a, "now"_a);
}

}  // namespace fl::bind
