// Paths at the door. The system's are bytes, which need not be UTF-8; Python keeps the others as
// surrogates.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

namespace fl::bind {

namespace nb = nanobind;

// From str, bytes or os.PathLike, as open() takes them; to str.
struct FsPath {
  std::string bytes;
};

inline std::vector<std::string> to_bytes(std::vector<FsPath> paths) {
  std::vector<std::string> out;
  out.reserve(paths.size());
  for (FsPath& path : paths) out.push_back(std::move(path.bytes));
  return out;
}

// A text with paths in it, for people: what is no UTF-8 shows as \xNN. As errors.readable in
// Python.
inline nb::str readable(const std::string& text) {
  PyObject* out =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace");
  if (out == nullptr) throw nb::python_error();
  return nb::steal<nb::str>(out);
}

}  // namespace fl::bind

namespace nanobind::detail {

template <>
struct type_caster<fl::bind::FsPath> {
  NB_TYPE_CASTER(fl::bind::FsPath, const_name("str"))

  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    PyObject* found = nullptr;
    char* text = nullptr;
    Py_ssize_t size = 0;
    if (PyUnicode_FSConverter(source.ptr(), &found) == 0) {  // also where there is a zero byte
      PyErr_Clear();
      return false;
    }
    const object owner = steal(found);
    if (PyBytes_AsStringAndSize(found, &text, &size) != 0) {
      PyErr_Clear();
      return false;
    }
    value.bytes.assign(text, size);
    return true;
  }

  static handle from_cpp(const fl::bind::FsPath& path, rv_policy, cleanup_list*) noexcept {
    return PyUnicode_DecodeFSDefaultAndSize(path.bytes.data(),
                                            static_cast<Py_ssize_t>(path.bytes.size()));
  }
};

}  // namespace nanobind::detail
