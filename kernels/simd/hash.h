// XXH3 of 64 bits: the checksum of shards, indexes and images.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace fl {

// XXH3_64bits with the default secret and seed 0, so the numbers are those of the Python package
// xxhash and of every other implementation. Not cryptographic: it finds accidents, not attacks.
uint64_t xxh3(std::span<const uint8_t> bytes);
std::string xxhash_version();

}  // namespace fl
