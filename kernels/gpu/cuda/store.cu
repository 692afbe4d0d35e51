// STORE for a whole batch, with partners or without: one thread per pixel, tables in shared memory,
// neighbours in a warp are neighbours in the image.
//
// What a thread does is gpu/block/store.h, which tests run on the host too. A table is copied to
// shared memory once per block: lookups there do not depend on neighbouring values.
#include "gpu/cuda/store.h"

#include <algorithm>

#include "gpu/cuda/error.h"

namespace fl::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kTable = 3 * 256;
constexpr int64_t kMaxGrid = 65535;  // CUDA's limit for grid.y; the kernel strides over the rest

// The batch's table, copied to where all threads reach it fast; every thread of the block calls
// this.
template <class T>
__device__ const T* shared_copy(const T* from, T* table) {
  if (from == nullptr) return nullptr;
  for (int i = threadIdx.x; i < kTable; i += kThreads) table[i] = from[i];
  __syncthreads();
  return table;
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    store_kernel(block::StoreBatch<T> batch, int64_t count) {
  __shared__ T table[kTable];
  batch.table = shared_copy(batch.table, table);
  const int64_t pixel = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (pixel >= batch.pixels) return;
  for (int64_t n = blockIdx.y; n < count; n += gridDim.y) batch.store(n, pixel);
}

template <class Type>
__global__ void __launch_bounds__(kThreads)
    mix_kernel(block::StoreBatch<typename Type::Bits> batch, int64_t count) {
  __shared__ typename Type::Bits table[kTable];
  batch.table = shared_copy(batch.table, table);
  const int64_t pixel = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (pixel >= batch.pixels) return;
  for (int64_t n = blockIdx.y; n < count; n += gridDim.y) batch.template mix<Type>(n, pixel);
}

}  // namespace

const bool built = true;

void store(const block::StoreShape& shape, const block::StoreArgs& args, uintptr_t stream) {
  if (shape.count == 0) return;  // CUDA rejects an empty grid
  const auto where = reinterpret_cast<cudaStream_t>(stream);
  const int64_t pixels = shape.height * shape.width;
  const dim3 grid(static_cast<unsigned>((pixels + kThreads - 1) / kThreads),
                  static_cast<unsigned>(std::min(shape.count, kMaxGrid)));
  with_number(shape.number, [&](auto type) {
    using Type = decltype(type);
    using Bits = typename Type::Bits;
    const block::StoreBatch<Bits> batch(shape, args);
    if (shape.lists.partners == block::kNone)
      store_kernel<Bits><<<grid, kThreads, 0, where>>>(batch, shape.count);
    else
      mix_kernel<Type><<<grid, kThreads, 0, where>>>(batch, shape.count);
    FL_CUDA(cudaGetLastError());
  });
}

int version() { return CUDART_VERSION; }

}  // namespace fl::cuda
