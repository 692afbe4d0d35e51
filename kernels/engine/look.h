// What a sample's bytes say, once they are read: their checksum, and the image's header.
#pragma once

#include "engine/sample.h"
#include "engine/worker.h"

namespace fl {

// Leaves the sample OK, with its size, or not OK. check: its checksum is compared.
void look(Sample& sample, bool check, Worker& worker);

}  // namespace fl
