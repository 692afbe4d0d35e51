// JPEG decoding's phases by an emulated block: the kernels of cuda/decode.cu as loops.
#include "block/test_decode.h"

#include <cstring>
#include <vector>

#include "bind/arrays.h"
#include "block/decode_entropy.h"
#include "block/decode_idct.h"
#include "block/decode_pixels.h"
#include "block/emulated.h"
#include "core/error.h"

namespace fl::block {
namespace {

namespace nb = nanobind;
using namespace nb::literals;
using bind::checked, bind::Input, bind::kAny;

void decode(const EmulatedThreads& threads, const DecodeHeader& header, const DecodeBatch& batch) {
  const Guarded entropy(sizeof(DecodeState)), idct(sizeof(IdctState));
  for (int g = 0; g < header.group_count; ++g)
    decode_group(threads, batch, batch.groups[g], reinterpret_cast<DecodeState*>(entropy.data()));
  for (int n = 0; n < header.image_count; ++n) {
    const DecodeImage& image = batch.images[n];
    for (int first = 0; first < image.block_count; first += kIdctBlocks)
      idct_group(threads, batch, n, first, std::min(kIdctBlocks, image.block_count - first),
                 reinterpret_cast<IdctState*>(idct.data()));
    const int32_t* numbers = batch.numbers + image.numbers;
    uint8_t *region = batch.region(image), *between = batch.between(image), *planes = batch.planes(image);
    each(threads, image.height * image.width, [&](int i) { colour_px(image, planes, i, region); });
    each(threads, between_height(image) * between_width(image),
         [&](int i) { first_pass_px(image, numbers, region, i, between); });
    const int pixels = batch.height * batch.width;
    uint8_t* out = batch.out + image.place * pixels * 3;
    each(threads, pixels, [&](int i) { second_pass_px(image, numbers, between, i, batch.width, out); });
  }
  entropy.check("the shared memory of entropy decoding");
  idct.check("the shared memory of the IDCT");
}

// What DeviceDecode.pack wrote -> crops uint8 [count, height, width, 3], flags uint32 [images].
nb::tuple emulate(const Input& data, const Input& order, int64_t count) {
  const uint8_t* given = checked<uint8_t>("decode: data", data, {kAny});
  const EmulatedThreads threads{checked<int32_t>("decode: order", order, {kAny}), static_cast<int>(order.shape(0))};
  DecodeHeader header;
  if (data.shape(0) < sizeof header) refuse("decode", "data", std::to_string(data.shape(0)), "a header at least");
  std::memcpy(&header, given, sizeof header);
  if (header.bytes != static_cast<int64_t>(data.shape(0)))
    refuse("decode", "data", std::to_string(data.shape(0)), std::to_string(header.bytes));
  const int64_t bytes = count * header.height * header.width * 3;
  const Guarded packed(header.bytes), scratch(header.scratch), out(bytes);
  std::memcpy(packed.data(), given, static_cast<size_t>(header.bytes));
  std::vector<uint32_t> flags(static_cast<size_t>(header.image_count));
  decode(threads, header, DecodeBatch(header, packed.data(), scratch.data(), out.data(), flags.data()));
  packed.check("the data");
  scratch.check("the scratch memory");
  out.check("the output");
  if (std::memcmp(packed.data(), given, static_cast<size_t>(header.bytes)) != 0)
    throw std::runtime_error("decode: written to the data");
  const auto height = static_cast<size_t>(header.height), width = static_cast<size_t>(header.width);
  return nb::make_tuple(bind::to_numpy<uint8_t, 4>(std::vector<uint8_t>(out.data(), out.data() + bytes),
                                                   {static_cast<size_t>(count), height, width, 3}),
                        bind::to_numpy<uint32_t, 1>(flags, {flags.size()}));
}

}  // namespace

void bind_decode(nb::module_& m) {
  m.def("decode", &emulate, "data"_a.noconvert(), "order"_a.noconvert(), "count"_a);
  m.attr("JUNK") = kJunk;
}

}  // namespace fl::block
