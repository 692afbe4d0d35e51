// Stands in for the CUDA kernels in a build without them.
#include <stdexcept>
#include <string>

#include "gpu/cuda/augment.h"
#include "gpu/cuda/decode.h"
#include "gpu/cuda/store.h"

namespace fl::cuda {

const bool built = false;

namespace {

[[noreturn]] void missing(const char* where) {
  throw std::runtime_error(std::string(where) +
                           ": this build has no CUDA kernels; build with -DFASTLOAD_CUDA=ON");
}

}  // namespace

void store(const block::StoreShape&, const block::StoreArgs&, uintptr_t) {
  missing("DeviceStore.launch");
}

int64_t augment_workspace(const block::PackedShape&) { missing("DevicePrograms.workspace"); }

void augment(const block::PackedShape&, const AugmentArgs&, uintptr_t) {
  missing("DevicePrograms.launch");
}

void decode(const block::DecodeHeader&, const DecodeArgs&, uintptr_t) {
  missing("DeviceDecode.launch");
}

int version() { return 0; }

}  // namespace fl::cuda
