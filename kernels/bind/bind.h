// One function per topic adds its part to the module.
#pragma once

#include <nanobind/nanobind.h>

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "augment/parse.h"
#include "bind/arrays.h"
#include "bind/records.h"
#include "engine/files.h"
#include "engine/pool.h"
#include "pixels/mix.h"
#include "pixels/resize.h"
#include "pixels/store.h"

namespace fl::bind {

// Python's Files and Pool: the engine's objects may outlive them, since jobs share them.
struct PyFiles {
  std::shared_ptr<const Files> files;
};

struct PyPool {
  std::shared_ptr<Pool> pool;
  ~PyPool();  // closes it: queued tasks are dropped
};

void bind_random(nb::module_& m);
void bind_images(nb::module_& m);
void bind_gpu(nb::module_& m);
void bind_lists(nb::module_& m);
void bind_files(nb::module_& m);
void bind_pool(nb::module_& m);
void bind_parquet(nb::module_& m);
void bind_png(nb::module_& m);
void bind_class_masks(nb::module_& m);
void bind_room(nb::module_& m);
void bind_job(nb::module_& m);
void bind_jpeg(nb::module_& m);
void bind_timing(nb::module_& m);
void bind_collector(nb::module_& m);
void bind_augment(nb::module_& m);
void bind_mix(nb::module_& m);
void bind_records(nb::module_& m);
void bind_device_programs(nb::module_& m);
void bind_device_store(nb::module_& m);
void bind_device_decode(nb::module_& m);
void bind_single(nb::module_& m);
void bind_draws(nb::module_& m);

cpu::Target parse_target(const std::string& name);

// Checks a STORE's table and out against each other; `shape` is what out must have.
cpu::Format check_store(const std::string& where, const StoreRecords& store, const Output& out,
                        std::initializer_list<int64_t> shape);
// The same of an out of `count` images of this size, px.
cpu::Format check_batch(const std::string& where, const StoreRecords& store, const Output& out,
                        int64_t count, int height, int width);
// The same of an out [count, tokens, patch * patch * 3], where images are cut into patches.
cpu::Format check_patches(const std::string& where, const StoreRecords& store, const Output& out,
                          int64_t count, int height, int width);

// Functions that programs may call, and whatever Python object keeps their code alive.
struct PyFunctions {
  std::vector<augment::Function> functions;
  nb::object owner;
};

// Of a PyFunctions or None; raises TypeError for anything else.
std::span<const augment::Function> parse_functions(const nb::object& functions);

// The programs of `count` images of this size.
std::vector<augment::Program> parse_programs(const std::string& where, const Programs& programs,
                                             int64_t count, int height, int width,
                                             std::span<const augment::Function> functions);

// The rows and columns to store of each of `count` images; without lists all of them.
struct KeptLists {
  std::vector<int32_t> rows, columns;  // empty: all
  int height, width;                   // of what is kept, px
};

KeptLists parse_kept(const std::string& where, const StoreRecords& store, int64_t count, int height,
                     int width);

// Boxes that are erased, each inside an image of this size, and what they are filled with, of out's
// type.
struct ErasedLists {
  std::vector<int32_t> boxes;
  std::vector<uint8_t> fills;
  int each = 0;  // K
};

ErasedLists parse_erased(const std::string& where, const StoreRecords& store,
                         nb::dlpack::dtype type, int64_t count, int height, int width);

// Noise in such boxes, or none.
struct NoiseLists {
  std::vector<Filling> fillings;  // empty: there is none
  std::vector<uint32_t> keys;
  std::span<const uint8_t> tables;  // the array's own bytes
};

NoiseLists parse_noise(const std::string& where, const std::optional<Noise>& noise,
                       nb::dlpack::dtype type, int64_t count, int64_t each);

// Partners are rows of body/mix.h: positions in the batch, and boxes inside an image of this size.
// Empty without.
std::vector<Partner> parse_partners(const std::string& where, const StoreRecords& store,
                                    int64_t count, int height, int width);

Number number_of(const Output& out);  // uint16 are the bits of bfloat16

}  // namespace fl::bind
