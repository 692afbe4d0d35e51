// Names of the instruction sets that the tuned code can use on this machine.
//
// Highway compiles the tuned files once per instruction set and picks the best one at the first
// call, by what the CPU says it has. This file decides what it may pick from.
#include "simd/targets.h"

#include "base/error.h"
#include "simd/vectors.h"

#include "hwy/highway.h"

namespace fl::cpu {

std::vector<std::string> targets() {
  std::vector<std::string> names;
  // Highway gives better sets lower bits.
  for (int64_t left = hwy::SupportedTargets() & HWY_TARGETS; left != 0; left &= left - 1)
    names.emplace_back(hwy::TargetName(left & -left));
  return names;
}

// The code for AVX3 needs VNNI and VBMI too (vector_ops.h), which every machine with AVX3_DL has.
// Highway is asked: __builtin_cpu_supports says no in a build by Zig.
void check_targets() {
#if HWY_ARCH_X86
  if ((hwy::SupportedTargets() & HWY_AVX3_DL) == 0) hwy::DisableTargets(HWY_AVX3);
#endif
}

// For tests and benchmarks: a machine with AVX-512 runs the code of AVX2 and SSE too. Not
// thread-safe; nothing tuned may run meanwhile.
void limit_targets(const std::string& name) {
  hwy::SetSupportedTargetsForTest(0);  // no limit
  int64_t allowed = 0;
  for (int64_t left = hwy::SupportedTargets() & HWY_TARGETS; left != 0 && allowed == 0;
       left &= left - 1)
    if (hwy::TargetName(left & -left) == name) allowed = left;
  if (allowed == 0 && !name.empty())
    refuse("limit_targets", "instruction set", '"' + name + '"', "one of targets()");
  hwy::SetSupportedTargetsForTest(allowed);
  hwy::GetChosenTarget().DeInit();
}

std::string highway_version() {
  return std::to_string(HWY_MAJOR) + "." + std::to_string(HWY_MINOR);
}

}  // namespace fl::cpu
