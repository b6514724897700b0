// random-crop and random-size-crop: where their boxes lie, how they are drawn, and what is in them.
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "daemon/media/image/geometry/view.h"
#include "tests/support/distributions.h"
#include "tests/support/image_programs.h"

namespace spdld::crop_test {
namespace {

using image::Geometry;
using test::program_of;
using test::render;

const std::string kCrop = "{ op = \"random-crop\", size = [5, 8] }";

TEST_CASE("every place of a random crop is as likely as the others", "[transform]") {
  const auto program = program_of(kCrop);
  constexpr size_t kPlaces = 5;  // along each side
  constexpr int kSamples = 10'000;
  std::array<int, kPlaces * kPlaces> counts{};
  Geometry geometry;
  for (int sample = 0; sample < kSamples; ++sample) {
    program.resolve({12, 9}, {7, 1, static_cast<uint64_t>(sample)}, geometry);
    REQUIRE(geometry.passes.size() == 1);
    const Box& box = geometry.decoded;
    REQUIRE((box.x >= 0 && box.y >= 0 && box.x + 8 <= 12 && box.y + 5 <= 9 && box.width == 8 && box.height == 5));
    ++counts[kPlaces * static_cast<size_t>(box.y) + static_cast<size_t>(box.x)];
  }
  double chi_squared = 0;
  for (const int count : counts) {
    const double expected = static_cast<double>(kSamples) / counts.size();
    chi_squared += (count - expected) * (count - expected) / expected;
  }
  CHECK(chi_squared < 51.2);  // 24 degrees of freedom: exceeded by chance in 1 of 1000
  CHECK(chi_squared > 6);
}

TEST_CASE("a random crop has the picture's pixels", "[transform]") {
  const PixelRows rows = test::noise({40, 33}, 4);
  std::set<int> columns;
  for (uint64_t sample = 0; sample < 30; ++sample) {
    const auto cropped = render(program_of(kCrop), rows, {1, 1, sample});
    const Box& box = cropped.geometry.decoded;
    columns.insert(box.x);
    for (int y = 0; y < 5; ++y)
      REQUIRE(std::memcmp(cropped.tensor.data() + 24 * y, rows.row(box.y + y) + 3 * box.x, 24) == 0);
  }
  CHECK(columns.size() > 10);
}

// The place of a 3 x 2 picture in its black box of 8 x 5: where its pixels are, and that the rest is black.
Box place_of(const std::vector<uint8_t>& tensor, const PixelRows& rows) {
  for (int top = 0; top <= 3; ++top) {
    for (int left = 0; left <= 5; ++left) {
      std::vector<uint8_t> expected(tensor.size());
      for (int y = 0; y < 2; ++y) std::memcpy(expected.data() + 24 * (top + y) + 3 * left, rows.row(y), 9);
      if (expected == tensor) return {left, top, 3, 2};
    }
  }
  return {};
}

TEST_CASE("a smaller picture has any place in a black box", "[transform]") {
  const PixelRows rows = test::noise({3, 2}, 4);
  std::set<std::pair<int, int>> places;
  for (uint64_t sample = 0; sample < 400; ++sample) {
    const Box place = place_of(render(program_of(kCrop), rows, {1, 1, sample}).tensor, rows);
    REQUIRE(place.width == 3);
    places.insert({place.x, place.y});
  }
  CHECK(places.size() == 6 * 4);
}

TEST_CASE("a random crop of the picture's own size is the picture", "[transform]") {
  const PixelRows rows = test::noise({8, 5}, 4);
  const auto cropped = render(program_of(kCrop), rows, {1, 1, 3});
  CHECK(std::memcmp(cropped.tensor.data(), rows.row(0), cropped.tensor.size()) == 0);
}

TEST_CASE("random crops with one draw lie at one place", "[transform]") {
  const auto at = [](const std::string& draw, uint64_t sample) {
    Geometry geometry;
    program_of("{ op = \"random-crop\", size = [5, 8]" + draw + " }").resolve({90, 80}, {1, 2, sample}, geometry);
    return geometry.decoded;
  };
  int same = 0;
  for (uint64_t sample = 0; sample < 20; ++sample) {
    CHECK(at("", sample) == at(", draw = \"random-crop\"", sample));
    same += at("", sample) == at(", draw = \"other\"", sample);
  }
  CHECK(same < 3);
}

TEST_CASE("boxes of a view follow a random crop", "[view]") {
  Geometry geometry;
  program_of(kCrop + ", { op = \"horizontal-flip\", p = 1 }").resolve({90, 80}, {1, 2, 3}, geometry);
  const Box& box = geometry.decoded;
  const auto x = static_cast<float>(box.x), y = static_cast<float>(box.y);
  const image::Corners seen = image::seen(geometry.passes, {x + 1, y + 1, x + 3, y + 40});
  CHECK((seen.x1 == 5 && seen.y1 == 1 && seen.x2 == 7 && seen.y2 == 5));
}

// The boxes that random-size-crop cuts out. Each crop is resized, so that the last pass says what it is.
struct SizeCrops {
  explicit SizeCrops(const std::string& sides)
      : chain(program_of("{ op = \"random-size-crop\", sides = " + sides + " }, { op = \"resize\", size = [8, 8] }")) {}

  const Box& of(const Size& picture, uint64_t sample) {
    chain.resolve(picture, {9, 2, sample}, geometry);
    return geometry.passes.back().box;
  }

  test::PictureChain chain;
  Geometry geometry = {};
};

TEST_CASE("sides and places of a crop of random sides are uniform", "[transform]") {
  constexpr uint64_t kSamples = 100'000;
  constexpr Size kPicture{1000, 800};
  SizeCrops crops("[300, 340]");
  std::map<int, double> widths, heights;
  std::map<std::pair<int, int>, double> both;
  std::vector<double> lefts, tops;
  for (uint64_t sample = 0; sample < kSamples; ++sample) {
    const Box& box = crops.of(kPicture, sample);
    REQUIRE((box.x >= 0 && box.y >= 0 && box.x + box.width <= 1000 && box.y + box.height <= 800));
    ++widths[box.width], ++heights[box.height];
    ++both[{(box.width - 300) / 11, (box.height - 300) / 11}];
    const double spread = static_cast<double>(sample % 997) / 997;  // within the pixel, so that its step is none
    lefts.push_back((box.x + spread) / (kPicture.width - box.width + 1));
    tops.push_back((box.y + spread) / (kPicture.height - box.height + 1));
  }
  CHECK(test::chi_squared(widths, kSamples, 41) < 81);  // 40 degrees: beyond 81 in one of 10,000
  CHECK(test::chi_squared(heights, kSamples, 41) < 81);
  CHECK((widths.begin()->first == 300 && widths.rbegin()->first == 340));
  CHECK((heights.begin()->first == 300 && heights.rbegin()->first == 340));
  CHECK(test::uniform_distance(lefts, 0, 1) < test::kUniformMost);
  CHECK(test::uniform_distance(tops, 0, 1) < test::kUniformMost);
  // The sides do not depend on one another: parts of 11, 11, 11 and 8 lengths.
  double sum = 0;
  const auto lengths = [](int part) { return part < 3 ? 11.0 : 8.0; };
  for (int across = 0; across < 4; ++across) {
    for (int down = 0; down < 4; ++down) {
      const double wanted = kSamples * lengths(across) * lengths(down) / (41 * 41), found = both[{across, down}];
      sum += (found - wanted) * (found - wanted) / wanted;
    }
  }
  CHECK(sum < 45);  // 15 degrees
}

TEST_CASE("a side that is shorter than a crop of random sides stays whole", "[transform]") {
  SizeCrops crops("[30, 60]");
  std::set<int> widths;
  for (uint64_t sample = 0; sample < 2000; ++sample) {
    const Box& box = crops.of({40, 20}, sample);
    REQUIRE((box.y == 0 && box.height == 20 && box.width >= 30 && box.x + box.width <= 40));
    widths.insert(box.width);
  }
  CHECK(widths.size() == 11);
  CHECK(SizeCrops("[500, 500]").of({40, 20}, 3) == Box{0, 0, 40, 20});
}

}  // namespace
}  // namespace spdld::crop_test
