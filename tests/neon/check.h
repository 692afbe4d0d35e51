// What the checks share: random numbers that are the same on every machine, memory that ends at a forbidden page, and
// the comparison that ends the program at the first difference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace fl::check {

class Random {  // splitmix64: Steele, Lea, Flood, OOPSLA 2014
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  int between(int64_t low, int64_t high) {  // both included
    return static_cast<int>(low + static_cast<int64_t>(next() % static_cast<uint64_t>(high - low + 1)));
  }
  bool one_in(int n) { return between(1, n) == 1; }
  double real(double low, double high) {  // [low, high)
    return low + (high - low) * (static_cast<double>(next() >> 11) / 9007199254740992.0);
  }

  template <class T>
  T pick(std::initializer_list<T> of) {
    return of.begin()[between(0, static_cast<int64_t>(of.size()) - 1)];
  }

 private:
  uint64_t state_;
};

// The byte behind the last one may not be touched: the process would die.
class Bytes {
 public:
  explicit Bytes(size_t size, uint8_t value = 0xA5);
  ~Bytes();
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;

  uint8_t* data() { return data_; }
  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  uint8_t* data_;
  size_t size_, mapped_;
};

// Every value, black and white most often: sums that round or clip wrongly show first.
void fill(Random& random, uint8_t* values, size_t count);

// One kind of thing that is compared. On its end it prints how much was, and a digest of what the scalar code made.
class Check {
 public:
  explicit Check(std::string name) : name_(std::move(name)) {}
  ~Check();
  Check(const Check&) = delete;
  Check& operator=(const Check&) = delete;

  // Prints the first byte that differs and ends the program with 1.
  void equal(const std::string& what, const void* scalar, const void* tuned, size_t bytes);
  void equal(const std::string& what, int64_t scalar, int64_t tuned) { equal(what, &scalar, &tuned, sizeof scalar); }

 private:
  std::string name_;
  int64_t comparisons_ = 0, bytes_ = 0;
  uint64_t digest_ = 0xCBF29CE484222325;  // FNV-1a
};

void check_resize(), check_crop(), check_store(), check_mix(), check_filters();
void check_idct(), check_upsampling(), check_colour();
void check_coefficients(), check_regions(), check_layers();
void check_augment(), check_programs();

}  // namespace fl::check
