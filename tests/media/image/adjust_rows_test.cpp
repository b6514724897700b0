// The loops of adjustments and warps, on every instruction set: the same values on all of them, and those of the
// formula.
#include "daemon/media/image/adjustments/adjust_rows.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "daemon/media/image/adjustments/warp_rows.h"
#include "tests/media/image/on_all_sets.h"

namespace spdld::adjust_rows_test {
namespace {

using test::on_all_sets;
using test::Values;

Values noise(size_t count, uint64_t seed) { return test::noise_values(count, seed); }

uint8_t cut(float value) { return static_cast<uint8_t>(std::clamp(value, 0.0F, 255.0F)); }

int grey_of(const uint8_t* pixel) {
  return static_cast<int>(static_cast<float>(pixel[0]) * 0.2989F + static_cast<float>(pixel[1]) * 0.587F +
                          static_cast<float>(pixel[2]) * 0.114F);
}

TEST_CASE("colours of pixels are the formula's on every instruction set", "[kernels]") {
  for (const size_t count : {1u, 3u, 15u, 16u, 17u, 1000u}) {
    const Values pixels = noise(3 * count, count);
    Values grey(3 * count), saturated(3 * count);
    uint64_t sum = 0;
    for (size_t i = 0; i < 3 * count; ++i) {
      const int of_pixel = grey_of(pixels.data() + i / 3 * 3);
      grey[i] = static_cast<uint8_t>(of_pixel);
      saturated[i] = cut(static_cast<float>(pixels[i]) * 1.7F + -0.7F * static_cast<float>(of_pixel));
      if (i % 3 == 0) sum += static_cast<uint64_t>(of_pixel);
    }
    INFO(count << " pixels");
    CHECK(image::grey_sum(pixels.data(), count) == sum);
    const auto changed = [&](auto change) {
      return on_all_sets([&, change] {
        Values made = pixels;
        change(made.data());
        return made;
      });
    };
    CHECK(changed([&](uint8_t* made) { image::make_grey_pixels(made, count); }) == grey);
    CHECK(changed([&](uint8_t* made) { image::saturate_pixels(made, count, 1.7F, -0.7F); }) == saturated);
    changed([&](uint8_t* made) { image::turn_hue_of_pixels(made, count, 0.37F); });
    CHECK(changed([&](uint8_t* made) {
            image::make_grey_pixels(made, count), image::turn_hue_of_pixels(made, count, 0.2F);
          }) == grey);
  }
}

TEST_CASE("a third of a turn changes red to green, and green to blue", "[kernels]") {
  Values pixels = {255, 0, 0, 0, 255, 0, 0, 0, 255, 7, 7, 7};
  image::turn_hue_of_pixels(pixels.data(), 4, 1.0F / 3);
  for (size_t i = 0; i < 9; ++i) CHECK(std::abs(pixels[i] - (i == 1 || i == 5 || i == 6 ? 255 : 0)) <= 1);
  CHECK(Values(pixels.end() - 3, pixels.end()) == Values{7, 7, 7});
}

TEST_CASE("a row is sharpened by its neighbours", "[kernels]") {
  for (const size_t step : {1u, 3u}) {
    for (const size_t count : {1u, 5u, 16u, 33u, 200u}) {
      const Values above = noise(count + 2 * step, 1), at = noise(count + 2 * step, 2),
                   below = noise(count + 2 * step, 3);
      Values wanted(count);
      for (size_t i = 0; i < count; ++i) {
        int sum = 4 * at[i + step];
        for (const Values* row : {&above, &at, &below}) sum += (*row)[i] + (*row)[i + step] + (*row)[i + 2 * step];
        const auto value = static_cast<float>(at[i + step]), blurred = std::round(static_cast<float>(sum) / 13);
        wanted[i] = cut(value + -0.5F * (blurred - value));
      }
      CHECK(on_all_sets([&] {
              Values out(count);
              image::sharpen_row({above.data() + step, at.data() + step, below.data() + step, step, count}, -0.5F,
                                 out.data());
              return out;
            }) == wanted);
    }
  }
}

TEST_CASE("rows and lines are weighed", "[kernels]") {
  const std::vector<float> weights = {0.25F, 0.5F, 0.125F};
  for (const size_t count : {1u, 7u, 16u, 50u}) {
    const Values first = noise(count, 1), second = noise(count, 2), third = noise(count, 3);
    const std::vector<const uint8_t*> rows = {first.data(), second.data(), third.data()};
    std::vector<float> sums(count), line(count + 2 * 3), weighed(count);
    image::weigh_rows(rows, weights, count, sums.data());
    for (size_t i = 0; i < count; ++i)  // sums of eighths are exact
      CHECK(sums[i] == 0.25F * first[i] + 0.5F * second[i] + 0.125F * third[i]);
    for (size_t i = 0; i < line.size(); ++i) line[i] = static_cast<float>(i * 37 % 256);
    Values wanted(count);
    image::weigh_line(line.data(), 3, weights, count, weighed.data());
    for (size_t i = 0; i < count; ++i) {
      CHECK(weighed[i] == 0.25F * line[i] + 0.5F * line[i + 3] + 0.125F * line[i + 6]);
      wanted[i] = cut(std::nearbyint(weighed[i]));
    }
    CHECK(on_all_sets([&] {
            Values out(count);
            image::weigh_line(line.data(), 3, weights, count, out.data());
            return out;
          }) == wanted);
  }
}

// The whole result of a warp, row by row.
Values warped(const image::Warp& warp, const Values& pixels, int channels) {
  const auto width = static_cast<size_t>(warp.size.width), height = static_cast<size_t>(warp.size.height);
  const std::vector<float> across(width * height, 0.01F), down(width * height, -0.02F);
  std::vector<float> xs(width), ys(width);
  Values out(width * height * static_cast<size_t>(channels));
  for (size_t y = 0; y < height; ++y) {
    const int row = static_cast<int>(y);
    if (warp.kind == image::WarpKind::kAffine) {
      image::fill_spots(image::AffineMap(warp), row, warp.source, xs, ys);
    } else if (warp.kind == image::WarpKind::kPerspective) {
      image::fill_spots(image::PerspectiveMap(warp), row, warp.source, xs, ys);
    } else {
      image::fill_spots(image::ElasticMap(warp, across.data(), down.data()), row, warp.source, xs, ys);
    }
    image::take_row({warp, pixels.data(), xs, ys}, channels, out.data() + y * width * static_cast<size_t>(channels));
  }
  return out;
}

TEST_CASE("a warp's pixels are the same on every instruction set", "[kernels][warp]") {
  for (const Size size : {Size{1, 1}, Size{1, 9}, Size{9, 1}, Size{15, 4}, Size{16, 16}, Size{101, 57}}) {
    for (const int channels : {1, 3}) {
      const auto bytes = static_cast<size_t>(size.width * size.height * channels);
      const Values pixels = noise(bytes + PixelRows::kSlackBytes, 5);
      const double right = size.width, bottom = size.height;
      for (image::Warp warp :
           {image::affine_warp(size, {.angle_degrees = 33, .translate_x = 2.5, .scale = 0.8}),
            image::affine_warp(size, {}),
            image::perspective_warp(size, {{{0, 0}, {right, 0}, {right, bottom}, {0, bottom}}},
                                    {{{1, 0.5}, {right, 1}, {right - 0.2, bottom}, {0, bottom + 1}}}),
            image::elastic_warp(size, 1, {1, 1}, {1, 1})}) {
        warp.fill = {1, 2, 3};
        for (const image::Filter filter : {image::Filter::kNearest, image::Filter::kBilinear}) {
          warp.filter = filter;
          INFO(size.width << " x " << size.height << ", " << channels << " channels");
          on_all_sets([&] { return warped(warp, pixels, channels); });
        }
      }
      CHECK(warped(image::affine_warp(size, {}), pixels, channels) ==
            Values(pixels.begin(), pixels.end() - PixelRows::kSlackBytes));
    }
  }
}

}  // namespace
}  // namespace spdld::adjust_rows_test
