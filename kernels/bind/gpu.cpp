// What the kernels run on, and what a thread's calls do to a graph capture.
//
// Answers without CUDA too: then there are no architectures, and the mode is returned as it was
// given.
#include "gpu/cuda/gpu.h"

#include <string>

#include "base/error.h"
#include "bind/bind.h"

namespace fl::bind {
namespace {

using namespace nb::literals;

int exchange_capture_mode(int mode) {
  if (mode < 0 || mode > 2)
    refuse("exchange_capture_mode", "mode", std::to_string(mode), "0, 1 or 2");
  return cuda::exchange_capture_mode(mode);
}

}  // namespace

void bind_gpu(nb::module_& m) {
  const cuda::Architectures built = cuda::architectures();
  nb::list architectures;
  for (int i = 0; i < built.count; ++i) architectures.append(built.list[i]);
  m.attr("cuda_architectures") = nb::tuple(architectures);
  m.def("exchange_capture_mode", &exchange_capture_mode, "mode"_a);
}

}  // namespace fl::bind
