// STORE for a whole batch, with partners or without: one thread per pixel, tables in shared memory, neighbours in a
// warp are neighbours in the image.
#include "cuda/store.h"

#include <algorithm>

#include "body/mix.h"
#include "body/store.h"
#include "cuda/error.h"

namespace fl::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kTable = 3 * 256;
constexpr int64_t kMaxGrid = 65535;  // CUDA's limit for grid.y; the kernel strides over the rest

// The batch's table, copied to where all threads reach it fast; every thread of the block calls this.
template <class T>
__device__ const T* shared_copy(const T* from, T* table) {
  if (from == nullptr) return nullptr;
  for (int i = threadIdx.x; i < kTable; i += kThreads) table[i] = from[i];
  __syncthreads();
  return table;
}

template <class T>
__global__ void __launch_bounds__(kThreads) store_kernel(Store<T> batch, int64_t count) {
  __shared__ T table[kTable];
  batch.table = shared_copy(batch.table, table);
  const int64_t pixel = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (pixel >= batch.pixels) return;
  for (int64_t n = blockIdx.y; n < count; n += gridDim.y) {
    Store<T> image = batch;
    image.image += n * batch.pixels * 3;
    image.out += n * batch.pixels * 3;
    image(pixel);
  }
}

template <class Type>
__global__ void __launch_bounds__(kThreads)
    mix_kernel(Mix<Type> batch, const uint8_t* images, const Partner* partners, int64_t count) {
  __shared__ typename Type::Bits table[kTable];
  batch.table = shared_copy(batch.table, table);
  const int64_t pixel = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (pixel >= batch.pixels) return;
  for (int64_t n = blockIdx.y; n < count; n += gridDim.y) {
    Mix<Type> image = batch;
    image.how = partners[n];
    image.own.pixels = images + n * batch.pixels * 3;
    image.other.pixels = images + image.how.place * batch.pixels * 3;
    image.out += n * batch.pixels * 3;
    image(pixel);
  }
}

dim3 grid_of(int64_t pixels, int64_t count) {
  return {static_cast<unsigned>((pixels + kThreads - 1) / kThreads), static_cast<unsigned>(std::min(count, kMaxGrid))};
}

template <class T>
void launch(const StoreArgs& args, cudaStream_t stream) {
  const int64_t pixels = args.height * args.width;
  const Store<T> batch{reinterpret_cast<const uint8_t*>(args.images), reinterpret_cast<const T*>(args.table),
                       reinterpret_cast<T*>(args.out), pixels, args.channels_last};
  store_kernel<T><<<grid_of(pixels, args.count), kThreads, 0, stream>>>(batch, args.count);
  FL_CUDA(cudaGetLastError());
}

}  // namespace

const bool built = true;

void store(const StoreArgs& args, uintptr_t stream) {
  if (args.count == 0) return;  // CUDA rejects an empty grid
  const auto where = reinterpret_cast<cudaStream_t>(stream);
  switch (args.item_size) {
    case 1:
      return launch<uint8_t>(args, where);
    case 2:
      return launch<uint16_t>(args, where);
    default:
      return launch<uint32_t>(args, where);
  }
}

void mix(const MixArgs& args, uintptr_t stream) {
  const StoreArgs& to = args.store;
  if (to.count == 0) return;
  const auto where = reinterpret_cast<cudaStream_t>(stream);
  with_number(args.number, [&](auto type) {
    using Type = decltype(type);
    using Bits = typename Type::Bits;
    Mix<Type> batch{};
    batch.table = reinterpret_cast<const Bits*>(to.table);
    batch.out = reinterpret_cast<Bits*>(to.out);
    batch.pixels = to.height * to.width;
    batch.width = to.width;
    batch.channels_last = to.channels_last;
    mix_kernel<Type><<<grid_of(batch.pixels, to.count), kThreads, 0, where>>>(
        batch, reinterpret_cast<const uint8_t*>(to.images), reinterpret_cast<const Partner*>(args.partners), to.count);
    FL_CUDA(cudaGetLastError());
  });
}

std::string version() {
  return std::to_string(CUDART_VERSION / 1000) + "." + std::to_string(CUDART_VERSION % 1000 / 10);
}

}  // namespace fl::cuda
