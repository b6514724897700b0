// Measures the PNG decoder beside bare libspng, which decodes each whole picture with a context and memory of its own.
// One iteration is all pictures; `a_picture` is the CPU time of one picture. A PNG is inflated whole for every box.
#include <benchmark/benchmark.h>
#include <spng.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "daemon/media/image/codecs/image_decoder.h"
#include "tests/support/makers/jpeg_maker.h"

namespace {

using namespace spdld;

constexpr int kWidth = 500, kHeight = 375;
constexpr uint32_t kPictures = 20;
constexpr Box kWhole{0, 0, kWidth, kHeight}, kPart{120, 80, 224, 224};

struct FreeContext {
  void operator()(spng_ctx* context) const { spng_ctx_free(context); }
};
struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};

// Photo-like pictures of so many channels, as libspng compresses them.
std::vector<uint8_t> make_photo(int channels, uint32_t seed) {
  const auto pixels = test::make_pixels(kWidth, kHeight, channels, seed);
  const std::unique_ptr<spng_ctx, FreeContext> context(spng_ctx_new(SPNG_CTX_ENCODER));
  const auto colour = channels == 3 ? SPNG_COLOR_TYPE_TRUECOLOR : SPNG_COLOR_TYPE_TRUECOLOR_ALPHA;
  spng_ihdr header{kWidth, kHeight, 8, static_cast<uint8_t>(channels == 1 ? SPNG_COLOR_TYPE_GRAYSCALE : colour),
                   0,      0,       0};
  spng_set_ihdr(context.get(), &header);
  spng_set_option(context.get(), SPNG_ENCODE_TO_BUFFER, 1);
  spng_encode_image(context.get(), pixels.data(), pixels.size(), SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE);
  size_t size = 0;
  int error = 0;
  const std::unique_ptr<void, FreeMemory> png(spng_get_png_buffer(context.get(), &size, &error));
  const auto* first = static_cast<const uint8_t*>(png.get());
  return {first, first + size};
}

const std::vector<std::vector<uint8_t>>& photos(int channels) {
  static std::vector<std::vector<uint8_t>> made[5];
  for (uint32_t seed = 0; made[channels].size() < kPictures; ++seed) {
    made[channels].push_back(make_photo(channels, seed));
  }
  return made[channels];
}

template <typename Decode>
void measure(benchmark::State& state, int channels, Decode decode) {
  const auto& pictures = photos(channels);
  for (auto _ : state) {
    for (const auto& png : pictures) {
      if (!decode(png)) return state.SkipWithError("a picture could not be decoded");
    }
  }
  state.counters["a_picture"] =
      benchmark::Counter(kPictures, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void png_rows(benchmark::State& state, int channels, const Box& box) {
  const auto decoder = image::make_image_decoder();
  PixelRows rows;
  measure(state, channels,
          [&](const std::vector<uint8_t>& png) { return decoder->open(png, true) && decoder->decode(box, rows); });
}

void png_bare(benchmark::State& state, int channels) {
  std::vector<uint8_t> rgb(size_t{kWidth} * kHeight * 3);
  measure(state, channels, [&](const std::vector<uint8_t>& png) {
    const std::unique_ptr<spng_ctx, FreeContext> context(spng_ctx_new(0));
    return spng_set_png_buffer(context.get(), png.data(), png.size()) == 0 &&
           spng_decode_image(context.get(), rgb.data(), rgb.size(), SPNG_FMT_RGB8, 0) == 0;
  });
}

BENCHMARK_CAPTURE(png_bare, rgb, 3)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(png_rows, rgb_whole, 3, kWhole)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(png_rows, rgb_part, 3, kPart)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(png_bare, alpha, 4)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(png_rows, alpha_whole, 4, kWhole)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(png_rows, alpha_part, 4, kPart)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(png_bare, grey, 1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(png_rows, grey_whole, 1, kWhole)->Unit(benchmark::kMillisecond);

}  // namespace
