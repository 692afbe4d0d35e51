// What a job and a device's decoding are both told of a batch's crops.
//
// Crops may be drawn before sizes are known, so they are checked against the images here, when both
// are there. Only samples that will be made are checked.
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include "base/error.h"
#include "bind/job.h"

namespace fl::bind {

void check_crops(const std::string& function, const Job& job, const std::vector<Crop>& crops,
                 const std::vector<Crop>* others, int height, int width) {
  for (int64_t n = 0; n < job.size(); ++n) {
    const Sample& it = job.sample(n);
    if (it.status != kOk || it.stored) continue;
    const std::string where = function + ": crops[" + std::to_string(n) + "]";
    cpu::check_crop(crops[n], it.height, it.width, height, width, where);
    if (others != nullptr && crops[n].scale != (*others)[n].scale)
      refuse(where, "scale", std::to_string(crops[n].scale),
             std::to_string((*others)[n].scale) + ", that of the sample's other pictures");
    if (it.pixels.data != nullptr && crops[n].scale != it.pixels_scale)
      refuse(where, "scale", std::to_string(crops[n].scale),
             std::to_string(it.pixels_scale) + ", that of the pixels given for it");
  }
}

std::vector<Filter> parse_filters(const std::string& function,
                                  const std::variant<std::string, Input>& filter, int64_t count) {
  if (const auto* name = std::get_if<std::string>(&filter)) return {cpu::parse_filter(*name)};
  constexpr Filter kByNumber[] = {Filter::kNearest, Filter::kLanczos, Filter::kBilinear,
                                  Filter::kBicubic, Filter::kBox,     Filter::kHamming};
  const int32_t* numbers =
      checked<int32_t>(function + ": filter", std::get<Input>(filter), {count});
  std::vector<Filter> out{Filter::kBilinear};
  if (count > 0) out.clear();
  for (int64_t n = 0; n < count; ++n) {
    if (numbers[n] < 0 || numbers[n] > 5)
      refuse(function + ": filter[" + std::to_string(n) + "]", "number", std::to_string(numbers[n]),
             "0 to 5");
    out.push_back(kByNumber[numbers[n]]);
  }
  return out;
}

}  // namespace fl::bind
