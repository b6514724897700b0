// Crops that are chosen by a sample's boxes: what they may be, how they are drawn, and which boxes stay. tests/pixels
// compares them with torchvision's class.
#include <algorithm>
#include <catch2/catch.hpp>

#include "daemon/media/image/geometry/view.h"
#include "tests/support/distributions.h"
#include "tests/support/image_programs.h"

namespace spdld::iou_crop_test {
namespace {

using image::Corners;

constexpr Size kPicture{1000, 800};
constexpr uint64_t kSamples = 100'000;

// The crop is resized, so that the last pass says what was cut out.
test::PictureChain program(const std::string& parameters, const std::string& before = "") {
  const std::string text =
      "name = \"t\"\n[source]\ntype = \"webdataset\"\nuri = \"/a.tar\"\n[batch]\nsize = 1\n"
      "[[output]]\nname = \"image\"\nfrom = \"jpg\"\nview = \"v\"\nops = [{ op = \"decode-image\" }, " +
      before + "{ op = \"random-iou-crop\", boxes = \"b\"" + parameters +
      " }, { op = \"resize\", size = [8, 8] }]\n"
      "[[output]]\nname = \"b\"\nfrom = \"txt\"\nview = \"v\"\nragged = true\nlength_max = 9\n"
      "ops = [{ op = \"boxes\" }]\n";
  const auto spec = config::load_pipeline_toml(text, "test.toml");
  INFO(spec.sentences());
  REQUIRE(spec);
  return test::PictureChain(spec.value->outputs.front());
}

struct Crops {
  test::PictureChain chain;
  std::vector<Corners> boxes;
  image::Geometry geometry = {};

  const Box& of(uint64_t sample, const Size& picture = kPicture) {
    geometry.boxes.listed = boxes;
    chain.resolve(picture, {5, 0, sample}, geometry);
    return geometry.passes.back().box;
  }
};

// Boxes whose centres lie so close that every crop has one of them.
std::vector<Corners> many_boxes() {
  std::vector<Corners> boxes;
  for (int y = 100; y < kPicture.height; y += 200)
    for (int x = 125; x < kPicture.width; x += 250) {
      const auto left = static_cast<float>(x), top = static_cast<float>(y);
      boxes.push_back({left - 1, top - 1, left + 1, top + 1});
    }
  return boxes;
}

// The sides are rounded down to pixels, which 1000 and 800 of them hide.
TEST_CASE("sides and places of a crop are uniform where boxes do not decide", "[transform]") {
  Crops crops{program(", sampler_options = [0], min_scale = 0.3, max_scale = 0.9, min_aspect_ratio = 0.1, "
                      "max_aspect_ratio = 10"),
              many_boxes()};
  std::vector<double> widths, heights, lefts, tops;
  for (uint64_t sample = 0; sample < kSamples; ++sample) {
    const Box& box = crops.of(sample);
    // In the middle of the numbers that are rounded to it, so that a side of whole pixels is no step.
    const double spread = static_cast<double>(sample % 997) / 997;
    widths.push_back((box.width + spread) / kPicture.width);
    heights.push_back((box.height + spread) / kPicture.height);
    lefts.push_back((box.x + spread) / (kPicture.width - box.width));
    tops.push_back((box.y + spread) / (kPicture.height - box.height));
  }
  CHECK(test::uniform_distance(widths, 0.3, 0.9) < test::kUniformMost);
  CHECK(test::uniform_distance(heights, 0.3, 0.9) < test::kUniformMost);
  CHECK(test::uniform_distance(lefts, 0, 1) < test::kUniformMost);
  CHECK(test::uniform_distance(tops, 0, 1) < test::kUniformMost);
}

TEST_CASE("each option is as likely as the others, and 1 leaves the picture as it is", "[transform]") {
  Crops crops{program(", sampler_options = [0, 1, 0], max_scale = 0.9"), many_boxes()};
  double whole = 0;
  for (uint64_t sample = 0; sample < kSamples; ++sample)
    whole += crops.of(sample) == Box{0, 0, kPicture.width, kPicture.height} ? 1 : 0;
  const double wanted = kSamples / 3.0;
  CHECK(std::abs(whole - wanted) < 4 * std::sqrt(wanted * 2 / 3));
}

TEST_CASE("a crop has the wanted ratio and overlaps a box enough, and boxes whose centres it lacks are dropped",
          "[transform]") {
  const std::vector<Corners> boxes = {{100, 100, 500, 500}, {300, 200, 900, 700}, {0, 0, 40, 40}, {700, 10, 990, 300}};
  Crops crops{program(", sampler_options = 0.5, min_aspect_ratio = 0.8, max_aspect_ratio = 1.25"), boxes};
  size_t dropped = 0;
  for (uint64_t sample = 0; sample < 2000; ++sample) {
    const Box box = crops.of(sample);
    const double ratio = static_cast<double>(box.width) / box.height;
    REQUIRE((ratio >= 0.8 && ratio <= 1.25));
    REQUIRE((box.width >= 300 && box.height >= 240 && box.x >= 0 && box.y >= 0));
    REQUIRE((box.x + box.width <= kPicture.width && box.y + box.height <= kPicture.height));
    double most = 0;
    for (size_t i = 0; i < boxes.size(); ++i) {
      const Corners& one = boxes[i];
      const double x = (one.x1 + one.x2) / 2, y = (one.y1 + one.y2) / 2;
      const bool stays = x > box.x && x < box.x + box.width && y > box.y && y < box.y + box.height;
      REQUIRE(crops.geometry.boxes.is_dropped[i] == !stays);
      dropped += stays ? 0 : 1;
      const double width = std::min<double>(one.x2, box.x + box.width) - std::max<double>(one.x1, box.x);
      const double height = std::min<double>(one.y2, box.y + box.height) - std::max<double>(one.y1, box.y);
      const double both = std::max(width, 0.0) * std::max(height, 0.0);
      const double areas = (one.x2 - one.x1) * (one.y2 - one.y1) + static_cast<double>(box.width) * box.height;
      if (stays) most = std::max(most, both / (areas - both));
    }
    REQUIRE(most >= 0.4999);
  }
  CHECK(dropped > 1000);
}

TEST_CASE("a picture without boxes stays as it is, and so does one that no crop fits", "[transform]") {
  const Box whole{0, 0, kPicture.width, kPicture.height};
  CHECK(Crops{program(", sampler_options = [0]"), {}}.of(1) == whole);
  // The box is far smaller than any crop.
  Crops far{program(", sampler_options = 0.9, trials = 3"), {{10, 10, 12, 12}}};
  CHECK(far.of(1) == whole);
  CHECK_FALSE(far.geometry.boxes.is_dropped.front());
  // No side has a pixel.
  CHECK(Crops{program(", sampler_options = [0]"), {{0, 0, 1, 1}}}.of(1, {1, 1}) == Box{0, 0, 1, 1});
}

TEST_CASE("boxes are where the operations before the crop have left them", "[transform]") {
  const std::string options = ", sampler_options = [0], max_scale = 0.5, min_aspect_ratio = 0.1, max_aspect_ratio = 10";
  Crops plain{program(options), {{900, 100, 980, 180}}};
  Crops flipped{program(options, "{ op = \"horizontal-flip\", p = 1 }, "), {{20, 100, 100, 180}}};
  Crops padded{program(options, "{ op = \"pad\", padding = [600, 0, 0, 0] }, "), {{300, 100, 380, 180}}};
  for (uint64_t sample = 0; sample < 50; ++sample) {
    const Box first = plain.of(sample), second = flipped.of(sample), third = padded.of(sample, {400, 800});
    REQUIRE(Box{kPicture.width - second.x - second.width, second.y, second.width, second.height} == first);
    REQUIRE(third == first);
  }
}

// The second box reaches into a crop that lacks its centre.
TEST_CASE("a second crop does not choose by boxes that the first one has dropped", "[transform]") {
  const std::string first =
      "{ op = \"random-iou-crop\", boxes = \"b\", sampler_options = [0], max_scale = 0.5, draw = \"first\" }, ";
  Crops crops{program(", sampler_options = [0], draw = \"second\"", first), {{0, 0, 80, 80}, {300, 0, 1000, 800}}};
  size_t one_left = 0;
  for (uint64_t sample = 0; sample < 400; ++sample) {
    crops.of(sample);
    const auto& dropped = crops.geometry.boxes.is_dropped;
    const auto left = std::count(dropped.begin(), dropped.end(), false);
    REQUIRE(left > 0);
    one_left += left == 1 ? 1 : 0;
  }
  CHECK(one_left > 300);
}

}  // namespace
}  // namespace spdld::iou_crop_test
