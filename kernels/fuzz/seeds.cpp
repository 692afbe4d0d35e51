// Writes what each target begins with: `fuzz_seeds FOLDER` makes FOLDER/parse, transcode, region and index.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "fuzz/images.h"
#include "jpeg/seek.h"

namespace {

using Data = std::vector<uint8_t>;
namespace fs = std::filesystem;

void write(const fs::path& folder, const std::string& name, const Data& choices, const Data& bytes) {
  std::ofstream out(folder / name, std::ios::binary);
  for (const Data& part : {choices, bytes})
    out.write(reinterpret_cast<const char*>(part.data()), static_cast<std::streamsize>(part.size()));
}

void write_all(const fs::path& folder) {
  for (const char* target : {"parse", "transcode", "region", "index"}) fs::create_directories(folder / target);
  uint8_t number = 0, indexed = 0;
  for (const auto& pictures : {fl::fuzz::pictures(), fl::fuzz::broken_pictures()}) {
    for (const fl::fuzz::Picture& picture : pictures) {
      write(folder / "parse", picture.name, {}, picture.bytes);
      write(folder / "transcode", picture.name, {}, picture.bytes);
      // Region's choices: every scale and kind of index, in turns.
      write(folder / "region", picture.name, {number, 0, number, 1, number, number, number, 3, 16, 9, 200, 1},
            picture.bytes);
      ++number;
    }
  }
  for (const fl::fuzz::Picture& picture : fl::fuzz::pictures()) {
    if (fl::jpeg::build_index(picture.bytes, 1).index.empty()) continue;
    for (const int step : {0, 1, 3}) {
      const Data index = fl::jpeg::build_index(picture.bytes, step).index;
      write(folder / "index", picture.name + "-" + std::to_string(step), {indexed, 0, 0, 1, 1}, index);
    }
    ++indexed;
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "fuzz_seeds: want one folder\n");
    return 2;
  }
  write_all(arguments[1]);
  return 0;
}
