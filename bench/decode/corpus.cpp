#include "bench/decode/corpus.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>
#include <string>

#include "daemon/media/image/codecs/image_decoder.h"
#include "tests/support/makers/jpeg_maker.h"

namespace spdld::bench {
namespace {

std::vector<uint8_t> read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::vector<uint8_t>> read_folder(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const auto extension = entry.path().extension();
    if (extension == ".jpg" || extension == ".jpeg" || extension == ".JPEG") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  const size_t count = std::min(paths.size(), kPicturesMax);
  std::vector<std::vector<uint8_t>> jpegs;
  for (size_t i = 0; i < count; ++i) jpegs.push_back(read_file(paths[i * paths.size() / count]));
  return jpegs;
}

// The sizes and kinds of ImageNet, roughly.
std::vector<std::vector<uint8_t>> make_jpegs() {
  std::vector<std::vector<uint8_t>> jpegs;
  for (uint32_t i = 0; i < 100; ++i) {
    test::JpegOptions options;
    options.seed = i;
    options.quality = 75 + static_cast<int>(i % 4) * 7;
    if (i % 4 == 3) options.subsampling = test::Subsampling::k444;
    options.progressive = i % 25 == 7;
    jpegs.push_back(i % 3 == 0 ? test::make_jpeg(375, 500, options) : test::make_jpeg(500, 375, options));
  }
  return jpegs;
}

// Area 0.08 to 1, ratio 3/4 to 4/3, as torchvision's RandomResizedCrop draws them.
Box draw_box(const Size& size, std::mt19937& random) {
  const auto uniform = [&](double low, double high) { return low + (high - low) * (random() / 4294967296.0); };
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double area = uniform(0.08, 1) * size.width * size.height, ratio = std::exp(uniform(-0.2877, 0.2877));
    const int width = static_cast<int>(std::lround(std::sqrt(area * ratio)));
    const int height = static_cast<int>(std::lround(std::sqrt(area / ratio)));
    if (width < 1 || width > size.width || height < 1 || height > size.height) continue;
    const int x = static_cast<int>(uniform(0, size.width - width + 1));
    return {x, static_cast<int>(uniform(0, size.height - height + 1)), width, height};
  }
  return {0, 0, size.width, size.height};
}

std::vector<Photo> load() {
  const char* folder = std::getenv("SPDLD_BENCH_JPEGS");
  auto jpegs = folder != nullptr ? read_folder(folder) : make_jpegs();
  const auto decoder = image::make_jpeg_decoder();
  std::mt19937 random(1);
  std::vector<Photo> photos;
  for (auto& jpeg : jpegs) {
    const auto size = decoder->open(jpeg, false);
    // Pictures that have planes, so that all rows use the same pictures.
    if (size && decoder->planes()) photos.push_back({std::move(jpeg), *size, draw_box(*size, random)});
  }
  if (photos.empty()) throw std::runtime_error("SPDLD_BENCH_JPEGS names a folder without JPEGs that have planes");
  return photos;
}

}  // namespace

const std::vector<Photo>& corpus() {
  static const std::vector<Photo> photos = load();
  return photos;
}

}  // namespace spdld::bench
