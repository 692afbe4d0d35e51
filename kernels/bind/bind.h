// One function per topic adds its part to the module.
#pragma once

#include <nanobind/nanobind.h>

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "augment/program.h"
#include "bind/arrays.h"
#include "core/files.h"
#include "core/pool.h"
#include "cpu/resize.h"
#include "cpu/store.h"

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
void bind_files(nb::module_& m);
void bind_pool(nb::module_& m);
void bind_job(nb::module_& m);
void bind_jpeg(nb::module_& m);
void bind_timing(nb::module_& m);
void bind_collector(nb::module_& m);
void bind_augment(nb::module_& m);
void bind_device_programs(nb::module_& m);

cpu::Target parse_target(const std::string& name);

// Checks table and out of a STORE against each other; `shape` is what out must have.
cpu::Format check_store(const std::string& where, const std::optional<Input>& table, const Output& out,
                        std::initializer_list<int64_t> shape, bool channels_last);

// The programs float64 [count, depth, 13] of images of this size.
std::vector<augment::Program> parse_programs(const std::string& where, const Input& programs, int64_t count, int height,
                                             int width);

// The rows and columns to store of each of `count` images: lists int32 [1 or count, kept], or None twice for all of
// them.
struct KeptLists {
  std::vector<int32_t> rows, columns;  // empty: all
  int height, width;                   // of what is kept, px
};

KeptLists parse_kept(const std::string& where, const std::optional<Input>& rows, const std::optional<Input>& columns,
                     int64_t count, int height, int width);

cpu::Target parse_target(const std::string& name);

}  // namespace fl::bind
