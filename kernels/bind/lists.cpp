// same_items: whether a list is still what it was.
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

}  // namespace

void bind_lists(nb::module_& m) { m.def("same_items", &same_items, "held"_a, "now"_a); }

}  // namespace fl::bind
