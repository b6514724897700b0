// Warps: what operations draw, where they stand among the geometry's passes, and that masks, boxes and points go where
// the picture's pixels go. Their pixels are held to torchvision's in tests/pixels/compare_warps.py.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>

#include "daemon/media/image/adjustments/pillow_warp.h"
#include "daemon/media/image/adjustments/warper.h"
#include "daemon/media/image/geometry/view.h"
#include "tests/support/allocations.h"
#include "tests/support/distributions.h"
#include "tests/support/image_programs.h"
#include "tests/support/steady.h"

namespace spdld::warp_test {
namespace {

using image::Geometry;
using image::Place;
using image::View;
using image::Warp;
using test::kUniformMost;
using test::program_of;
using test::uniform_distance;

constexpr uint64_t kDraws = 100'000;
constexpr Size kPicture = {600, 400};
const std::string kCrop = ", { op = \"center-crop\", size = [20, 30] }";

// The warp of each of many samples.
std::vector<Warp> drawn(const std::string& op) {
  const auto program = program_of(op + kCrop);
  Geometry geometry;
  std::vector<Warp> all;
  for (uint64_t sample = 0; sample < kDraws; ++sample) {
    program.resolve(kPicture, {5, 1, sample}, geometry);
    REQUIRE(geometry.adjustments.size() == 1);
    all.push_back(geometry.adjustments.front().warp);
  }
  return all;
}

template <typename Of>
double distance_from_uniform(const std::vector<Warp>& warps, Of of, double least, double greatest) {
  std::vector<double> numbers;
  for (const Warp& warp : warps) numbers.push_back(of(warp));
  return uniform_distance(std::move(numbers), least, greatest);
}

double degrees(double radians) { return radians * 180 / std::numbers::pi; }

TEST_CASE("affine draws torchvision's ranges", "[warp]") {
  const auto turn = [](const Warp& warp) { return degrees(std::atan2(warp.back[1], warp.back[0])); };
  CHECK(distance_from_uniform(drawn("{ op = \"affine\", degrees = 40 }"), turn, -40, 40) < kUniformMost);
  CHECK(distance_from_uniform(drawn("{ op = \"affine\", degrees = [10, 170] }"), turn, 10, 170) < kUniformMost);
  const auto scale = [](const Warp& warp) { return 1 / warp.back[0]; };
  CHECK(distance_from_uniform(drawn("{ op = \"affine\", degrees = 0, scale = [0.5, 3] }"), scale, 0.5, 3) <
        kUniformMost);
  const auto sheared = drawn("{ op = \"affine\", degrees = 0, shear = [-10, 30, 5, 60] }");
  // Without a turn the way back is 1 - a b, a, b, 1 up to signs, with a and b the tangents of the angles.
  const auto across = [](const Warp& warp) { return degrees(std::atan(warp.back[1])); };
  const auto down = [](const Warp& warp) { return degrees(std::atan(warp.back[3])); };
  CHECK(distance_from_uniform(sheared, across, -10, 30) < kUniformMost);
  CHECK(distance_from_uniform(sheared, down, 5, 60) < kUniformMost);
}

// The ends of the range are half as likely, since numbers are rounded.
TEST_CASE("affine moves by whole pixels", "[warp]") {
  std::map<int, double> across, down;
  for (const Warp& warp : drawn("{ op = \"affine\", degrees = 0, translate = [0.01, 0.02] }"))
    ++across[static_cast<int>(-warp.back[2])], ++down[static_cast<int>(-warp.back[5])];
  CHECK(across.size() == 13);  // -6 to 6
  CHECK(down.size() == 17);    // -8 to 8
  across[6] += across[-6], across.erase(-6);
  down[8] += down[-8], down.erase(-8);
  CHECK(test::chi_squared(across, kDraws, 12) < 38);  // 11 degrees: beyond 38 in one of 10,000
  CHECK(test::chi_squared(down, kDraws, 16) < 46);    // 15 degrees: beyond 46 in one of 10,000
}

TEST_CASE("rotate draws angles against the clock", "[warp]") {
  const auto turn = [](const Warp& warp) { return degrees(std::atan2(-warp.back[1], warp.back[0])); };
  CHECK(distance_from_uniform(drawn("{ op = \"rotate\", degrees = [20, 50] }"), turn, 20, 50) < kUniformMost);
}

TEST_CASE("perspective moves corners by all whole numbers of pixels", "[warp]") {
  std::array<std::map<int, double>, 4> across, down;
  image::Warper warper;
  const std::array<Place, 4> corners = {Place{0, 0}, Place{599, 0}, Place{599, 399}, Place{0, 399}};
  for (const Warp& warp : drawn("{ op = \"perspective\", distortion_scale = 0.1, p = 1 }")) {
    for (size_t i = 0; i < 4; ++i) {
      const Place to = warper.ahead(warp, corners[i]);
      ++across[i][static_cast<int>(std::lround(std::abs(to.x - corners[i].x)))];
      ++down[i][static_cast<int>(std::lround(std::abs(to.y - corners[i].y)))];
    }
  }
  for (size_t i = 0; i < 4; ++i) {
    CHECK(across[i].size() == 31);  // 0 to 0.1 x 300
    CHECK(down[i].size() == 21);
    CHECK(test::chi_squared(across[i], kDraws, 31) < 70);  // 30 degrees: beyond 70 in less than one of 10,000
    CHECK(test::chi_squared(down[i], kDraws, 21) < 55);    // 20 degrees
  }
}

TEST_CASE("zoom-out draws a side and a place", "[warp]") {
  const auto warps = drawn("{ op = \"zoom-out\", p = 1 }");
  const auto side = [](const Warp& warp) { return (warp.size.width + 0.5) / kPicture.width; };
  CHECK(distance_from_uniform(warps, side, 1, 4) < kUniformMost);
  std::vector<double> left, top;
  for (const Warp& warp : warps) {
    if (warp.size.width < 2 * kPicture.width) continue;  // of few places not all are equally likely
    left.push_back((warp.border.left + 0.5) / (warp.size.width - kPicture.width));
    top.push_back((warp.border.top + 0.5) / (warp.size.height - kPicture.height));
  }
  CHECK(uniform_distance(left, 0, 1) < kUniformMost);
  CHECK(uniform_distance(top, 0, 1) < kUniformMost);
}

// kPicture is 600 x 400.
TEST_CASE("pad-to puts a border around smaller pictures alone", "[warp]") {
  const auto border_of = [](const std::string& op) -> std::optional<image::Border> {
    Geometry geometry;
    program_of(op + kCrop).resolve(kPicture, {5, 1, 2}, geometry);
    if (geometry.adjustments.empty()) return std::nullopt;
    CHECK(geometry.adjustments[0].warp.fill == std::array<uint8_t, 3>{1, 2, 3});
    return geometry.adjustments[0].warp.border;
  };
  const std::string fill = ", fill = [1, 2, 3]";
  CHECK(border_of("{ op = \"pad-to\", size = 605" + fill + " }") == image::Border{2, 102, 3, 103});
  CHECK(border_of("{ op = \"pad-to\", size = 605, place = \"corner\"" + fill + " }") == image::Border{0, 0, 5, 205});
  CHECK(border_of("{ op = \"pad-to\", size = [500, 30]" + fill + " }") == image::Border{0, 50, 0, 50});
  CHECK(border_of("{ op = \"pad-to\", size = [30, 700]" + fill + " }") == image::Border{50, 0, 50, 0});
  CHECK(!border_of("{ op = \"pad-to\", size = [400, 600]" + fill + " }"));
}

TEST_CASE("probabilities of warps are kept", "[warp]") {
  const auto program = program_of("{ op = \"affine\", degrees = 10, p = 0.25 }" + kCrop);
  Geometry geometry;
  double warped = 0;
  for (uint64_t sample = 0; sample < kDraws; ++sample) {
    program.resolve(kPicture, {5, 1, sample}, geometry);
    warped += geometry.adjustments.empty() ? 0 : 1;
  }
  CHECK(std::abs(warped - 0.25 * kDraws) < 4 * std::sqrt(0.1875 * kDraws));
}

// Chains that resample nothing, so that each pixel of the end is one of the picture's.
const std::vector<std::string> kChains = {
    "{ op = \"pad-to\", size = [150, 70] }, { op = \"random-crop\", size = 60 }, { op = \"horizontal-flip\" }",
    "{ op = \"horizontal-flip\" }, { op = \"pad-to\", size = 160, place = \"corner\" }, { op = \"center-crop\", size = "
    "150 }",
    "{ op = \"affine\", degrees = 180, translate = [0.3, 0.3], scale = [0.5, 2], shear = [-20, 20, -20, 20] }, { op = "
    "\"center-crop\", size = [70, 60] }",
    "{ op = \"random-crop\", size = [40, 50] }, { op = \"rotate\", degrees = 180, expand = true }, { op = "
    "\"horizontal-flip\" }, { op = \"center-crop\", size = [64, 64] }",
    "{ op = \"horizontal-flip\" }, { op = \"perspective\", filter = \"nearest\", p = 1 }, { op = \"vertical-flip\" }, "
    "{ "
    "op = \"pad\", padding = [3, 50, 20, 9], mode = \"reflect\" }, { op = \"random-crop\", size = 80 }",
    "{ op = \"elastic\", alpha = 60, sigma = 4, filter = \"nearest\" }, { op = \"zoom-out\", p = 1 }, { op = "
    "\"random-crop\", size = 90 }, { op = \"affine\", degrees = 20 }",
    "{ op = \"pad\", padding = 7 }, { op = \"invert\", p = 0 }, { op = \"pad\", padding = 5, mode = \"edge\" }, { op = "
    "\"rotate\", degrees = 90 }, { op = \"random-crop\", size = [50, 40] }, { op = \"vertical-flip\" }"};

// Each pixel says where it is.
PixelRows numbered(const Size& size) {
  PixelRows rows = test::noise(size, 1);
  uint8_t* pixel = rows.memory.data();
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x, pixel += 3)
      pixel[0] = static_cast<uint8_t>(x), pixel[1] = static_cast<uint8_t>(y), pixel[2] = 1;
  return rows;
}

// The view that an output with this geometry leads.
View view_of(const Size& picture, const Geometry& geometry) {
  View view;
  view.picture = picture;
  view.passes = geometry.passes;
  view.moves = geometry.adjustments;
  return view;
}

TEST_CASE("a mask's pixels come from where the picture's pixels come from", "[warp]") {
  const Size size = {97, 83};
  const PixelRows rows = numbered(size);
  int outside = 0;
  for (const std::string& ops : kChains) {
    const auto program = program_of(ops);
    for (uint64_t sample = 0; sample < 30; ++sample) {
      const auto rendered = test::render(program, rows, {3, 0, sample});
      View view = view_of(size, rendered.geometry);
      image::NearestMap map;
      nearest(view, map);
      REQUIRE(map.is_warped);
      REQUIRE(map.pixels.size() * 3 == rendered.tensor.size());
      int wrong = 0;
      for (size_t i = 0; i < map.pixels.size(); ++i) {
        const uint8_t* pixel = rendered.tensor.data() + 3 * i;
        const int32_t from = pixel[2] == 0 ? image::kOutside : pixel[1] * size.width + pixel[0];
        wrong += map.pixels[i] != from;
        outside += from == image::kOutside;
      }
      INFO(ops << ", sample " << sample);
      CHECK(wrong == 0);
    }
  }
  CHECK(outside > 1000);
}

// The pixel at a point's place comes from near the point. Displacements have no exact way back, and a point behind a
// mirrored border has several places: their chains are left out.
TEST_CASE("a point goes where its pixel goes", "[warp]") {
  const Size size = {97, 83};
  std::mt19937 random(7);
  int seen_inside = 0;
  for (const size_t chain : {0u, 1u, 4u}) {
    const auto program = program_of(kChains[chain]);
    for (uint64_t sample = 0; sample < 30; ++sample) {
      Geometry geometry;
      program.resolve(size, {3, 0, sample}, geometry);
      View view = view_of(size, geometry);
      image::NearestMap map;
      nearest(view, map);
      for (int i = 0; i < 40; ++i) {
        const float x = std::uniform_real_distribution<float>(0, 97)(random);
        const float y = std::uniform_real_distribution<float>(0, 83)(random);
        const image::SeenPoint point = seen(view, x, y);
        if (!point.is_inside) continue;
        const int32_t from = map.pixels[static_cast<size_t>(point.y) * static_cast<size_t>(view.end().width) +
                                        static_cast<size_t>(point.x)];
        if (from == image::kOutside) continue;  // at the picture's edge
        ++seen_inside;
        const double apart = std::hypot(from % size.width + 0.5 - x, from / size.width + 0.5 - y);
        if (apart > 3) FAIL("chain " << chain << ", sample " << sample << ": " << apart << " pixels apart");
      }
    }
  }
  CHECK(seen_inside > 1000);
}

TEST_CASE("a warped box is around its corners", "[warp]") {
  const auto program = program_of(kChains[0]);
  for (uint64_t sample = 0; sample < 100; ++sample) {
    Geometry geometry;
    program.resolve({97, 83}, {3, 0, sample}, geometry);
    View view = view_of({97, 83}, geometry);
    const image::Corners box = seen(view, {20, 30, 50, 41});
    const auto within = [](float at, float least, float most) { return at >= least - 0.01F && at <= most + 0.01F; };
    for (const auto& [x, y] : {std::pair{20.F, 30.F}, {50.F, 30.F}, {50.F, 41.F}, {20.F, 41.F}}) {
      const image::SeenPoint corner = seen(view, x, y);
      if (!corner.is_inside) continue;
      CHECK(within(corner.x, box.x1, box.x2));
      CHECK(within(corner.y, box.y1, box.y2));
    }
  }
}

TEST_CASE("places that are no numbers anyone can use stay in bounds", "[warp]") {
  image::Warper warper;
  const Warp warp = image::elastic_warp({10, 8}, 3, {50, 50}, {1, 1});
  for (const double at : {1e30, -1e30, static_cast<double>(NAN)}) {
    const Place moved = warper.ahead(warp, {at, at});
    CHECK(std::isfinite(moved.x));
    CHECK(std::isfinite(moved.y));
  }
}

TEST_CASE("a picture that would become too large is not made", "[warp]") {
  const auto program = program_of("{ op = \"zoom-out\", side_range = [8, 8], p = 1 }" + kCrop);
  Geometry geometry;
  program.resolve({1000, 1000}, {}, geometry);
  CHECK_FALSE(geometry.too_large);
  program.resolve({2000, 2000}, {}, geometry);
  REQUIRE(geometry.too_large);
  CHECK(*geometry.too_large == Size{16'000, 16'000});
  CHECK(geometry.adjustments.empty());
}

TEST_CASE("sizes are drawn as torchvision draws them", "[warp]") {
  const auto sizes = [](const std::string& op) {
    const auto program = program_of(op + ", { op = \"resize\", size = [7, 9] }");
    Geometry geometry;
    std::vector<Size> all;
    for (uint64_t sample = 0; sample < kDraws; ++sample) {
      program.resolve(kPicture, {5, 1, sample}, geometry);
      all.push_back(geometry.passes.front().size);
    }
    return all;
  };
  std::map<int, double> shorter, chosen;
  for (const Size& size : sizes("{ op = \"random-resize\", size = [50, 90] }")) ++shorter[size.height];
  CHECK(shorter.begin()->first == 50);
  CHECK(shorter.rbegin()->first == 89);
  CHECK(test::chi_squared(shorter, kDraws, 40) < 83);  // 39 degrees: beyond 83 in less than one of 10,000
  for (const Size& size : sizes("{ op = \"random-shortest-size\", sizes = [50, 60, 70, 80], max_size = 111 }"))
    ++chosen[size.width];
  CHECK(chosen.rbegin()->first <= 111);              // in place of 120
  CHECK(test::chi_squared(chosen, kDraws, 4) < 22);  // 3 degrees: beyond 22 in less than one of 10,000
  std::vector<double> factors;
  for (const Size& size : sizes("{ op = \"scale-jitter\", size = 3000, scale = [0.25, 2] }"))
    factors.push_back((size.width + 0.5) / 3000);
  CHECK(uniform_distance(factors, 0.25, 2) < kUniformMost);
}

TEST_CASE("a drawn box of a crop behind a warp is not in the picture's pixels", "[warp]") {
  const auto spec = config::load_pipeline_toml(
      "name = \"t\"\n[source]\ntype = \"image-folder\"\nuri = \"/\"\n[batch]\nsize = 1\n[[output]]\nname = \"image\"\n"
      "from = \"image\"\nops = [{ op = \"decode-image\" }, { op = \"rotate\", degrees = 3 }, { op = "
      "\"random-resized-crop\", size = 8, box = \"b\" }]\n",
      "test.toml");
  CHECK_FALSE(spec);
  CHECK(spec.sentences().find("can't give the drawn box") != std::string::npos);
}

TEST_CASE("warps allocate nothing in steady state", "[warp]") {
  const PixelRows rows = numbered({97, 83});
  for (const std::string& ops : kChains) {
    const auto program = program_of(ops);
    Geometry geometry;
    image::Scratch scratch;
    View view;
    image::NearestMap map;
    std::vector<uint8_t> tensor(program.tensor().bytes());
    test::check_steady([&] {
      for (uint64_t sample = 0; sample < 10; ++sample) {
        program.resolve(rows.picture, {1, 1, sample}, geometry);
        program.render(rows, geometry, scratch, tensor.data());
        view.picture = rows.picture;
        view.passes = geometry.passes;
        view.moves = geometry.adjustments;
        nearest(view, map);
      }
      return 0;
    });
  }
}

TEST_CASE("places go the same way as the pixels of Pillow's warps", "[warp]") {
  image::Warper warper;
  for (const Warp& warp :
       {image::pillow_rotation({60, 40}, 25), image::pillow_warp({60, 40}, {1, 0.3, 0, 0, 1, 0}),
        image::pillow_warp({60, 40}, {1, 0, 0, -0.2, 1, 0}), image::pillow_warp({60, 40}, {1, 0, 13.25, 0, 1, -7.5})}) {
    int inside = 0;
    for (int32_t y = 0; y < 40; ++y) {
      for (int32_t x = 0; x < 60; ++x) {
        std::array<int32_t, 1> xs = {x}, ys = {y};
        warper.nearest(warp, xs, ys);
        REQUIRE((xs[0] == image::Warper::kOutside) == (ys[0] == image::Warper::kOutside));
        if (xs[0] == image::Warper::kOutside) continue;
        const Place ahead = warper.ahead(warp, {xs[0] + 0.5, ys[0] + 0.5});
        REQUIRE((std::abs(ahead.x - x - 0.5) < 0.8 && std::abs(ahead.y - y - 0.5) < 0.8));
        ++inside;
      }
    }
    CHECK(inside > 1200);
  }
}

}  // namespace
}  // namespace spdld::warp_test
