// What DeviceDecode packs, decoded by an emulated block.
//
// The data are copied behind a guard and compared afterwards: the decoder must not write to them,
// nor beyond its memory.
#include "test_modules/decode.h"

#include <cstring>
#include <vector>

#include "base/error.h"
#include "bind/arrays.h"
#include "gpu/block/emulated_decode.h"

namespace fl::block {
namespace {

namespace nb = nanobind;
using namespace nb::literals;
using bind::checked, bind::Input, bind::kAny;

// What DeviceDecode.pack wrote -> crops uint8 [count, height, width, 3], flags uint32 [images].
nb::tuple emulate(const Input& data, const Input& order, int64_t count) {
  const uint8_t* bytes_in = checked<uint8_t>("decode: data", data, {kAny});
  const EmulatedThreads threads{checked<int32_t>("decode: order", order, {kAny}),
                                static_cast<int>(order.shape(0))};
  DecodeHeader header;
  if (data.shape(0) < sizeof header)
    refuse("decode", "data", std::to_string(data.shape(0)), "a header at least");
  std::memcpy(&header, bytes_in, sizeof header);
  if (header.bytes != static_cast<int64_t>(data.shape(0)))
    refuse("decode", "data", std::to_string(data.shape(0)), std::to_string(header.bytes));
  const int64_t bytes = count * header.height * header.width * 3;
  const Guarded packed(header.bytes), scratch(header.scratch), out(bytes);
  std::memcpy(packed.data(), bytes_in, static_cast<size_t>(header.bytes));
  std::vector<uint32_t> flags(static_cast<size_t>(header.image_count));
  decode(threads, header,
         DecodeBatch(header, packed.data(), scratch.data(), out.data(), flags.data()));
  packed.check("the data");
  scratch.check("the scratch memory");
  out.check("the output");
  if (std::memcmp(packed.data(), bytes_in, static_cast<size_t>(header.bytes)) != 0)
    throw std::runtime_error("decode: written to the data");
  const auto height = static_cast<size_t>(header.height), width = static_cast<size_t>(header.width);
  return nb::make_tuple(
      bind::to_numpy<uint8_t, 4>(std::vector<uint8_t>(out.data(), out.data() + bytes),
                                 {static_cast<size_t>(count), height, width, 3}),
      bind::to_numpy<uint32_t, 1>(flags, {flags.size()}));
}

}  // namespace

void bind_decode(nb::module_& m) {
  m.def("decode", &emulate, "data"_a.noconvert(), "order"_a.noconvert(), "count"_a);
  m.attr("JUNK") = kJunk;
}

}  // namespace fl::block
