// The filters of PNGs: every filter, bytes of a pixel, and length of row.
#include <algorithm>
#include <string>

#include "check.h"
#include "png/rows.h"

namespace fl::check {
namespace {

void one_row(Check& check, Random& random, uint8_t filter, int step) {
  const size_t bytes = static_cast<size_t>(random.between(1, 70)) * step;
  Bytes above(bytes + png::kSlack), scalar(bytes + png::kSlack), tuned(bytes + png::kSlack);
  fill(random, above.data(), above.size());
  fill(random, scalar.data(), scalar.size());
  std::copy_n(scalar.data(), scalar.size(), tuned.data());
  png::scalar::unfilter(filter, scalar.data(), above.data(), bytes, step);
  png::unfilter(filter, tuned.data(), above.data(), bytes, step);
  check.equal("filter " + std::to_string(filter) + ", " + std::to_string(step) + " bytes", scalar.data(), tuned.data(),
              scalar.size());
}

}  // namespace

void check_filters() {
  Check check("png filters");
  Random random(17);
  for (int n = 0; n < 100; ++n)
    for (const int step : {1, 2, 3, 4, 6, 8})
      for (uint8_t filter = 0; filter <= 4; ++filter) one_row(check, random, filter, step);
}

}  // namespace fl::check
