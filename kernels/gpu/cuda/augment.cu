// AUGMENT for a whole batch in one launch: a block of threads takes an image through its program
// (block/machine.h).
//
// The pixels do not depend on the number of blocks or threads, nor on where the image lies: that is
// what lets `plan` choose them by the device alone.
#include "gpu/cuda/augment.h"

#include <algorithm>

#include "gpu/block/machine.h"
#include "gpu/cuda/error.h"
#include "gpu/cuda/threads.h"

namespace fl::cuda {
namespace {

constexpr int kMostThreads = 1024, kFewThreads = 512;  // of a block

struct Batch {
  const uint8_t* images;
  block::Programs programs;
  uint8_t *out, *workspace;
  int64_t count;
  int height, width;
  block::Layout how;
};

// One block per image, or each block takes every gridDim.x-th image where workspaces are fewer than
// images.
__global__ void __launch_bounds__(kMostThreads) augment_kernel(const Batch batch) {
  extern __shared__ __align__(16) uint8_t shared[];
  uint8_t* workspace = batch.workspace + blockIdx.x * batch.how.workspace;
  const int64_t bytes = int64_t{batch.height} * batch.width * 3;
  for (int64_t n = blockIdx.x; n < batch.count; n += gridDim.x) {
    const block::Memory memory(batch.how, shared, workspace, batch.out + n * bytes);
    block::Machine<CudaThreads>({}, memory, batch.height, batch.width)
        .run(batch.images + n * bytes, batch.programs.ops + batch.programs.first[n],
             batch.programs.ops + batch.programs.first[n + 1], batch.programs.extras);
  }
}

struct Launch {
  block::Layout how;
  int threads;
  int64_t blocks;
};

int attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  FL_CUDA(cudaGetDevice(&device));
  FL_CUDA(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

// A block per image, which the device hands out; with a workspace only as many as run at a time.
Launch plan(const block::PackedShape& batch) {
  Launch out;
  const int limit = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  out.how = block::layout(int64_t{batch.height} * batch.width * 3, batch.needs, limit);
  out.threads = 2 * out.how.shared <= limit
                    ? kFewThreads
                    : kMostThreads;  // a processor has room for two blocks, or one
  out.blocks = std::min<int64_t>(batch.count, INT32_MAX);
  // The same for every launch, since it belongs to the kernel: other threads launch it too.
  FL_CUDA(cudaFuncSetAttribute(augment_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, limit));
  if (out.how.workspace == 0) return out;
  int resident = 0;
  FL_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, augment_kernel, out.threads,
                                                        out.how.shared));
  const int64_t processors = attribute(cudaDevAttrMultiProcessorCount);
  out.blocks = std::min(out.blocks, std::max<int64_t>(1, resident * processors));
  return out;
}

}  // namespace

int64_t augment_workspace(const block::PackedShape& batch) {
  const Launch how = plan(batch);
  return how.blocks * how.how.workspace;
}

void augment(const block::PackedShape& batch, const AugmentArgs& args, uintptr_t stream) {
  if (batch.count == 0) return;  // CUDA rejects an empty grid
  const Launch how = plan(batch);
  const Batch all{reinterpret_cast<const uint8_t*>(args.images),
                  batch.at(reinterpret_cast<const uint8_t*>(args.programs)),
                  reinterpret_cast<uint8_t*>(args.out),
                  reinterpret_cast<uint8_t*>(args.workspace),
                  batch.count,
                  batch.height,
                  batch.width,
                  how.how};
  augment_kernel<<<static_cast<unsigned>(how.blocks), how.threads,
                   static_cast<size_t>(how.how.shared), reinterpret_cast<cudaStream_t>(stream)>>>(
      all);
  FL_CUDA(cudaGetLastError());
}

}  // namespace fl::cuda
