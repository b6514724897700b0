// The yardstick: the least CPU time that libjpeg-turbo needs for the works "train" and "validate", on one thread and
// without a loader.
//
//   bare_jpeg FOLDER [ROUNDS [WORK]]
//
// The program first reads every FOLDER/**/*.jpg into memory. For each picture of "train" it then draws torchvision's
// RandomResizedCrop (area 0.08 to 1, ratio 3/4 to 4/3); of "validate" it takes the middle that a crop of 224 has after
// a resize of the shorter side to 256. It decodes only the rows and columns of that box, resizes the box
// to 224 x 224 by two taps each way (bilinear, not antialiased, which is less work than the loader does), normalises,
// and writes float32 CHW. It prints one JSON line with the CPU milliseconds of one picture, as the median of ROUNDS (3)
// passes: of decoding alone (decode_ms), and of everything (cpu_ms).
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <jpeglib.h>  // after <cstdio>, which it needs

namespace {

constexpr int kSide = 224, kShorter = 256;
constexpr unsigned kRowGroup = 16;  // jpeg_skip_scanlines is right for whole groups of rows (libjpeg-turbo's issue 915)

struct Box {
  int x = 0, y = 0, width = 0, height = 0;
};

Box middle_box(int width, int height, int side) { return {(width - side) / 2, (height - side) / 2, side, side}; }

Box draw_box(int width, int height, std::mt19937_64& random) {
  std::uniform_real_distribution<double> share(0.08, 1.0), log_ratio(std::log(0.75), std::log(4.0 / 3.0));
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double area = share(random) * width * height, ratio = std::exp(log_ratio(random));
    const auto w = static_cast<int>(std::lround(std::sqrt(area * ratio)));
    const auto h = static_cast<int>(std::lround(std::sqrt(area / ratio)));
    if (w < 1 || h < 1 || w > width || h > height) continue;
    return {std::uniform_int_distribution<int>(0, width - w)(random),
            std::uniform_int_distribution<int>(0, height - h)(random), w, h};
  }
  return middle_box(width, height, std::min(width, height));
}

// The part of the picture that is left of a resize of its shorter side to kShorter and a crop of the middle.
Box kept_box(int width, int height) {
  return middle_box(width, height, std::max(std::min(width, height) * kSide / kShorter, 1));
}

// For each place of the output two places of the source, in units of `pitch`, and the second one's share.
struct Taps {
  std::array<int, kSide> first{}, second{};
  std::array<float, kSide> share{};

  Taps(int from, int length, int pitch) {
    const float step = static_cast<float>(length) / kSide;
    for (size_t i = 0; i < kSide; ++i) {
      const float centre =
          std::clamp((static_cast<float>(i) + 0.5F) * step - 0.5F, 0.0F, static_cast<float>(length - 1));
      const int left = static_cast<int>(centre);
      first[i] = (from + left) * pitch;
      second[i] = (from + std::min(left + 1, length - 1)) * pitch;
      share[i] = centre - static_cast<float>(left);
    }
  }
};

class Yardstick {
 public:
  Yardstick() {
    decompress_.err = jpeg_std_error(&errors_);  // a damaged file ends the program: this is no loader
    jpeg_create_decompress(&decompress_);
  }
  ~Yardstick() { jpeg_destroy_decompress(&decompress_); }
  Yardstick(const Yardstick&) = delete;
  Yardstick& operator=(const Yardstick&) = delete;

  // Without random numbers it is the middle of the picture.
  void decode(const std::vector<uint8_t>& file, std::mt19937_64* random) {
    jpeg_mem_src(&decompress_, file.data(), file.size());
    jpeg_read_header(&decompress_, TRUE);
    decompress_.out_color_space = JCS_RGB;
    const auto width = static_cast<int>(decompress_.image_width), height = static_cast<int>(decompress_.image_height);
    const Box drawn = random != nullptr ? draw_box(width, height, *random) : kept_box(width, height);
    jpeg_start_decompress(&decompress_);
    auto left = static_cast<JDIMENSION>(drawn.x), across = static_cast<JDIMENSION>(drawn.width);
    if (drawn.width < width) jpeg_crop_scanline(&decompress_, &left, &across);
    const JDIMENSION above = static_cast<JDIMENSION>(drawn.y) / kRowGroup * kRowGroup;
    if (above > 0) jpeg_skip_scanlines(&decompress_, above);
    stride_ = static_cast<size_t>(decompress_.output_width) * 3;
    box_ = {drawn.x - static_cast<int>(left), drawn.y - static_cast<int>(above), drawn.width, drawn.height};
    const auto rows = static_cast<size_t>(box_.y + box_.height);
    pixels_.resize(std::max(pixels_.size(), rows * stride_));
    for (size_t row = 0; row < rows;) {
      JSAMPROW at = pixels_.data() + row * stride_;
      row += jpeg_read_scanlines(&decompress_, &at, 1);
    }
    jpeg_abort_decompress(&decompress_);
  }

  // Into out_: rows are blended first, then columns, a channel at a time.
  float resize() {
    const auto stride = static_cast<int>(stride_);
    const Taps down(box_.y, box_.height, stride), across(box_.x, box_.width, 3);
    blended_.resize(std::max(blended_.size(), stride_));
    for (size_t y = 0; y < kSide; ++y) {
      blend(pixels_.data() + down.first[y], pixels_.data() + down.second[y], down.share[y]);
      for (size_t channel = 0; channel < 3; ++channel) {
        write_row(across, channel, out_.data() + (channel * kSide + y) * kSide);
      }
    }
    return out_[size_t{kSide} * kSide / 2];
  }

 private:
  void blend(const uint8_t* __restrict upper, const uint8_t* __restrict lower, float share) {
    float* __restrict to = blended_.data();
    for (int i = box_.x * 3; i < (box_.x + box_.width) * 3; ++i) {
      to[i] = static_cast<float>(upper[i]) + static_cast<float>(lower[i] - upper[i]) * share;
    }
  }

  void write_row(const Taps& across, size_t channel, float* __restrict to) const {
    const float scale = 1 / (kStd[channel] * 255), offset = -kMean[channel] / kStd[channel];
    const float* __restrict from = blended_.data() + channel;
    for (size_t x = 0; x < kSide; ++x) {
      const float a = from[across.first[x]], b = from[across.second[x]];
      to[x] = (a + (b - a) * across.share[x]) * scale + offset;
    }
  }

  static constexpr std::array<float, 3> kMean = {0.485F, 0.456F, 0.406F}, kStd = {0.229F, 0.224F, 0.225F};
  jpeg_decompress_struct decompress_{};
  jpeg_error_mgr errors_{};
  std::vector<uint8_t> pixels_;  // the rows that were decoded, stride_ bytes each
  std::vector<float> blended_;
  std::vector<float> out_ = std::vector<float>(size_t{3} * kSide * kSide);
  size_t stride_ = 0;
  Box box_;  // of the drawn box within pixels_
};

double cpu_ms() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) * 1e3 + static_cast<double>(used.tv_nsec) * 1e-6;
}

std::vector<std::vector<uint8_t>> read_all(const char* folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".jpg") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::vector<uint8_t>> files;
  for (const auto& path : paths) {
    std::ifstream in(path, std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return files;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 3;
  const std::string work = argc > 3 ? argv[3] : "train";
  if (argc < 2 || rounds < 1 || (work != "train" && work != "validate")) {
    std::fprintf(stderr, "usage: bare_jpeg FOLDER [ROUNDS [train|validate]]\n");
    return 2;
  }
  const auto files = read_all(argv[1]);
  if (files.empty()) {
    std::fprintf(stderr, "bare_jpeg: %s holds no .jpg files\n", argv[1]);
    return 1;
  }
  Yardstick yardstick;
  double sum = 0;  // printed, so that no work can be left out
  const auto pass = [&](bool whole) {
    std::mt19937_64 random(1);
    const double began = cpu_ms();
    for (const auto& file : files) {
      yardstick.decode(file, work == "train" ? &random : nullptr);
      if (whole) sum += static_cast<double>(yardstick.resize());
    }
    return (cpu_ms() - began) / static_cast<double>(files.size());
  };
  std::vector<double> decode_ms, whole_ms;
  for (int round = 0; round < rounds; ++round) {
    decode_ms.push_back(pass(false));
    whole_ms.push_back(pass(true));
  }
  std::printf("{\"pictures\": %zu, \"decode_ms\": %.4f, \"cpu_ms\": %.4f, \"sum\": %.3f}\n", files.size(),
              median(decode_ms), median(whole_ms), sum);
}
