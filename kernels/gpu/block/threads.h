// AUGMENT for a block of threads is written as phases. In a phase every thread does its share, in
// any order; then all wait for each other. `Threads` is such a block: the GPU's (cuda/augment.cu),
// or one thread after the other in any order, or threads of the host (test_modules/block.cpp),
// which is how tests run the same code without a GPU.
//
// What makes both the same: a phase captures by value and writes only to memory, never what another
// thread reads in the same phase; and between phases nothing is read that a phase has written,
// since a faster thread may be writing again.
#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace fl::block {

// item(i) for every i < count, by whichever thread.
template <class Threads, class Item>
FL_HD void each(const Threads& threads, int count, const Item& item) {
  threads([=](int thread, int all) {
    for (int i = thread; i < count; i += all) item(i);
  });
}

#ifndef __CUDA_ARCH__
// On the host: the value takes the other one's place if it is better, whoever writes meanwhile.
template <class Better>
void exchange_if(const Better& better, int32_t* to, int32_t value) {
  int32_t seen = __atomic_load_n(to, __ATOMIC_RELAXED);
  while (better(value, seen) && !__atomic_compare_exchange_n(to, &seen, value, false,
                                                             __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}
#endif

// Of memory that the block shares. Whole numbers only: their order cannot show.
FL_HD void atomic_add(uint32_t* to, uint32_t value) {
#ifdef __CUDA_ARCH__
  atomicAdd(to, value);
#else
  __atomic_fetch_add(to, value, __ATOMIC_RELAXED);
#endif
}

FL_HD void atomic_or(uint32_t* to, uint32_t bits) {
#ifdef __CUDA_ARCH__
  atomicOr(to, bits);
#else
  __atomic_fetch_or(to, bits, __ATOMIC_RELAXED);
#endif
}

FL_HD void atomic_min(int32_t* to, int32_t value) {
#ifdef __CUDA_ARCH__
  atomicMin(to, value);
#else
  exchange_if([](int32_t a, int32_t b) { return a < b; }, to, value);
#endif
}

FL_HD void atomic_max(int32_t* to, int32_t value) {
#ifdef __CUDA_ARCH__
  atomicMax(to, value);
#else
  exchange_if([](int32_t a, int32_t b) { return a > b; }, to, value);
#endif
}

}  // namespace fl::block
