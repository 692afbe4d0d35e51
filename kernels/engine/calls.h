// What the compiled loops of other loaders call by address: plain C, no exceptions, no GIL.
#pragma once

#include <cstdint>

extern "C" {

// Sample n of the lent Job whose address stands at `job` (0: nobody waits, nothing is done), which
// this thread reads and makes. Returns the sample's status (fl::Status).
int32_t fastload_make_sample(const int64_t* job, int64_t n);

// Sample n of the lent Job at address `job`, from its pixels uint8 [height, width, 3]. Returns its
// status.
int32_t fastload_give_pixels(int64_t job, int64_t n, const uint8_t* pixels);
}
