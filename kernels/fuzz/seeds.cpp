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
  const Data chunks{0,    0,    0, 13,  'I', 'H', 'D', 'R', 0,    0, 0, 1, 0,
                    0,    0,    1, 8,   2,   0,   0,   0,   0,    0, 0, 0,  // its checksum is made
                    0,    0,    0, 1,   'i', 'C', 'C', 'P', 0,    0, 0, 0, 0,
                    0,    0,    0, 15,  'I', 'D', 'A', 'T', 0x78, 1, 1, 4, 0,
                    0xFB, 0xFF, 0, 255, 0,   0,   4,   0,   1,    0, 0, 0, 0,
                    0,    0,    0, 0,   0,   'I', 'E', 'N', 'D',  0, 0, 0, 0};
  write(folder, "chunks", {0, 0, 0, 0, 0, 0, 0, 0}, chunks);
}

// Of libwebp's encoder: lossy, two lossless ones (one of few colours), and one with transparency.
void write_webps(const fs::path& folder) {
  const Data lossy{80,  4,   0,   157, 1,   42,  19,  0,   20,  0,   63,  57,  138, 188, 84,  175,
                   41,  166, 35,  40,  13,  81,  224, 39,  9,   64,  0,   4,   108, 144, 34,  48,
                   96,  76,  47,  233, 182, 218, 74,  10,  190, 106, 128, 0,   254, 205, 124, 77,
                   5,   146, 27,  92,  59,  210, 87,  133, 111, 22,  240, 178, 176, 114, 225, 201,
                   67,  135, 122, 74,  136, 210, 39,  61,  214, 126, 161, 188, 192, 242, 132, 73,
                   54,  175, 239, 128, 103, 239, 36,  253, 10,  246, 221, 138, 169, 172, 231, 148,
                   190, 249, 15,  87,  40,  186, 123, 106, 210, 121, 223, 159, 95,  59,  78,  11,
                   37,  213, 192, 239, 191, 147, 146, 69,  234, 119, 191, 0,   0,   0};
  const Data few{47,  7,   0,   1,   0,   31,  160, 166, 109, 3,   22,  51,  104, 191, 45,
                 32,  33,  22,  240, 195, 255, 127, 18,  200, 166, 33,  131, 47,  131, 230,
                 63,  222, 5,   24,  26,  40,  100, 35,  9,   90,  180, 165, 89,  167, 59,
                 175, 131, 249, 79,  35,  162, 255, 129, 160, 171, 44,  243, 1};
  const Data lossless{
      47,  8,   64,  1,   0,   175, 193, 40,  146, 36,  69,  203, 140, 223, 51,  116, 238, 207, 11,
      243, 245, 216, 96,  27,  0,   64,  18,  26,  236, 214, 11,  252, 255, 35,  231, 118, 163, 139,
      113, 36,  217, 74,  222, 190, 143, 187, 198, 67,  254, 33,  112, 230, 232, 238, 188, 63,  255,
      97,  183, 176, 245, 166, 128, 28,  70,  136, 238, 25,  112, 132, 49,  241, 22,  44,  35,  198,
      97,  72,  90,  131, 32,  54,  141, 8,   23,  54,  206, 28,  79,  134, 146, 193, 180, 159, 53,
      139, 67,  48,  95,  26,  114, 250, 57,  12,  114, 2,   149, 12,  104, 75,  250, 176, 189, 170,
      181, 38,  178, 32,  136, 204, 2,   76,  168, 2,   144, 26,  174, 199, 198, 4,   253, 218, 71,
      77,  31,  114, 188, 228, 196, 78,  77,  199, 64,  226, 55,  195, 137, 6,   154, 77,  6,   55,
      239, 38,  53,  177, 242, 51,  59,  23,  105, 223, 144, 27,  180, 84,  198, 61,  5,   134, 1,
      0,   22,  141, 206, 200, 182, 109, 23,  209, 255, 128, 0,   17,  133, 203, 117, 98,  244, 125,
      212, 126, 180, 28,  124, 221, 155, 54,  124, 71,  46,  206, 197, 109, 90,  207, 207, 244, 217,
      12,  140, 186, 42,  146, 206, 222, 211, 50,  10,  227, 31};
  const Data clear{// the plane of transparency has 43 bytes
                   0,   32,  39,  13, 26, 58,  56,  14, 29,  30,  62,  67,  36,  44,  46,
                   41,  62,  43,  72, 62, 38,  55,  68, 77,  91,  69,  69,  65,  88,  78,
                   95,  78,  88,  91, 92, 69,  80,  60, 93,  84,  100, 103, 118, 144, 1,
                   0,   157, 1,   42, 6,  0,   7,   0,  7,   64,  150, 37,  140, 0,   2,
                   229, 171, 206, 32, 0,  254, 218, 90, 221, 153, 21,  128, 0};
  write(folder, "lossy", {1, 0, 0, 0, 3, 4, 3, 3}, lossy);
  write(folder, "few", {3, 0, 0, 0, 1, 1, 3, 3}, few);
  write(folder, "lossless", {3, 0, 0, 0, 1, 1, 3, 3}, lossless);
  write(folder, "clear", {5, 43, 0, 0, 1, 1, 3, 3}, clear);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "fuzz_seeds: want one folder\n");
    return 2;
  }
  const fs::path folder = arguments[1];
  for (const char* target : {"parse", "verdict", "transcode", "region", "index", "layer", "device",
                             "augment", "page", "png", "webp"})
    fs::create_directories(folder / target);
  write_files(folder);
  write_indexes(folder / "index");
  write_layers(folder / "layer");
  write_programs(folder / "augment");
  write_pages(folder / "page");
  write_pngs(folder / "png");
  write_webps(folder / "webp");
  return 0;
}
