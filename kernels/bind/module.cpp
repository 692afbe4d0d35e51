// The extension module fastload._native; its contract is fastload/_native.pyi.
#include "base/error.h"
#include "bind/bind.h"
#include "bind/paths.h"
#include "simd/targets.h"

namespace fl::bind {
namespace {

// OSError(errno, text, path) where the system gave an errno, so that Python picks FileNotFoundError
// and the like.
void translate(const std::exception_ptr& raised, void*) {
  try {
    std::rethrow_exception(raised);
  } catch (const FileError& error) {
    if (error.code == 0) {
      PyErr_SetObject(PyExc_OSError, readable(error.what()).ptr());
      return;
    }
    errno = error.code;
    PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, nb::cast(FsPath{error.path}).ptr());
  }
}

}  // namespace
}  // namespace fl::bind

NB_MODULE(_native, m) {
  using namespace fl::bind;
  fl::cpu::check_targets();
  nb::set_leak_warnings(false);  // a pool in a global variable at exit is not an error
  nb::register_exception_translator(translate);
  bind_random(m);
  bind_images(m);
  bind_gpu(m);
  bind_files(m);
  bind_lists(m);
  bind_pool(m);
  bind_parquet(m);
  bind_png(m);
  bind_class_masks(m);
  bind_records(m);
  bind_room(m);
  bind_job(m);
  bind_jpeg(m);
  bind_timing(m);
  bind_collector(m);
  bind_augment(m);
  bind_mix(m);
  bind_device_programs(m);
  bind_device_store(m);
  bind_device_decode(m);
  bind_single(m);
  bind_draws(m);
}
