// What ops draw for each sample of a batch, without Python: a program over registers, recorded from
// the NumPy of the ops themselves (fastload/draws/). NumPy's results stay the reference: every step
// rounds as NumPy's does, and functions that round in their own way are NumPy's own loops.
//
// A register holds one number of each of `kLanes` samples. All numbers are doubles: what NumPy has
// as int32, uint32, float32 or bool is exact in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fl::draws {

// The one table of elementwise steps, in C++ and in Python (`_native.DRAW_STEPS`): name, and result
// of the registers a, b and c. A name is NumPy's where the step is NumPy's function.
#define FL_DRAW_STEPS(X)                                    \
  X(add, a + b)                                             \
  X(subtract, a - b)                                        \
  X(multiply, a* b)                                         \
  X(divide, a / b)                                          \
  X(floor_divide, std::floor(a / b)) /* of whole numbers */ \
  X(remainder, modulo(a, b))                                \
  X(negative, -a)                                           \
  X(absolute, std::fabs(a))                                 \
  X(floor, std::floor(a))                                   \
  X(rint, std::nearbyint(a))                                \
  X(trunc, std::trunc(a))                                   \
  X(sqrt, std::sqrt(a))                                     \
  X(minimum, a < b || a != a ? a : b)                       \
  X(maximum, a > b || a != a ? a : b)                       \
  X(less, a < b)                                            \
  X(less_equal, a <= b)                                     \
  X(greater, a > b)                                         \
  X(greater_equal, a >= b)                                  \
  X(equal, a == b)                                          \
  X(not_equal, a != b)                                      \
  X(logical_and, a != 0 && b != 0)                          \
  X(logical_or, a != 0 || b != 0)                           \
  X(logical_xor, (a != 0) != (b != 0))                      \
  X(logical_not, a == 0)                                    \
  X(where, a != 0 ? b : c)                                  \
  X(single, static_cast<double>(static_cast<float>(a)))     \
  X(whole, std::trunc(a) + 0.0)                             \
  X(signed32, a >= 2147483648.0 ? a - 4294967296.0 : a)     \
  X(unsigned32, a < 0 ? a + 4294967296.0 : a)

// Steps with a list of registers, `count` of them from `first` on in Program::lists.
#define FL_DRAW_LIST_STEPS(X)                                          \
  X(pick)    /* out: list[a], b: first, c: count */                    \
  X(argmax)  /* out: which of the list is the first that is largest */ \
  X(argsort) /* out and those after it: NumPy's stable argsort */      \
  X(sort)                                                              \
  X(call)   /* out: function number b of a */                          \
  X(masked) /* the same where c is not 0, else 0 */

// clang-format off
#define FL_NAMED(name, ...) k_##name,
enum class Code : uint8_t { FL_DRAW_STEPS(FL_NAMED) FL_DRAW_LIST_STEPS(FL_NAMED) };
#undef FL_NAMED
#define FL_NAMED(name, ...) #name,
constexpr const char* kStepNames[] = {FL_DRAW_STEPS(FL_NAMED) FL_DRAW_LIST_STEPS(FL_NAMED)};
#undef FL_NAMED
// clang-format on
constexpr int kElementwise = static_cast<int>(Code::k_pick);
constexpr int kCodes = static_cast<int>(Code::k_masked) + 1;
constexpr int kLanes = 64;

struct Step {
  Code code;
  int32_t out, a, b, c;
};

// A uniform draw: number `column` of those of op number `op`.
struct Uniform {
  int32_t op, column, into;
};

// A function of one number: a loop as NumPy's ufuncs have it, or a function of <cmath>.
struct Function {
  using Loop = void (*)(char** arrays, const intptr_t* count, const intptr_t* strides, void* data);
  using Plain = double (*)(double);

  Loop loop = nullptr;
  void* data = nullptr;
  Plain plain = nullptr;  // where there is no loop
};

enum class Kind : uint8_t { kInt32, kUint32, kDouble };

struct Output {
  Kind kind;
  std::vector<int32_t> of;  // registers, of each sample
};

struct Program {
  int32_t registers = 0;
  std::vector<Step> steps;
  std::vector<int32_t> lists;
  std::vector<std::pair<int32_t, double>> constants;
  std::vector<Uniform> uniforms;  // by op, then by column
  std::vector<int32_t> sizes;     // registers of height and width; empty: not asked
  std::vector<int32_t> given;     // registers of what Python gives
  std::vector<int32_t> refusals;  // where one is not 0, NumPy has to say what is wrong
  std::vector<Output> outputs;
  std::vector<Function> functions;
};

// Throws ValueError where a step names what is not there.
void check(const Program& program);

// What a batch's draws depend on.
struct Keys {
  uint64_t seed;
  uint32_t epoch;
  std::span<const int64_t> samples, occurrences;
};

// sizes: int32 [N, 2]; given: [N, K]; outs: of each output [N, of.size()] of its kind. False where
// something is out of its range: nothing of the outputs counts then. Any thread.
bool run(const Program& program, const Keys& keys, const int32_t* sizes, const double* given,
         std::span<void* const> outs);

// In vector code (draw_steps.cpp): `n` lanes.
void elementwise(Code code, const double* x, const double* y, const double* z, double* out, int n);
// Four uniforms of each of `n` lanes, as body/philox.h draws them, `kLanes` apart.
void uniforms(const Keys& keys, int64_t first, int n, uint32_t op, uint32_t block, double* out);

}  // namespace fl::draws
