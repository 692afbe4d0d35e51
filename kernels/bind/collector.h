// Python's Collector: jobs share the engine's, so it may outlive this object.
#pragma once

#include "bind/bind.h"
#include "engine/collector.h"

namespace fl::bind {

struct PyCollector {
  std::shared_ptr<Collector> collector;
};

}  // namespace fl::bind
