// Names of the instruction sets that the tuned code can use on this machine.
#pragma once

#include <string>
#include <vector>

namespace fl::cpu {

std::vector<std::string> targets();  // best first
std::string highway_version();

}  // namespace fl::cpu
