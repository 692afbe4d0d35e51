// Stands in for the CUDA kernels in a build without them.
#include <stdexcept>

#include "cuda/augment.h"
#include "cuda/store.h"

namespace fl::cuda {

const bool built = false;

namespace {

[[noreturn]] void missing(const char* where) {
  throw std::runtime_error(std::string(where) + ": this build has no CUDA kernels; build with -DFASTLOAD_CUDA=ON");
}

}  // namespace

void store(const StoreArgs&, uintptr_t) { missing("store_cuda"); }

int64_t augment_workspace(const block::Packed&) { missing("DevicePrograms.workspace"); }

void augment(const block::Packed&, const AugmentArgs&, uintptr_t) { missing("DevicePrograms.launch"); }

void mix(const MixArgs&, uintptr_t) { missing("mix_cuda"); }

std::string version() { return "none"; }

}  // namespace fl::cuda
