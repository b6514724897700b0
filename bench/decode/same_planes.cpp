// Says whether every form in which the cache keeps JPEGs has libjpeg-turbo's samples, bit for bit, on a folder of
// pictures.
//
//   same_planes FOLDER
//
// Of each FOLDER/**/*.jpg (.jpeg, .JPEG) that has planes, the program decodes the whole picture and kBoxes random boxes
// by libjpeg-turbo alone, and compares with them: the bytes by the daemon's own decoders, the indexed form, and the
// packed form. It prints how many pictures had each form and how many bytes the forms take, and ends with 1 where a
// sample differs or a decoding failed.
#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "daemon/media/image/codecs/image_decoder.h"
#include "tests/support/planes_memory.h"

namespace {

using namespace spdld;
using Bytes = std::vector<uint8_t>;

constexpr int kBoxes = 4;
constexpr image::Pixels kPixels;

struct Counts {
  uint64_t pictures = 0, with_planes = 0, indexed = 0, transcoded = 0, packed = 0, wrong = 0;
  uint64_t bytes = 0, indexed_bytes = 0, packed_bytes = 0;  // of pictures with planes, and of their forms
};

class Comparison {
 public:
  void compare(const std::string& name, const Bytes& jpeg) {
    counts_.pictures++;
    if (!libjpeg_->open(jpeg, true) || !libjpeg_->planes()) return;
    counts_.with_planes++;
    counts_.bytes += jpeg.size();
    shape_ = *libjpeg_->planes();
    whole_ = {0, 0, shape_.picture.width, shape_.picture.height};
    wanted_ = std::make_unique<test::PlanesMemory>(shape_, 0);
    boxes_ = {whole_};
    for (int i = 0; i < kBoxes; ++i) boxes_.push_back(draw_box());
    if (!libjpeg_->decode_planes(whole_, wanted_->data())) return;
    check(name, "bytes", own_->open(jpeg, true) && own_->planes() == shape_);
    if (own_->open(jpeg, true)) check_indexed(name, jpeg);
    if (own_->open(jpeg, true)) check_packed(name);
  }
  const Counts& counts() const { return counts_; }

 private:
  Box draw_box() {
    const auto below = [&](int end) { return static_cast<int>(random_() % static_cast<uint32_t>(end)); };
    const int x = below(whole_.width), y = below(whole_.height);
    return {x, y, 1 + below(whole_.width - x), 1 + below(whole_.height - y)};
  }
  // All boxes of what is open.
  void check(const std::string& name, const char* form, bool is_open) {
    bool is_same = is_open;
    for (const Box& box : boxes_) {
      test::PlanesMemory had(shape_, 0xA5);
      is_same = is_same && own_->decode_planes(box, had.data()) && test::same_samples(had, *wanted_, box);
    }
    if (is_same) return;
    counts_.wrong++;
    std::printf("%s: %s: other samples than libjpeg-turbo's, or none\n", name.c_str(), form);
  }
  void check_indexed(const std::string& name, Bytes jpeg) {
    test::PlanesMemory planes(shape_, 0xA5);
    std::span<const uint8_t> plain;
    if (own_->index_bytes() == 0 && own_->transcode(planes.data(), plain) && !plain.empty()) {
      jpeg.assign(plain.begin(), plain.end());
      counts_.transcoded++;
    }
    Bytes index(own_->index_bytes());
    if (index.empty()) return;
    counts_.indexed++;
    counts_.indexed_bytes += jpeg.size() + index.size();
    check(name, "indexed",
          own_->decode_and_index(whole_, planes.data(), index) &&
              own_->open_indexed(jpeg, index, true, false, kPixels) && own_->planes() == shape_);
  }
  void check_packed(const std::string& name) {
    test::PlanesMemory planes(shape_, 0xA5);
    std::span<const uint8_t> made;
    if (!own_->decode_and_pack(planes.data(), made) || made.empty()) return;
    counts_.packed++;
    counts_.packed_bytes += made.size();
    const Bytes packed(made.begin(), made.end());
    check(name, "packed", bool(own_->open_packed(packed, shape_)));
  }

  const std::unique_ptr<image::ImageDecoder> own_ = image::make_jpeg_decoder(),
                                             libjpeg_ = image::make_jpeg_decoder({.only_libjpeg = true});
  std::mt19937 random_{1};
  PlanesShape shape_;
  Box whole_;
  std::unique_ptr<test::PlanesMemory> wanted_;
  std::vector<Box> boxes_;
  Counts counts_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: same_planes FOLDER\n");
    return 2;
  }
  Comparison comparison;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[1])) {
    const auto extension = entry.path().extension();
    if (extension != ".jpg" && extension != ".jpeg" && extension != ".JPEG") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    comparison.compare(entry.path(), {std::istreambuf_iterator<char>(file), {}});
  }
  const Counts& counts = comparison.counts();
  std::printf(
      "%lu pictures; %lu have planes, %lu an index (%lu of them as plain forms of progressive pictures), %lu packed "
      "coefficients; %lu forms are wrong\n",
      counts.pictures, counts.with_planes, counts.indexed, counts.transcoded, counts.packed, counts.wrong);
  if (counts.wrong != 0 || counts.with_planes == 0) return 1;
  const auto share = [&](uint64_t bytes) { return static_cast<double>(bytes) / static_cast<double>(counts.bytes); };
  std::printf("bytes, as a part of the JPEGs': indexed %.3f, packed %.3f\n", share(counts.indexed_bytes),
              share(counts.packed_bytes));
  return 0;
}
