// XXH3 of 64 bits: the checksum of shards, indexes and images.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace fl {

uint64_t xxh3(std::span<const uint8_t> bytes);
std::string xxhash_version();

}  // namespace fl
