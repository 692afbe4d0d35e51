#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace fl {

uint64_t xxh3(std::span<const uint8_t> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::string xxhash_version() {
  return std::to_string(XXH_VERSION_MAJOR) + "." + std::to_string(XXH_VERSION_MINOR) + "." +
         std::to_string(XXH_VERSION_RELEASE);
}

}  // namespace fl
