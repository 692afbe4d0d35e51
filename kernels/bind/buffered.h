// A bytes-like object of Python's, held while it is read.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <span>

namespace fl::bind {

class Buffered {
 public:
  explicit Buffered(const nanobind::handle& data) {
    if (PyObject_GetBuffer(data.ptr(), &buffer_, PyBUF_SIMPLE) != 0) throw nanobind::python_error();
  }
  ~Buffered() { PyBuffer_Release(&buffer_); }
  Buffered(const Buffered&) = delete;
  Buffered& operator=(const Buffered&) = delete;

  std::span<const uint8_t> bytes() const {
    return {static_cast<const uint8_t*>(buffer_.buf), static_cast<size_t>(buffer_.len)};
  }

 private:
  Py_buffer buffer_;
};

}  // namespace fl::bind
