// Runs a program of draws, `kLanes` samples at a time. The registers are the thread's own and live
// on from batch to batch.
#include "engine/draws.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>

#include "base/error.h"

namespace fl::draws {
namespace {

constexpr double kLowest = -2147483648.0, kHighest = 2147483647.0, kUnsigned = 4294967295.0;

// The registers of one batch's program: whoever runs a step sees only this.
struct Machine {
  const Program& program;
  double* at;  // [registers, kLanes]
  int n;       // lanes that count
  bool good = true;

  double* of(int32_t number) const { return at + static_cast<ptrdiff_t>(number) * kLanes; }
  double listed(int32_t place, int lane) const { return of(program.lists[place])[lane]; }

  void pick(const Step& it) {
    for (int i = 0; i < n; ++i) {
      const double which = of(it.a)[i];
      const bool there = which >= 0 && which < it.c;
      good &= there;
      of(it.out)[i] = there ? listed(it.b + static_cast<int32_t>(which), i) : 0.0;
    }
  }

  void argmax(const Step& it) {
    for (int i = 0; i < n; ++i) {
      int32_t best = 0;
      for (int32_t k = 1; k < it.c; ++k)
        if (listed(it.b + k, i) > listed(it.b + best, i)) best = k;
      of(it.out)[i] = best;
    }
  }

  void sort(const Step& it, bool places) {
    std::vector<std::pair<double, int32_t>> order(it.c);
    for (int i = 0; i < n; ++i) {
      for (int32_t k = 0; k < it.c; ++k) order[k] = {listed(it.b + k, i), k};
      std::sort(order.begin(), order.end());  // equal ones by place, as a stable sort
      for (int32_t k = 0; k < it.c; ++k)
        of(it.out + k)[i] = places ? order[k].second : order[k].first;
    }
  }

  void call(const Step& it, const double* where) {
    const Function& function = program.functions[it.b];
    double *from = of(it.a), *to = of(it.out);
    if (function.plain != nullptr) {
      for (int i = 0; i < n; ++i)
        to[i] = where == nullptr || where[i] != 0 ? function.plain(from[i]) : 0.0;
      return;
    }
    char* arrays[] = {reinterpret_cast<char*>(from), reinterpret_cast<char*>(to)};
    const intptr_t count = n, strides[] = {sizeof(double), sizeof(double)};
    function.loop(arrays, &count, strides, function.data);
  }

  void step(const Step& it) {
    switch (it.code) {
      case Code::k_pick:
        return pick(it);
      case Code::k_argmax:
        return argmax(it);
      case Code::k_argsort:
        return sort(it, true);
      case Code::k_sort:
        return sort(it, false);
      case Code::k_call:
        return call(it, nullptr);
      case Code::k_masked:
        return call(it, of(it.c));
      default:
        elementwise(it.code, of(it.a), of(it.b), of(it.c), of(it.out), n);
    }
  }

  void refuse() {
    for (const int32_t number : program.refusals)
      for (int i = 0; i < n; ++i) good &= of(number)[i] == 0;
  }

  template <class T>
  void write(const Output& output, double low, double high, T* out) {
    const size_t width = output.of.size();
    for (size_t k = 0; k < width; ++k) {
      const double* from = of(output.of[k]);
      for (int i = 0; i < n; ++i) {
        const double value = from[i];
        const bool fits = std::is_same_v<T, double> || (value >= low && value <= high);
        good &= fits;
        out[static_cast<size_t>(i) * width + k] = fits ? static_cast<T>(value) : T{};
      }
    }
  }

  void write(const Output& output, int64_t first, void* out) {
    const int64_t start = first * static_cast<int64_t>(output.of.size());
    switch (output.kind) {
      case Kind::kInt32:
        return write(output, kLowest, kHighest, static_cast<int32_t*>(out) + start);
      case Kind::kUint32:
        return write(output, 0, kUnsigned, static_cast<uint32_t*>(out) + start);
      case Kind::kDouble:
        return write(output, 0, 0, static_cast<double*>(out) + start);
    }
  }
};

// Only what is asked for of the four that Philox gives at once.
void draw(const Machine& machine, const Keys& keys, int64_t first) {
  alignas(64) std::array<double, 4 * kLanes> four;
  int32_t op = -1, block = -1;
  for (const Uniform& it : machine.program.uniforms) {
    if (it.op != op || it.column / 4 != block) {
      op = it.op;
      block = it.column / 4;
      uniforms(keys, first, machine.n, static_cast<uint32_t>(op), static_cast<uint32_t>(block),
               four.data());
    }
    std::memcpy(machine.of(it.into), four.data() + it.column % 4 * kLanes,
                machine.n * sizeof(double));
  }
}

void take(const Machine& machine, const int32_t* sizes, const double* given, int64_t first) {
  const Program& program = machine.program;
  for (size_t k = 0; k < program.sizes.size(); ++k)
    for (int i = 0; i < machine.n; ++i)
      machine.of(program.sizes[k])[i] = sizes[(first + i) * 2 + static_cast<int64_t>(k)];
  const auto width = static_cast<int64_t>(program.given.size());
  for (int64_t k = 0; k < width; ++k)
    for (int i = 0; i < machine.n; ++i)
      machine.of(program.given[k])[i] = given[(first + i) * width + k];
}

void in_range(const char* what, int64_t got, int64_t below) {
  if (got < 0 || got >= below)
    refuse("Draws", what, std::to_string(got), "0.." + std::to_string(below - 1));
}

void check(const Program& program, const Step& it) {
  const int64_t registers = program.registers;
  in_range("step", static_cast<int64_t>(it.code), kCodes);
  const bool sorts = it.code == Code::k_sort || it.code == Code::k_argsort;
  in_range("out", it.out, registers);
  if (sorts) in_range("last out", int64_t{it.out} + it.c, registers + 1);
  const bool lists = sorts || it.code == Code::k_argmax || it.code == Code::k_pick;
  if (!sorts && it.code != Code::k_argmax) in_range("a", it.a, registers);
  if (lists) {
    in_range("count", int64_t{it.c} - 1, static_cast<int64_t>(program.lists.size()));
    in_range("first", it.b, static_cast<int64_t>(program.lists.size()) - it.c + 1);
    return;
  }
  const bool calls = it.code == Code::k_call || it.code == Code::k_masked;
  in_range("b", it.b, calls ? static_cast<int64_t>(program.functions.size()) : registers);
  in_range("c", it.c, registers);
}

}  // namespace

void check(const Program& program) {
  const int64_t registers = program.registers;
  in_range("registers", registers, int64_t{1} << 22);
  for (const Step& it : program.steps) check(program, it);
  for (const auto& [number, value] : program.constants) in_range("constant", number, registers);
  for (const auto* list : {&program.lists, &program.sizes, &program.given, &program.refusals})
    for (const int32_t number : *list) in_range("register", number, registers);
  if (!program.sizes.empty()) in_range("sizes", static_cast<int64_t>(program.sizes.size()) - 2, 1);
  for (const Output& output : program.outputs)
    for (const int32_t number : output.of) in_range("output", number, registers);
  for (const Uniform& it : program.uniforms) {
    in_range("op", it.op, 1 << 16);
    in_range("draw", it.column, 4 << 16);
    in_range("uniform", it.into, registers);
  }
}

bool run(const Program& program, const Keys& keys, const int32_t* sizes, const double* given,
         std::span<void* const> outs) {
  thread_local std::vector<double> registers;
  registers.resize(static_cast<size_t>(program.registers + 1) * kLanes);
  Machine machine{program, registers.data(), kLanes};
  for (const auto& [number, value] : program.constants)
    std::fill_n(machine.of(number), kLanes, value);
  const auto count = static_cast<int64_t>(keys.samples.size());
  for (int64_t first = 0; first < count && machine.good; first += kLanes) {
    machine.n = static_cast<int>(std::min<int64_t>(kLanes, count - first));
    draw(machine, keys, first);
    take(machine, sizes, given, first);
    for (const Step& it : program.steps) machine.step(it);
    machine.refuse();
    for (size_t k = 0; k < program.outputs.size(); ++k)
      machine.write(program.outputs[k], first, outs[k]);
  }
  return machine.good;
}

}  // namespace fl::draws
