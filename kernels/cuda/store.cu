// STORE for a whole batch: one thread per pixel, tables in shared memory, neighbours in a warp are neighbours in the
// image.
#include "cuda/store.h"

#include <algorithm>

#include "body/store.h"
#include "cuda/error.h"

namespace fl::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kTable = 3 * 256;
constexpr int64_t kMaxGrid = 65535;  // CUDA's limit for grid.y; the kernel strides over the rest

template <class T>
__global__ void __launch_bounds__(kThreads) store_kernel(Store<T> batch, int64_t count) {
  __shared__ T table[kTable];
  if (batch.table != nullptr) {
    for (int i = threadIdx.x; i < kTable; i += kThreads) table[i] = batch.table[i];
    __syncthreads();
    batch.table = table;
  }
  const int64_t pixel = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (pixel >= batch.pixels) return;
  for (int64_t n = blockIdx.y; n < count; n += gridDim.y) {
    Store<T> image = batch;
    image.image += n * batch.pixels * 3;
    image.out += n * batch.pixels * 3;
    image(pixel);
  }
}

template <class T>
void launch(const StoreArgs& args, cudaStream_t stream) {
  const int64_t pixels = args.height * args.width;
  const Store<T> batch{reinterpret_cast<const uint8_t*>(args.images), reinterpret_cast<const T*>(args.table),
                       reinterpret_cast<T*>(args.out), pixels, args.channels_last};
  const dim3 grid(static_cast<unsigned>((pixels + kThreads - 1) / kThreads),
                  static_cast<unsigned>(std::min(args.count, kMaxGrid)));
  store_kernel<T><<<grid, kThreads, 0, stream>>>(batch, args.count);
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

std::string version() {
  return std::to_string(CUDART_VERSION / 1000) + "." + std::to_string(CUDART_VERSION % 1000 / 10);
}

}  // namespace fl::cuda
