// NumPy arrays at the door: shape, dtype and layout are checked here, with an error text that says
// what is wrong.
//
// nanobind would convert or copy silently; here nothing is converted. A wrong array is an error
// that names the argument, what it got and what it wants. Memory belongs to Python: whoever keeps a
// pointer past the call keeps the array object too.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

#include "base/image.h"

namespace fl::bind {

namespace nb = nanobind;

using Input = nb::ndarray<nb::ro, nb::device::cpu>;
using Output = nb::ndarray<nb::device::cpu>;

constexpr int64_t kAny = -1;  // a free extent

std::string name(nb::dlpack::dtype type);  // "float32"

// Facts about an array, apart from its type, so that Input and Output share the checks.
struct Facts {
  nb::dlpack::dtype type;
  std::vector<int64_t> shape, strides;

  template <class Array>
  explicit Facts(const Array& array) : type(array.dtype()) {
    for (size_t i = 0; i < array.ndim(); ++i) {
      shape.push_back(static_cast<int64_t>(array.shape(i)));
      strides.push_back(array.stride(i));
    }
  }
};

// Throws ValueError unless the array is C-contiguous, of this shape and, if given, of this dtype.
void check(const std::string& where, const Facts& got, std::initializer_list<int64_t> shape);
void check(const std::string& where, const Facts& got, std::initializer_list<int64_t> shape,
           nb::dlpack::dtype type);
// The same of any strides.
void check_strided(const std::string& where, const Facts& got, std::initializer_list<int64_t> shape,
                   nb::dlpack::dtype type);

template <class T, class Array>
auto* checked(const std::string& where, const Array& array, std::initializer_list<int64_t> shape) {
  check(where, Facts(array), shape, nb::dtype<T>());
  if constexpr (std::is_same_v<Array, Input>)
    return static_cast<const T*>(array.data());
  else
    return static_cast<T*>(array.data());
}

// Rows of crops, see _native.pyi; each of 9 or, with its scale, 10 columns.
std::vector<Crop> crops(const std::string& where, const Input& rows, int64_t count);
Crop one_crop(const std::string& where, const Input& row);

// A new array that Python owns.
template <class T, size_t N>
nb::object to_numpy(const std::vector<T>& values, const std::array<size_t, N>& shape) {
  T* copy = new T[values.size() + 1];
  std::copy(values.begin(), values.end(), copy);
  const nb::capsule owner(copy, [](void* memory) noexcept { delete[] static_cast<T*>(memory); });
  return nb::cast(nb::ndarray<nb::numpy, T>(copy, N, shape.data(), owner));
}

}  // namespace fl::bind
