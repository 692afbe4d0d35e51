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

#define FASTLOAD_LIBM(name)                                     \
  double name(double x) noexcept {                              \
    static const Function function = look_up(#name, std::name); \
    return function(x);                                         \
  }

FASTLOAD_LIBM(cos)
FASTLOAD_LIBM(exp)
FASTLOAD_LIBM(sin)
FASTLOAD_LIBM(tan)

#undef FASTLOAD_LIBM

}  // namespace fl::libm
