// How much memory libwebp may take for one image. A file of some kilobytes can ask it for a
// thousand times its size: for tables of codes, before any of them is read.
#pragma once

#include <cstddef>

namespace fl::webp {

// While it lives, what libwebp takes in this thread is counted, and refused beyond `bytes`. Not
// where libwebp is the system's: it asks the system then.
class Allowance {
 public:
  explicit Allowance(size_t bytes);
  ~Allowance();
  Allowance(const Allowance&) = delete;
  Allowance& operator=(const Allowance&) = delete;

  bool exceeded() const;
  bool starved() const;  // the system had no more, which libwebp alone does not tell
};

}  // namespace fl::webp
