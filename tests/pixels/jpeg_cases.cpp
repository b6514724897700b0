// Writes JPEGs of all samplings, codings and turns, for comparison with other programs. Pillow can't write most of
// them.
//
//   jpeg_cases FOLDER
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/makers/jpeg_maker.h"

namespace {

using namespace spdld;
using test::Sampling;

// Of luma, Cb and Cr: the usual ones, the same ratios by other factors, and others that libjpeg takes.
const std::vector<std::pair<const char*, std::vector<Sampling>>> kSamplings = {
    {"444", {{1, 1}, {1, 1}, {1, 1}}},
    {"422", {{2, 1}, {1, 1}, {1, 1}}},
    {"420", {{2, 2}, {1, 1}, {1, 1}}},
    {"440", {{1, 2}, {1, 1}, {1, 1}}},
    {"411", {{4, 1}, {1, 1}, {1, 1}}},
    {"410", {{4, 2}, {1, 1}, {1, 1}}},
    {"441", {{1, 4}, {1, 1}, {1, 1}}},
    {"444-of-21", {{2, 1}, {2, 1}, {2, 1}}},
    {"422-of-41", {{4, 1}, {2, 1}, {2, 1}}},
    {"311", {{3, 1}, {1, 1}, {1, 1}}},
    {"two-chromas", {{2, 2}, {2, 1}, {1, 2}}},
    {"small-luma", {{1, 1}, {2, 2}, {2, 2}}},
    {"one-small-chroma", {{2, 2}, {2, 2}, {1, 1}}}};

struct Side {
  int width, height;
};
constexpr Side kSides[] = {{1, 1},   {2, 3},    {3, 2},     {5, 9},   {16, 16}, {17, 33}, {64, 48},
                           {61, 47}, {130, 75}, {201, 149}, {290, 1}, {1, 290}, {4, 100}, {101, 6}};

constexpr int kSidesEach = 6;  // of each sampling and coding, in turn

struct Coding {
  const char* name;
  test::JpegOptions options;
};

std::vector<Coding> codings() {
  std::vector<Coding> all = {{"plain", {}},
                             {"restarts", {.restart_interval = 3}},
                             {"scans", {.separate_scans = true}},
                             {"arithmetic", {.arithmetic = true}},
                             {"optimized", {.quality = 30, .optimized = true}},
                             {"progressive", {.progressive = true}},
                             {"unfinished", {.quality = 60, .unfinished = true}}};
  for (const int progression : {1, 2, 3})
    all.push_back({"progression", {.progressive = true, .progression = progression}});
  return all;
}

class Folder {
 public:
  explicit Folder(std::filesystem::path path) : path_(std::move(path)) {}

  void write(const std::string& name, const Side& side, const test::JpegOptions& options) {
    const auto jpeg = test::make_jpeg(side.width, side.height, options);
    std::ofstream file(path_ / (std::to_string(count_++) + "-" + name + "-" + std::to_string(side.width) + "x" +
                                std::to_string(side.height) + ".jpg"),
                       std::ios::binary);
    file.write(reinterpret_cast<const char*>(jpeg.data()), static_cast<std::streamsize>(jpeg.size()));
    if (!file.flush()) is_written_ = false;
  }
  bool is_written() const { return is_written_ && count_ > 0; }

 private:
  std::filesystem::path path_;
  int count_ = 0;
  bool is_written_ = true;
};

void write_all(Folder& folder) {
  uint32_t seed = 1;
  for (const auto& [name, sampling] : kSamplings) {
    for (Coding coding : codings()) {
      for (int i = 0; i < kSidesEach; ++i) {
        const Side& side = kSides[seed++ % std::size(kSides)];
        coding.options.sampling = sampling, coding.options.seed = seed;
        folder.write(std::string(name) + "-" + coding.name, side, coding.options);
      }
    }
    for (int orientation = 1; orientation <= 8; ++orientation) {
      const bool is_progressive = orientation % 3 == 0;
      folder.write(
          std::string(name) + "-turned", {130, 75},
          {.progressive = is_progressive, .exif_orientation = orientation, .sampling = sampling, .seed = ++seed});
    }
  }
  for (const Side& side : kSides) {
    for (const bool progressive : {false, true}) {
      folder.write("grey", side, {.grey = true, .progressive = progressive, .seed = ++seed});
      folder.write("ycck", side, {.cmyk = true, .progressive = progressive, .seed = ++seed});
      const std::vector<Sampling> small = {{2, 2}, {1, 1}, {1, 1}, {2, 2}};
      folder.write("ycck-420", side, {.cmyk = true, .progressive = progressive, .sampling = small, .seed = ++seed});
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: jpeg_cases FOLDER\n"), 2;
  Folder folder(argv[1]);
  write_all(folder);
  return folder.is_written() ? 0 : 1;
}
