#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "daemon/mixing/operation.h"

namespace spdld::mixing_test {

using namespace spdld;

namespace {

std::unique_ptr<mixing::Operation> make(const std::string& op, double alpha,
                                        const std::vector<config::Signature>& images) {
  config::BatchOperationSpec spec;
  spec.op = op;
  spec.parameters["alpha"] = alpha;
  return mixing::make_operation({spec, images});
}

config::Signature picture(config::DType dtype, config::Layout layout, int64_t height, int64_t width) {
  if (layout == config::Layout::kNchw) return config::tensor(dtype, {3, height, width}, layout);
  return config::tensor(dtype, {height, width, 3}, layout);
}

}  // namespace

TEST_CASE("cutmix's box lies in the picture, and lam is the part that is the sample's own") {
  constexpr int64_t kHeight = 12, kWidth = 20;
  const auto cutmix = make("cutmix", 1,
                           {picture(config::DType::kUint8, config::Layout::kNhwc, kHeight, kWidth),
                            picture(config::DType::kInt16, config::Layout::kNchw, kHeight, kWidth)});
  double sum = 0;
  for (uint64_t position = 0; position < 300; position++) {
    const mixing::Mix mix = cutmix->draw({1, 0, position});
    std::vector<uint8_t> own(kHeight * kWidth * 3), partner(own.size(), 1);
    std::vector<int16_t> planes(own.size()), others(own.size(), 1);
    cutmix->mix(mix, 0, own.data(), partner.data());
    cutmix->mix(mix, 1, reinterpret_cast<uint8_t*>(planes.data()), reinterpret_cast<const uint8_t*>(others.data()));
    size_t replaced = 0;
    for (uint64_t y = 0; y < kHeight; y++)
      for (uint64_t x = 0; x < kWidth; x++) {
        const bool inside = x >= mix.box.left && x < mix.box.right && y >= mix.box.top && y < mix.box.bottom;
        replaced += inside;
        for (uint64_t c = 0; c < 3; c++) {
          REQUIRE(own[(y * kWidth + x) * 3 + c] == inside);
          REQUIRE(planes[(c * kHeight + y) * kWidth + x] == inside);
        }
      }
    REQUIRE(std::abs(mix.lam - (1 - static_cast<double>(replaced) / (kHeight * kWidth))) < 1e-12);
    sum += mix.lam;
  }
  CHECK(sum / 300 > 0.5);  // boxes that reach beyond the picture are cut off
  CHECK(sum / 300 < 0.8);
}

TEST_CASE("draws are the position's own, and those of each operation its own") {
  const auto image = picture(config::DType::kFloat32, config::Layout::kNchw, 8, 8);
  const auto mixup = make("mixup", 0.4, {image});
  CHECK(mixup->draw({1, 2, 3}).lam == mixup->draw({1, 2, 3}).lam);
  CHECK(mixup->draw({1, 2, 3}).lam != mixup->draw({1, 2, 4}).lam);
  CHECK(mixup->draw({1, 2, 3}).lam != mixup->draw({1, 3, 3}).lam);
  CHECK(mixup->draw({1, 2, 3}).lam != mixup->draw({2, 2, 3}).lam);
}

}  // namespace spdld::mixing_test
