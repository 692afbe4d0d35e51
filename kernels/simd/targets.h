// Names of the instruction sets that the tuned code can use on this machine.
#pragma once

#include <string>
#include <vector>

namespace fl::cpu {

std::vector<std::string> targets();  // best first

// To be called before any tuned code runs.
void check_targets();

// From now on only this set and weaker ones are used, in the whole process; "": all. Throws
// ValueError for unknown ones.
void limit_targets(const std::string& name);

std::string highway_version();

}  // namespace fl::cpu
