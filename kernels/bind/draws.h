// Python's Draws, and one run of them: what is drawn, and into which arrays.
#pragma once

#include <memory>
#include <vector>

#include "bind/bind.h"
#include "engine/draws.h"

namespace fl::bind {

struct PyDraws {
  std::shared_ptr<const draws::Program> program;
};

// Checked. The arrays are the caller's, who keeps them.
struct Drawn {
  std::shared_ptr<const draws::Program> program;
  std::vector<int64_t> samples, occurrences;
  const double* given;
  std::vector<void*> outs;

  static Drawn of(const PyDraws& draws, const Input& samples, const Input& occurrences,
                  const Input& given, const std::vector<Output>& outs);
  static Drawn of(const std::shared_ptr<const draws::Program>& program,
                  std::vector<int64_t> samples, std::vector<int64_t> occurrences,
                  const Input& given, const std::vector<Output>& outs);
  int64_t count() const { return static_cast<int64_t>(samples.size()); }
  // sizes: int32 [count, 2], px. As draws::run. Any thread, without the GIL.
  bool run(uint64_t seed, uint32_t epoch, const int32_t* sizes) const;
};

}  // namespace fl::bind
