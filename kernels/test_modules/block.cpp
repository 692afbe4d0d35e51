// The extension module _test_block: AUGMENT's and JPEG decoding's phases by an emulated block, one
// thread after the other. For tests only; built with FASTLOAD_TEST_MODULES.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <barrier>
#include <thread>
#include <vector>

#include "augment/parse.h"
#include "base/error.h"
#include "bind/arrays.h"
#include "gpu/block/emulated.h"
#include "gpu/block/machine.h"
#include "gpu/block/pack.h"
#include "test_modules/decode.h"

namespace fl::block {
namespace {

namespace nb = nanobind;
using namespace nb::literals;
using bind::checked, bind::Input, bind::Output, bind::kAny;

std::vector<augment::Program> parse(const Input& programs, int64_t count, int height, int width) {
  const double* rows =
      checked<double>("emulate: programs", programs, {count, kAny, augment::kColumns});
  const auto depth = static_cast<int64_t>(programs.shape(1));
  std::vector<augment::Program> out;
  for (int64_t n = 0; n < count; ++n)
    out.push_back(augment::parse("emulate: programs[" + std::to_string(n) + "]",
                                 rows + n * depth * augment::kColumns, depth, height, width));
  return out;
}

// One block takes all images, so that what it leaves in shared memory meets the next image.
// block(memory, from, op, end, extras, height, width): one image.
template <class Block>
nb::object over(const Input& images, const Input& programs, int64_t limit, const Block& block) {
  const uint8_t* from = checked<uint8_t>("emulate: images", images, {kAny, kAny, kAny, 3});
  const auto count = static_cast<int64_t>(images.shape(0));
  const auto height = static_cast<int>(images.shape(1)), width = static_cast<int>(images.shape(2));
  const Packed packed =
      pack("emulate: programs", parse(programs, count, height, width), height, width);
  const int64_t bytes = int64_t{height} * width * 3;
  const Layout how = layout(bytes, packed.needs, limit);
  const Guarded shared(how.shared), workspace(how.workspace), out(count * bytes);
  const Programs all = packed.at(packed.bytes.data());
  for (int64_t n = 0; n < count; ++n) {
    const Memory memory(how, shared.data(), workspace.data(), out.data() + n * bytes);
    block(memory, from + n * bytes, all.ops + all.first[n], all.ops + all.first[n + 1], all.extras,
          height, width);
  }
  shared.check("shared memory");
  workspace.check("the workspace");
  out.check("the output");
  return bind::to_numpy<uint8_t, 4>(
      std::vector<uint8_t>(out.data(), out.data() + count * bytes),
      {static_cast<size_t>(count), static_cast<size_t>(height), static_cast<size_t>(width), 3});
}

nb::object emulate(const Input& images, const Input& programs, const Input& order, int64_t limit) {
  const EmulatedThreads threads{checked<int32_t>("emulate: order", order, {kAny}),
                                static_cast<int>(order.shape(0))};
  return over(images, programs, limit,
              [&](const Memory& memory, const uint8_t* from, const Op* op, const Op* end,
                  const uint8_t* extras, int height, int width) {
                Machine<EmulatedThreads>(threads, memory, height, width).run(from, op, end, extras);
              });
}

// As on the GPU: every thread has its own machine. Real threads, so ThreadSanitizer sees what a
// phase must not do.
struct HostThreads {
  int thread, count;
  std::barrier<>* wait;

  template <class Phase>
  void operator()(const Phase& phase) const {
    phase(thread, count);
    wait->arrive_and_wait();
  }
};

nb::object concurrent(const Input& images, const Input& programs, int count, int64_t limit) {
  return over(images, programs, limit,
              [&](const Memory& memory, const uint8_t* from, const Op* op, const Op* end,
                  const uint8_t* extras, int height, int width) {
                std::barrier wait(count);
                std::vector<std::jthread> threads;
                for (int thread = 0; thread < count; ++thread)
                  threads.emplace_back([&, thread] {
                    Machine<HostThreads>({thread, count, &wait}, memory, height, width)
                        .run(from, op, end, extras);
                  });
              });
}

nb::tuple layout_of(int height, int width, bool mixture, bool rows, int64_t limit) {
  const Layout how = layout(int64_t{height} * width * 3, {mixture, rows}, limit);
  return nb::make_tuple(how.shares_image, how.shares_other, how.shared, how.workspace);
}

}  // namespace
}  // namespace fl::block

NB_MODULE(_test_block, m) {
  using namespace fl::block;
  m.def("emulate", &emulate, "images"_a.noconvert(), "programs"_a.noconvert(),
        "order"_a.noconvert(), "limit"_a);
  m.def("concurrent", &concurrent, "images"_a.noconvert(), "programs"_a.noconvert(), "threads"_a,
        "limit"_a);
  bind_decode(m);
  m.def("layout", &layout_of, "height"_a, "width"_a, "mixture"_a, "rows"_a, "limit"_a);
}
