// Each function is looked up once, in what the process has loaded.
#include "base/libm.h"

#include <cmath>

#include "base/system.h"

namespace fl::libm {
namespace {

using Function = double (*)(double);

Function look_up(const char* name, Function linked) noexcept {
  void* found = os::c_function(name);
  return found ? reinterpret_cast<Function>(found) : linked;
}

}  // namespace

double cos(double x) noexcept {
  static const Function function = look_up("cos", std::cos);
  return function(x);
}

double exp(double x) noexcept {
  static const Function function = look_up("exp", std::exp);
  return function(x);
}

double sin(double x) noexcept {
  static const Function function = look_up("sin", std::sin);
  return function(x);
}

double tan(double x) noexcept {
  static const Function function = look_up("tan", std::tan);
  return function(x);
}

}  // namespace fl::libm
