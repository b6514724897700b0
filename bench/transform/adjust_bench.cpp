// Measures each adjustment of a picture of 224 x 224 pixels, as a decode thread carries it out: colours and warps.
#include <benchmark/benchmark.h>

#include <string>
#include <utility>
#include <vector>

#include "daemon/media/image/adjustments/adjustment.h"

namespace {

using namespace spdld;
using image::Adjustment;
using image::AdjustmentType;
constexpr Size kSize = {224, 224};

Adjustment warp(const image::Warp& warp, image::Filter filter) {
  Adjustment adjustment{.type = AdjustmentType::kWarp};
  adjustment.warp = warp;
  adjustment.warp.filter = filter;
  return adjustment;
}

std::vector<std::pair<std::string, Adjustment>> all() {
  using image::Filter;
  const image::Warp turned = image::affine_warp(kSize, {.angle_degrees = 20, .scale = 0.9});
  const image::Warp tilted = image::perspective_warp(kSize, {{{0, 0}, {223, 0}, {223, 223}, {0, 223}}},
                                                     {{{9, 4}, {200, 20}, {210, 199}, {5, 220}}});
  return {{"brightness", {.type = AdjustmentType::kBrightness, .amount = 1.2}},
          {"contrast", {.type = AdjustmentType::kContrast, .amount = 1.2}},
          {"saturation", {.type = AdjustmentType::kSaturation, .amount = 1.2}},
          {"hue", {.type = AdjustmentType::kHue, .amount = 0.1}},
          {"grey", {.type = AdjustmentType::kGrey}},
          {"posterize", {.type = AdjustmentType::kPosterize, .amount = 4}},
          {"equalize", {.type = AdjustmentType::kEqualize}},
          {"autocontrast", {.type = AdjustmentType::kAutocontrast}},
          {"sharpness", {.type = AdjustmentType::kSharpness, .amount = 1.5}},
          {"blur_9", {.type = AdjustmentType::kBlur, .amount = 1.5, .taps_across = 9, .taps_down = 9}},
          {"blur_23", {.type = AdjustmentType::kBlur, .amount = 2, .taps_across = 23, .taps_down = 23}},
          {"jpeg_75", {.type = AdjustmentType::kJpeg, .amount = 75}},
          {"affine_nearest", warp(turned, Filter::kNearest)},
          {"affine_bilinear", warp(turned, Filter::kBilinear)},
          {"perspective_bilinear", warp(tilted, Filter::kBilinear)},
          {"elastic_bilinear", warp(image::elastic_warp(kSize, 1, {50, 50}, {5, 5}), Filter::kBilinear)},
          {"pad", warp(image::border_warp(kSize, {4, 4, 4, 4}, image::BorderKind::kReflect), Filter::kNearest)}};
}

void adjust(benchmark::State& state, const Adjustment& adjustment) {
  ByteBuffer source, memory;
  const size_t bytes = static_cast<size_t>(kSize.width) * static_cast<size_t>(kSize.height) * 3;
  uint8_t* to = source.resize(bytes);
  for (size_t i = 0; i < bytes; ++i) to[i] = static_cast<uint8_t>(i * 2654435761u >> 13);
  image::Adjuster adjuster;
  Adjustment each = adjustment;
  for (auto _ : state) {
    std::copy_n(source.data(), bytes, memory.resize(bytes + PixelRows::kSlackBytes));
    image::AdjustedPicture picture{memory, kSize, 3};
    ++each.warp.seed;  // displacements are kept for one seed
    adjuster.run({&each, 1}, 0, picture);
    benchmark::DoNotOptimize(picture.pixels());
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (const auto& [name, adjustment] : all())
    benchmark::RegisterBenchmark(name.c_str(), adjust, adjustment)->Unit(benchmark::kMicrosecond);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
