// A batch of JPEG regions to crops in five launches: each needs all of what the one before has
// made.
//
// All five go to the caller's stream; nothing is allocated, nothing waits for the device. The grids
// of all but the first are bounded by constants, and their kernels stride, so any batch size works.
// gpu/block/emulated_decode.h has the same loops on the host.
#include "gpu/cuda/decode.h"

#include <algorithm>

#include "gpu/block/decode_entropy.h"
#include "gpu/block/decode_idct.h"
#include "gpu/block/decode_pixels.h"
#include "gpu/cuda/error.h"
#include "gpu/cuda/threads.h"

namespace fl::cuda {
namespace {

constexpr int kIdctThreads = block::kIdctBlocks * kBlockSize, kPxThreads = 256;
// Blocks of threads that share an image; they stride over what is left
constexpr int kMostAcross = 64;
constexpr int kMostImages = 65535;  // CUDA's limit for grid.y; the kernels stride over the rest
// px or groups of blocks that a thread gets of the largest image, if it may
constexpr int kEach = 4;

__global__ void __launch_bounds__(block::kDecodeLanes)
    entropy_kernel(const block::DecodeBatch batch) {
  __shared__ __align__(16) block::DecodeState state;
  block::decode_group(CudaThreads(), batch, batch.groups[blockIdx.x], &state);
}

__global__ void __launch_bounds__(kIdctThreads)
    idct_kernel(const block::DecodeBatch batch, int images) {
  __shared__ __align__(16) block::IdctState state;
  for (int n = blockIdx.y; n < images; n += gridDim.y) {
    const int blocks = batch.images[n].block_count,
              step = static_cast<int>(gridDim.x) * block::kIdctBlocks;
    for (int first = blockIdx.x * block::kIdctBlocks; first < blocks; first += step)
      block::idct_group(CudaThreads(), batch, n, first, min(block::kIdctBlocks, blocks - first),
                        &state);
  }
}

// item(image, i) for every i below count(image), of every image.
template <class Count, class Item>
__device__ void each_px(const block::DecodeBatch& batch, int images, const Count& count,
                        const Item& item) {
  const int step = static_cast<int>(gridDim.x) * kPxThreads;
  for (int n = blockIdx.y; n < images; n += gridDim.y) {
    const block::DecodeImage& image = batch.images[n];
    for (int64_t i = blockIdx.x * kPxThreads + threadIdx.x; i < count(image); i += step)
      item(image, static_cast<int>(i));
  }
}

__global__ void __launch_bounds__(kPxThreads)
    colour_kernel(const block::DecodeBatch batch, int images) {
  each_px(
      batch, images, [](const auto& image) { return image.height * image.width; },
      [&](const auto& image, int i) {
        block::colour_px(image, batch.planes(image), i, batch.region(image));
      });
}

__global__ void __launch_bounds__(kPxThreads)
    first_pass_kernel(const block::DecodeBatch batch, int images) {
  each_px(
      batch, images,
      [](const auto& image) { return block::between_height(image) * block::between_width(image); },
      [&](const auto& image, int i) {
        block::first_pass_px(image, batch.numbers + image.numbers, batch.region(image), i,
                             batch.between(image));
      });
}

__global__ void __launch_bounds__(kPxThreads)
    second_pass_kernel(const block::DecodeBatch batch, int images) {
  const int pixels = batch.height * batch.width;
  each_px(
      batch, images, [=](const auto&) { return pixels; },
      [&](const auto& image, int i) {
        block::second_pass_px(image, batch.numbers + image.numbers, batch.between(image), i,
                              batch.width, batch.out + image.position * pixels * 3);
      });
}

dim3 grid_of(int64_t items, int each, int images) {
  const int64_t across = std::clamp<int64_t>((items + each - 1) / each, 1, kMostAcross);
  return {static_cast<unsigned>(across), static_cast<unsigned>(std::min(images, kMostImages))};
}

}  // namespace

void decode(const block::DecodeHeader& header, const DecodeArgs& args, uintptr_t stream) {
  const int images = header.image_count;
  if (images == 0) return;  // CUDA rejects an empty grid
  const block::DecodeBatch batch(
      header, reinterpret_cast<const uint8_t*>(args.data), reinterpret_cast<uint8_t*>(args.scratch),
      reinterpret_cast<uint8_t*>(args.out), reinterpret_cast<uint32_t*>(args.flags));
  const auto where = reinterpret_cast<cudaStream_t>(stream);
  entropy_kernel<<<header.group_count, block::kDecodeLanes, 0, where>>>(batch);
  FL_CUDA(cudaGetLastError());
  idct_kernel<<<grid_of(header.most_blocks, kEach * block::kIdctBlocks, images), kIdctThreads, 0,
                where>>>(batch, images);
  FL_CUDA(cudaGetLastError());
  constexpr int kPx = kEach * kPxThreads;
  colour_kernel<<<grid_of(header.most_region, kPx, images), kPxThreads, 0, where>>>(batch, images);
  FL_CUDA(cudaGetLastError());
  first_pass_kernel<<<grid_of(header.most_between, kPx, images), kPxThreads, 0, where>>>(batch,
                                                                                         images);
  FL_CUDA(cudaGetLastError());
  const int64_t pixels = static_cast<int64_t>(header.height) * header.width;
  second_pass_kernel<<<grid_of(pixels, kPx, images), kPxThreads, 0, where>>>(batch, images);
  FL_CUDA(cudaGetLastError());
}

}  // namespace fl::cuda
