// A canvas of four pictures that is warped: what is drawn, and the pixels, boxes and masks of the formula.
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "daemon/mixing/operation.h"
#include "tests/support/distributions.h"

namespace spdld::mosaic_warp_test {
namespace {

using test::uniform_distance;

constexpr int kHigh = 20, kWide = 28, kFill = 114;
constexpr size_t kPixels = size_t{kHigh} * kWide;

std::unique_ptr<mixing::Operation> make(config::Layout layout, config::Parameters further = {}) {
  config::BatchOperationSpec spec;
  spec.op = "mosaic-warp";
  spec.parameters = {{"center", std::vector<double>{0.25, 0.75}},
                     {"degrees", 0.0},
                     {"translate", 0.1},
                     {"scale", std::vector<double>{0.5, 1.5}},
                     {"shear", 0.0},
                     {"fill", double{kFill}},
                     {"min_size", 2.0},
                     {"min_part", 0.1},
                     {"max_aspect", 100.0}};
  for (auto& [name, value] : further) spec.parameters[name] = value;
  const bool is_planar = layout == config::Layout::kNchw;
  const auto image = is_planar ? config::tensor(config::DType::kUint8, {3, kHigh, kWide}, layout)
                               : config::tensor(config::DType::kUint8, {kHigh, kWide, 3}, layout);
  return mixing::make_operation({spec, {image}, BoxFormat::kXyxy});
}

// Four pictures of noise, interleaved, and where they lie in their borders.
struct Pictures {
  std::array<std::vector<uint8_t>, 4> pixels;
  std::array<mixing::Box, 4> inside = {{{0, 4, kWide, 17}, {5, 0, 20, kHigh}, {0, 0, kWide, kHigh}, {3, 2, 25, 18}}};

  Pictures() {
    for (size_t i = 0; i < 4; ++i)
      for (size_t at = 0; at < 3 * kPixels; ++at)
        pixels[i].push_back(static_cast<uint8_t>(mix_bits(i * 100'000 + at) >> 56));
  }
};

size_t place(config::Layout layout, int x, int y, int channel) {
  return static_cast<size_t>(layout == config::Layout::kNchw ? (channel * kHigh + y) * kWide + x
                                                             : (y * kWide + x) * 3 + channel);
}

struct Point {
  double x, y;
};

// The canvas by its definition, pixel by pixel, without the operation's quarters.
int canvas_value(const mixing::Mix& mix, const Pictures& of, int x, int y, int channel) {
  if (x < 0 || y < 0 || x >= 2 * kWide || y >= 2 * kHigh) return kFill;
  const int meet_x = static_cast<int>(mix.x), meet_y = static_cast<int>(mix.y);
  const size_t i = (x >= meet_x ? 1u : 0u) + (y >= meet_y ? 2u : 0u);
  const mixing::Box& in = of.inside[i];
  const int left = static_cast<int>(in.left), right = static_cast<int>(in.right);
  const int top = static_cast<int>(in.top), bottom = static_cast<int>(in.bottom);
  const int from_x = x >= meet_x ? left + x - meet_x : right - (meet_x - x);
  const int from_y = y >= meet_y ? top + y - meet_y : bottom - (meet_y - y);
  if (from_x < left || from_x >= right || from_y < top || from_y >= bottom) return kFill;
  return of.pixels[i][place(config::Layout::kNhwc, from_x, from_y, channel)];
}

Point back(const mixing::Mix& mix, double x, double y) {
  const auto& [a, b, c, d, e, f] = mix.map;
  const double area = a * e - b * d;
  return {kWide + (e * (x - c) - b * (y - f)) / area, kHigh + (a * (y - f) - d * (x - c)) / area};
}

TEST_CASE("a warped mosaic has the pixels of its canvas, between the four around each place") {
  const auto layout = GENERATE(config::Layout::kNhwc, config::Layout::kNchw);
  const Pictures of;
  const auto operation = make(layout, {{"degrees", 30.0}, {"shear", 10.0}});
  std::vector<uint8_t> canvas(operation->canvas_bytes());
  size_t filled = 0, apart = 0;
  for (uint64_t position = 0; position < 100; ++position) {
    mixing::Mix mix = operation->draw({1, 0, position});
    mix.inside = of.inside;
    mix.canvas = canvas;
    std::array<std::vector<uint8_t>, 4> rows;
    for (size_t i = 0; i < 4; ++i) {
      rows[i].resize(3 * kPixels);
      for (int y = 0; y < kHigh; ++y)
        for (int x = 0; x < kWide; ++x)
          for (int c = 0; c < 3; ++c)
            rows[i][place(layout, x, y, c)] = of.pixels[i][place(config::Layout::kNhwc, x, y, c)];
    }
    operation->mix(mix, 0, rows[0].data(),
                   std::array<const uint8_t*, 3>{rows[1].data(), rows[2].data(), rows[3].data()});
    for (int y = 0; y < kHigh; ++y)
      for (int x = 0; x < kWide; ++x) {
        const Point at = back(mix, x + 0.5, y + 0.5);
        const double left = std::floor(at.x - 0.5), top = std::floor(at.y - 0.5);
        for (int c = 0; c < 3; ++c) {
          double value = 0;
          for (int k = 0; k < 4; ++k) {
            const double across = left + k % 2, down = top + k / 2;
            value += (1 - std::abs(at.x - 0.5 - across)) * (1 - std::abs(at.y - 0.5 - down)) *
                     canvas_value(mix, of, static_cast<int>(across), static_cast<int>(down), c);
          }
          const int made = rows[0][place(layout, x, y, c)];
          REQUIRE(std::abs(made - value) < 0.51);
          apart += made != static_cast<int>(std::floor(value + 0.5)) ? 1 : 0;
          filled += made == kFill ? 1 : 0;
        }
      }
  }
  CHECK(apart < 3 * kPixels / 100);
  CHECK(filled > 3 * kPixels);
}

TEST_CASE("boxes and masks of a warped mosaic lie where their pixels lie") {
  const Pictures of;
  const auto operation = make(config::Layout::kNhwc, {{"min_size", 0.0}, {"min_part", 0.0}});
  const std::array<float, 4> box = {7, 6, 16, 13};
  std::vector<uint8_t> mask(kPixels), made(kPixels);
  for (int y = 6; y < 13; ++y)
    for (int x = 7; x < 16; ++x) mask[static_cast<size_t>(y * kWide + x)] = 1;
  for (uint64_t position = 0; position < 200; ++position) {
    mixing::Mix mix = operation->draw({1, 0, position});
    mix.inside = of.inside;
    const double scale = mix.map[0];
    for (uint32_t i = 0; i < 4; ++i) {
      std::array<float, 4> moved{};
      operation->lists()->write_box(mix, i, reinterpret_cast<const uint8_t*>(box.data()), nullptr,
                                    reinterpret_cast<uint8_t*>(moved.data()));
      const auto x =
          static_cast<double>(mix.x) - static_cast<double>(i % 2 == 1 ? of.inside[i].left : of.inside[i].right);
      const auto y = static_cast<double>(mix.y) - static_cast<double>(i >= 2 ? of.inside[i].top : of.inside[i].bottom);
      for (size_t k = 0; k < 4; ++k) {
        const double side = k % 2 == 0 ? kWide : kHigh, shift = k % 2 == 0 ? x : y;
        const double on_canvas = std::clamp(static_cast<double>(box[k]) + shift, 0.0, 2 * side);
        const double wanted = std::clamp((on_canvas - side) * scale + mix.map[k % 2 == 0 ? 2 : 5], 0.0, side);
        REQUIRE(std::abs(static_cast<double>(moved[k]) - wanted) < 1e-3);
      }
      operation->lists()->write_mask(mix, i, mask.data(), made.data());
      for (int row = 0; row < kHigh; ++row)
        for (int column = 0; column < kWide; ++column) {
          const float left = static_cast<float>(column) + 0.5F, top = static_cast<float>(row) + 0.5F;
          const bool is_near = std::abs(left - moved[0]) < 1e-3F || std::abs(left - moved[2]) < 1e-3F ||
                               std::abs(top - moved[1]) < 1e-3F || std::abs(top - moved[3]) < 1e-3F;
          const bool is_in = left > moved[0] && left < moved[2] && top > moved[1] && top < moved[3];
          if (!is_near) REQUIRE(made[static_cast<size_t>(row * kWide + column)] == (is_in ? 1 : 0));
        }
    }
  }
}

TEST_CASE("a turned box becomes the upright box around it") {
  const auto operation = make(config::Layout::kNhwc);
  mixing::Mix mix;
  mix.x = kWide, mix.y = kHigh;
  mix.map = {0, 1, 14, -1, 0, 10};  // a quarter of a turn, counter-clockwise, as OpenCV's getRotationMatrix2D(90)
  const std::array<float, 4> box = {2, 1, 6, 3};
  std::array<float, 4> moved{};
  operation->lists()->write_box(mix, 3, reinterpret_cast<const uint8_t*>(box.data()), nullptr,
                                reinterpret_cast<uint8_t*>(moved.data()));
  CHECK(moved == std::array<float, 4>{15, 4, 17, 8});
}

TEST_CASE("boxes of a warped mosaic are dropped by their sides, their part and their ratio") {
  mixing::Mix mix;
  mix.x = kWide, mix.y = kHigh;
  mix.map = {0.5, 0, 14, 0, 0.5, 10};  // the fourth picture lies from (14, 10) on, half as large
  const std::vector<float> boxes = {0, 0, 8, 8, 0, 0, 3.9F, 8, 0, 0, 28, 4, 20, 4, 4, 4};
  const auto places = [&](const config::Parameters& further, uint64_t most = 9, double right = 14) {
    const auto operation = make(config::Layout::kNhwc, further);
    mix.map[2] = right;
    const mixing::ListRows rows{reinterpret_cast<const uint8_t*>(boxes.data()),
                                static_cast<uint32_t>(boxes.size() / 4)};
    const std::array lists = {mixing::ListRows{}, mixing::ListRows{}, mixing::ListRows{}, rows};
    std::vector<mixing::TakenRow> taken;
    operation->lists()->choose(mix, {lists, {}}, most, {}, taken);
    std::vector<uint32_t> found;
    for (const auto& row : taken) found.push_back(row.place);
    return found;
  };
  using Places = std::vector<uint32_t>;
  CHECK(places({}) == Places{0, 2});
  CHECK(places({{"min_size", 1.9}}) == Places{0, 1, 2});
  CHECK(places({{"max_aspect", 6.0}}) == Places{0});
  CHECK(places({}, 1) == Places{0});
  CHECK(places({{"min_size", 0.5}}, 9, 25) == Places{0, 1, 2});  // 3 of 14 pixels are left of the third
  CHECK(places({{"min_size", 0.5}, {"min_part", 0.25}}, 9, 25) == Places{0, 1});
}

TEST_CASE("a warped mosaic draws uniform places, sizes and angles") {
  constexpr uint64_t kDraws = 100'000;
  const auto operation = make(config::Layout::kNhwc, {{"degrees", 20.0}});
  std::vector<double> x, y, across, down, scale, turn;
  for (uint64_t position = 0; position < kDraws; ++position) {
    const mixing::Mix mix = operation->draw({3, 1, position});
    x.push_back(static_cast<double>(mix.x)), y.push_back(static_cast<double>(mix.y));
    across.push_back(mix.map[2]), down.push_back(mix.map[5]);
    scale.push_back(std::hypot(mix.map[0], mix.map[1]));
    turn.push_back(std::atan2(mix.map[1], mix.map[0]) * 180 / 3.14159265358979);
  }
  CHECK(uniform_distance(across, 0.4 * kWide, 0.6 * kWide) < test::kUniformMost);
  CHECK(uniform_distance(down, 0.4 * kHigh, 0.6 * kHigh) < test::kUniformMost);
  CHECK(uniform_distance(scale, 0.5, 1.5) < test::kUniformMost);
  CHECK(uniform_distance(turn, -20, 20) < test::kUniformMost);
  for (const auto& [places, side] : {std::pair(x, kWide), std::pair(y, kHigh)}) {
    std::vector<double> counts(static_cast<size_t>(2 * side));
    for (const double at : places) ++counts[static_cast<size_t>(at)];
    double sum = 0;
    for (int at = side / 2; at < 3 * side / 2; ++at)
      sum += std::pow(counts[static_cast<size_t>(at)] - static_cast<double>(kDraws) / side, 2) * side / kDraws;
    CHECK(counts[static_cast<size_t>(side / 2 - 1)] + counts[static_cast<size_t>(3 * side / 2)] == 0);
    CHECK(sum < 65);  // of at most 27 degrees: beyond it in one of 10,000
  }
}

}  // namespace
}  // namespace spdld::mosaic_warp_test
