// XXH3 by the header-only build of xxHash (XXH_INLINE_ALL): its functions are compiled into this
// file, so no library is linked and no symbol can meet another copy of xxHash in the process. Files
// that hash a stream in parts include the header in the same way.
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
