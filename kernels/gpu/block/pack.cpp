// Programs as the device reads them. What a GPU would do worse, or with other bits, is done here: a
// blur's weights need exp, running sums go step by step. The rest of an instruction is copied.
// Programs were checked (augment/parse.h), so nothing is refused here but their size.
#include "gpu/block/pack.h"

#include <algorithm>
#include <cstring>

#include "augment/geometry.h"
#include "base/error.h"
#include "body/augment_blur.h"

namespace fl::block {
namespace {

using augment::Code;

constexpr size_t kMostExtras = size_t{1} << 30;  // bytes: offsets are int32
constexpr size_t kAlign = 16;                    // bytes

size_t aligned(size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

class Packer {
 public:
  explicit Packer(Packed& out) : out_(out) {}

  void add(const augment::Instruction& it) {
    Op op{};
    std::copy(it.arguments.begin(), it.arguments.end(), op.a);
    op.code = it.code;
    op.sampling = it.sampling;
    std::copy(it.fill.begin(), it.fill.end(), op.fill);
    if (it.code == Code::kGaussianBlur) weights(op);
    if (it.code == Code::kAffine &&
        (it.sampling == augment::Sampling::kNearest || augment::whole_shift(it)))
      walk(op);
    out_.needs.mixture |= it.code == Code::kStart;
    out_.needs.rows |= it.code == Code::kGaussianBlur;
    ops.push_back(op);
  }

  std::vector<Op> ops;
  std::vector<uint8_t> extras;

 private:
  // Valid until the next call: the vector may move.
  template <class T>
  T* extend(Op& op, size_t count) {
    op.extra = static_cast<int32_t>(extras.size());
    extras.resize(aligned(extras.size() + count * sizeof(T)));
    return reinterpret_cast<T*>(extras.data() + op.extra);
  }

  void weights(Op& op) {
    const int across = static_cast<int>(op.a[0]), down = static_cast<int>(op.a[1]);
    auto* to = extend<float>(op, across + down);
    gaussian(across, op.a[2], to);
    gaussian(down, op.a[3], to + across);
  }

  // As Pillow walks a nearest affine map; see augment/geometry.cpp.
  void walk(Op& op) {
    const double* a = op.a;
    if (a[1] != 0 || a[3] != 0) {
      op.walk = fits_fixed(a, out_.height, out_.width) ? Walk::kFixed : Walk::kSummed;
      return;
    }
    op.walk = Walk::kTables;
    auto* to = extend<int16_t>(op, out_.width + out_.height);
    positions(a[2] + a[0] * 0.5, a[0], out_.width, to);
    positions(a[5] + a[4] * 0.5, a[4], out_.height, to + out_.width);
  }

  static void positions(double at, double step, int count, int16_t* to) {
    for (int i = 0; i < count; ++i, at += step) to[i] = static_cast<int16_t>(inside(at, count));
  }

  Packed& out_;
};

}  // namespace

Packed pack(const std::string& where, const std::vector<augment::Program>& programs, int height,
            int width) {
  Packed out;
  out.count = static_cast<int64_t>(programs.size());
  out.height = height;
  out.width = width;
  Packer packer(out);
  std::vector<int32_t> first{0};
  for (const augment::Program& program : programs) {
    for (const augment::Instruction& it : program) packer.add(it);
    if (packer.extras.size() > kMostExtras)
      refuse(where, "tables", "over 1 GiB", "smaller images, or fewer instructions in a batch");
    first.push_back(static_cast<int32_t>(packer.ops.size()));
  }
  out.ops = aligned(first.size() * sizeof first[0]);
  out.extras = aligned(out.ops + packer.ops.size() * sizeof(Op));
  out.bytes.resize(out.extras + packer.extras.size());
  std::memcpy(out.bytes.data(), first.data(), first.size() * sizeof first[0]);
  if (!packer.ops.empty())
    std::memcpy(out.bytes.data() + out.ops, packer.ops.data(), packer.ops.size() * sizeof(Op));
  if (!packer.extras.empty())
    std::memcpy(out.bytes.data() + out.extras, packer.extras.data(), packer.extras.size());
  return out;
}

}  // namespace fl::block
