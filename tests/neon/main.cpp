// Are the tuned kernels bit-equal to the scalar ones on the instruction set that this program is built for? It needs
// neither Python nor files, so that it runs under an emulator. Prints what it compared; exits 1 at the first
// difference.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "check.h"
#include "simd/vectors.h"
#include "hwy/highway.h"

static_assert(HWY_STATIC_TARGET != HWY_SCALAR && HWY_STATIC_TARGET != HWY_EMU128, "nothing here would be tuned");

namespace fl::check {

Bytes::Bytes(size_t size, uint8_t value) : size_(size) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t usable = (size + page - 1) / page * page;
  mapped_ = usable + page;
  void* memory = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  auto* first = static_cast<uint8_t*>(memory);
  if (mprotect(first + usable, page, PROT_NONE) != 0) throw std::bad_alloc();
  data_ = first + usable - size;
  std::memset(first, value, usable);
}

Bytes::~Bytes() { munmap(data_ + size_ - (mapped_ - static_cast<size_t>(sysconf(_SC_PAGESIZE))), mapped_); }

void fill(Random& random, uint8_t* values, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const int value = random.between(-128, 383);
    values[i] = static_cast<uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
  }
}

void Check::equal(const std::string& what, const void* scalar, const void* tuned, size_t bytes) {
  const auto *want = static_cast<const uint8_t*>(scalar), *got = static_cast<const uint8_t*>(tuned);
  for (size_t i = 0; i < bytes; ++i) {
    if (want[i] != got[i]) {
      std::printf("%s: %s: byte %zu of %zu (got %d, want %d)\n", name_.c_str(), what.c_str(), i, bytes, got[i],
                  want[i]);
      std::fflush(stdout);
      std::_Exit(1);
    }
    digest_ = (digest_ ^ want[i]) * 0x100000001B3;
  }
  ++comparisons_;
  bytes_ += static_cast<int64_t>(bytes);
}

Check::~Check() {
  std::printf("%-20s %8lld comparisons %10lld bytes   digest %016llx\n", name_.c_str(),
              static_cast<long long>(comparisons_), static_cast<long long>(bytes_),
              static_cast<unsigned long long>(digest_));
  std::fflush(stdout);
}

}  // namespace fl::check

int main() {
  using namespace fl::check;
  std::fprintf(stderr, "scalar = tuned on %s?\n", hwy::TargetName(HWY_STATIC_TARGET));
  for (const auto check : {check_resize, check_crop, check_store, check_idct, check_upsampling, check_colour,
                           check_coefficients, check_regions, check_layers, check_augment, check_programs,
                           check_mix, check_filters})
    check();
}
