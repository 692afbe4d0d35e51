// same_items, same_rows: whether a list is still what it was.
//
// fastload marks what a user's program has given it, and asks later whether that is unchanged.
// Items are compared by identity: a data set's list of samples may have a million of them.
#include "bind/bind.h"

namespace fl::bind {
namespace {

using namespace nb::literals;

#ifdef NB_FREE_THREADED
// Another thread may change the list meanwhile; null: it has become shorter.
using Item = nb::object;
Item item_of(PyObject* list, Py_ssize_t i) {
  PyObject* out = PyList_GetItemRef(list, i);
  if (out == nullptr) PyErr_Clear();
  return nb::steal(out);
}
#else
// No Python code runs, so no list changes meanwhile.
using Item = nb::handle;
Item item_of(PyObject* list, Py_ssize_t i) { return PyList_GetItem(list, i); }
#endif

// Objects by identity.
bool same_objects(PyObject* held, PyObject* now) {
  const Py_ssize_t count = PyList_Size(held);
  if (count != PyList_Size(now)) return false;
  for (Py_ssize_t i = 0; i < count; ++i)
    if (!item_of(held, i).is(item_of(now, i))) return false;
  return true;
}

bool same_items(const nb::list& held, const nb::list& now) {
  const Py_ssize_t count = PyList_Size(held.ptr());
  if (count != PyList_Size(now.ptr())) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Item mine = item_of(held.ptr(), i), theirs = item_of(now.ptr(), i);
    if (mine.is(theirs)) continue;
    if (!mine.is_valid() || !theirs.is_valid()) return false;
    if (!PyList_CheckExact(mine.ptr()) || !PyList_CheckExact(theirs.ptr()) ||
        !same_objects(mine.ptr(), theirs.ptr()))
      return false;
  }
  return true;
}

// Rows that are held as tuples, whose objects lie in them: waiting for memory is most of the time.
bool same_rows(const nb::list& held, const nb::list& now) {
  const Py_ssize_t count = PyList_Size(held.ptr());
  if (count != PyList_Size(now.ptr())) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Item mine = item_of(held.ptr(), i), theirs = item_of(now.ptr(), i);
    if (!mine.is_valid() || !theirs.is_valid()) return false;
    if (!PyTuple_CheckExact(mine.ptr())) throw nb::type_error("held: want rows that are tuples");
    if (!PyList_CheckExact(theirs.ptr())) return false;
    const Py_ssize_t width = Py_SIZE(mine.ptr());  // no call, as PyTuple_Size would be
    if (width != Py_SIZE(theirs.ptr())) return false;
    for (Py_ssize_t k = 0; k < width; ++k)
      if (PyTuple_GetItem(mine.ptr(), k) != item_of(theirs.ptr(), k).ptr()) return false;
  }
  return true;
}

}  // namespace

void bind_lists(nb::module_& m) {
  m.def("same_items", &same_items, "held"_a, "now"_a);
  m.def("same_rows", &same_rows, "held"_a, "now"_a);
}

}  // namespace fl::bind
