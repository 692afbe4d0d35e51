// JPEG decoding's phases by an emulated block: the kernels of cuda/decode.cu as loops.
#pragma once

#include "gpu/block/decode_entropy.h"
#include "gpu/block/decode_idct.h"
#include "gpu/block/decode_pixels.h"
#include "gpu/block/emulated.h"

namespace fl::block {

// The whole batch. Throws std::runtime_error where something is written behind the shared memory.
inline void decode(const EmulatedThreads& threads, const DecodeHeader& header,
                   const DecodeBatch& batch) {
  const Guarded entropy(sizeof(DecodeState)), idct(sizeof(IdctState));
  for (int g = 0; g < header.group_count; ++g)
    decode_group(threads, batch, batch.groups[g], reinterpret_cast<DecodeState*>(entropy.data()));
  for (int n = 0; n < header.image_count; ++n) {
    const DecodeImage& image = batch.images[n];
    for (int first = 0; first < image.block_count; first += kIdctBlocks)
      idct_group(threads, batch, n, first, std::min(kIdctBlocks, image.block_count - first),
                 reinterpret_cast<IdctState*>(idct.data()));
    const int32_t* numbers = batch.numbers + image.numbers;
    uint8_t *region = batch.region(image), *between = batch.between(image),
            *planes = batch.planes(image);
    each(threads, image.height * image.width, [&](int i) { colour_px(image, planes, i, region); });
    each(threads, between_height(image) * between_width(image),
         [&](int i) { first_pass_px(image, numbers, region, i, between); });
    const int pixels = batch.height * batch.width;
    uint8_t* out = batch.out + image.position * pixels * 3;
    each(threads, pixels,
         [&](int i) { second_pass_px(image, numbers, between, i, batch.width, out); });
  }
  entropy.check("the shared memory of entropy decoding");
  idct.check("the shared memory of the IDCT");
}

}  // namespace fl::block
