// Names of the instruction sets that the tuned code can use on this machine.
#include "cpu/targets.h"

#include "cpu/vectors.h"
#include "hwy/highway.h"

namespace fl::cpu {

std::vector<std::string> targets() {
  std::vector<std::string> names;
  // Highway gives better sets lower bits.
  for (int64_t left = hwy::SupportedTargets() & HWY_TARGETS; left != 0; left &= left - 1)
    names.emplace_back(hwy::TargetName(left & -left));
  return names;
}

std::string highway_version() { return std::to_string(HWY_MAJOR) + "." + std::to_string(HWY_MINOR); }

}  // namespace fl::cpu
