// libwebp takes all its memory in one file, utils.c, which is compiled to ask here
// (third_party/third_party.cmake). What it gives back is not counted off: it takes a few large
// pieces for an image, and keeps them to its end.
#include "webp/memory.h"

#include <cstdint>
#include <cstdlib>

namespace fl::webp {
namespace {

thread_local size_t left = SIZE_MAX;
thread_local bool refused = false, missing = false;

bool granted(size_t bytes) {
  refused = refused || bytes > left;
  if (refused) return false;
  if (left != SIZE_MAX) left -= bytes;
  return true;
}

void* noted(void* memory) {
  missing = missing || memory == nullptr;
  return memory;
}

}  // namespace

Allowance::Allowance(size_t bytes) {
  left = bytes;
  refused = missing = false;
}

Allowance::~Allowance() {
  left = SIZE_MAX;
  refused = missing = false;
}

bool Allowance::exceeded() const { return refused; }

bool Allowance::starved() const { return missing; }

}  // namespace fl::webp

extern "C" {

void* fastload_webp_malloc(size_t bytes) {
  return fl::webp::granted(bytes) ? fl::webp::noted(std::malloc(bytes)) : nullptr;
}

void* fastload_webp_calloc(size_t count, size_t bytes) {
  return fl::webp::granted(count * bytes) ? fl::webp::noted(std::calloc(count, bytes)) : nullptr;
}

void fastload_webp_free(void* memory) { std::free(memory); }
}
