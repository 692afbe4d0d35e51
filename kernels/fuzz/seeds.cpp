// Writes what each target begins with: `fuzz_seeds FOLDER` makes FOLDER/parse and so on.
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "augment/program.h"
#include "fuzz/images.h"
#include "jpeg/layer/layer.h"
#include "jpeg/seek.h"

namespace {

using Data = std::vector<uint8_t>;
namespace fs = std::filesystem;

void write(const fs::path& folder, const std::string& name, const Data& choices,
           const Data& bytes) {
  std::ofstream out(folder / name, std::ios::binary);
  for (const Data& part : {choices, bytes})
    out.write(reinterpret_cast<const char*>(part.data()),
              static_cast<std::streamsize>(part.size()));
}

// Files; before them the choices of region and device: every scale, kind of index, filter and order
// of threads in turns.
void write_files(const fs::path& folder) {
  uint8_t number = 0;
  for (const auto& pictures : {fl::fuzz::pictures(), fl::fuzz::broken_pictures()}) {
    for (const fl::fuzz::Picture& picture : pictures) {
      write(folder / "parse", picture.name, {}, picture.bytes);
      write(folder / "verdict", picture.name, {}, picture.bytes);
      write(folder / "transcode", picture.name, {}, picture.bytes);
      write(folder / "region", picture.name,
            {number, 0, number, 1, number, number, number, 3, 16, 9, 200, 1}, picture.bytes);
      if (!fl::jpeg::build_index(picture.bytes, 1).index.empty())
        write(folder / "device", picture.name,
              {number, 0, number, 1,  number, number, number, 3, 16,     9,
               200,    1, number, 30, 20,     25,     0,      0, number, number},
              picture.bytes);
      ++number;
    }
  }
}

void write_indexes(const fs::path& folder) {
  uint8_t number = 0;
  for (const fl::fuzz::Picture& picture : fl::fuzz::pictures()) {
    if (fl::jpeg::build_index(picture.bytes, 1).index.empty()) continue;
    for (const int step : {0, 1, 3}) {
      const Data index = fl::jpeg::build_index(picture.bytes, step).index;
      write(folder, picture.name + "-" + std::to_string(step), {number, 0, 0, 1, 1}, index);
    }
    ++number;
  }
}

void write_layers(const fs::path& folder) {
  uint8_t number = 0;
  for (const fl::fuzz::Picture& picture : fl::fuzz::pictures()) {
    const Data layer = fl::jpeg::layer::build(picture.bytes).index;
    if (!layer.empty()) write(folder, picture.name, {number++, 0, 0, 1, 1, 0}, layer);
  }
}

// Every instruction, on images that are high, wide and tiny.
void write_programs(const fs::path& folder) {
  constexpr uint8_t kFraction = 0, kWhole = 128;  // of an argument: 256ths, or as it is
  for (int code = 0; code < fl::augment::kCodes; ++code) {
    for (const auto& [height, width, how] :
         {std::array<uint8_t, 3>{33, 19, 1}, {8, 129, 42}, {2, 1, 83}}) {
      Data row{static_cast<uint8_t>(code), how, 200};
      const bool maps = code == static_cast<int>(fl::augment::Code::kAffine) ||
                        code == static_cast<int>(fl::augment::Code::kPerspective);
      for (const int value : {280, 40, -300, -30, 230, 500, 1, 0}) {
        const int number = maps ? value : 3;
        for (const int byte : {number & 255, number >> 8 & 255, int{maps ? kFraction : kWhole}})
          row.push_back(static_cast<uint8_t>(byte));
      }
      const std::string name =
          fl::augment::kCodeNames[code] + std::string("-") + std::to_string(height);
      write(folder, name, {height, width, 255, 7, how, 0}, row);
    }
  }
}

// Pages of two values: plain, packed with copies, with levels, of indices.
void write_pages(const fs::path& folder) {
  const Data plain{3, 0, 0, 0, 'a', 'b', 'c', 2, 0, 0, 0, 'a', 'b'};
  Data packed{13, 6 << 2};  // a literal of 7 bytes, one of 4, and 2 bytes from 7 back
  packed.insert(packed.end(), plain.begin(), plain.begin() + 7);
  packed.insert(packed.end(), {3 << 2, 2, 0, 0, 0, 1 << 2 | 2, 7, 0});
  write(folder, "plain", {0, 2, 0, 0}, plain);
  write(folder, "packed", {1, 2, 0, 0}, packed);
  Data levels{2, 0, 0, 0, 4, 1};
  levels.insert(levels.end(), plain.begin(), plain.end());
  write(folder, "levels", {0, 2, 1, 0}, levels);
  write(folder, "second", {4, 2, 1, 2}, Data(levels.begin() + 4, levels.end()));
  write(folder, "indices", {2, 9, 0, 0}, {3, 3, 0x88, 0xC6, 0xFA, 2, 5});
}

// Rows of each filter, and the chunks of an image of one red pixel.
void write_pngs(const fs::path& folder) {
  for (uint8_t kind = 0; kind < 14; ++kind)
    for (const uint8_t how : {1, 3})
      write(folder, "rows-" + std::to_string(kind) + "-" + std::to_string(how),
            {how, kind, 8, 9, 1, 2, 3, 3}, {4, 200, 3, 90, 1, 17, 2, 255, 0, 128, 5});
  const Data chunks{0, 0, 0, 13, 'I', 'H', 'D', 'R', 0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0,
                    0, 0, 0, 0,                              // its checksum is made
                    0, 0, 0, 1,  'i', 'C', 'C', 'P', 0, 0, 0, 0, 0,
                    0, 0, 0, 15, 'I', 'D', 'A', 'T', 0x78, 1, 1, 4, 0, 0xFB, 0xFF, 0, 255, 0, 0,
                    4, 0, 1, 0,  0, 0, 0, 0,
                    0, 0, 0, 0,  'I', 'E', 'N', 'D', 0, 0, 0, 0};
  write(folder, "chunks", {0, 0, 0, 0, 0, 0, 0, 0}, chunks);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "fuzz_seeds: want one folder\n");
    return 2;
  }
  const fs::path folder = arguments[1];
  for (const char* target :
       {"parse", "verdict", "transcode", "region", "index", "layer", "device", "augment", "page",
        "png"})
    fs::create_directories(folder / target);
  write_files(folder);
  write_indexes(folder / "index");
  write_layers(folder / "layer");
  write_programs(folder / "augment");
  write_pages(folder / "page");
  write_pngs(folder / "png");
  return 0;
}
