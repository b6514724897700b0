// The loops that compute with whole numbers, on every instruction set: the values of the plain formula.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "daemon/media/image/kernels/colour_rows.h"
#include "daemon/media/image/kernels/resample_fixed.h"
#include "tests/media/image/on_all_sets.h"

namespace spdld::image::exact_rows_test {
namespace {

using test::noise_values;
using test::on_all_sets;
using test::Values;

uint8_t cut(int value) { return static_cast<uint8_t>(std::clamp(value, 0, 255)); }

// As jdcolor.c has it.
void add_rgb(int luma, int cb, int cr, Values& out) {
  const int blue = cb - 128, red = cr - 128;
  out.push_back(cut(luma + ((91'881 * red + 32'768) >> 16)));
  out.push_back(cut(luma + ((-22'554 * blue - 46'802 * red + 32'768) >> 16)));
  out.push_back(cut(luma + ((116'130 * blue + 32'768) >> 16)));
}

TEST_CASE("every pair of chroma becomes libjpeg's colours", "[kernels]") {
  constexpr size_t kCount = 256 * 256;
  Values cb(kCount), cr(kCount);
  for (size_t i = 0; i < kCount; ++i) cb[i] = static_cast<uint8_t>(i / 256), cr[i] = static_cast<uint8_t>(i % 256);
  for (const int grey : {0, 1, 128, 254, 255}) {
    const Values luma(kCount, static_cast<uint8_t>(grey));
    Values wanted;
    for (size_t i = 0; i < kCount; ++i) add_rgb(grey, cb[i], cr[i], wanted);
    CHECK((on_all_sets([&] {
             Values rgb(3 * kCount);
             rgb_row(luma.data(), cb.data(), cr.data(), kCount, rgb.data());
             return rgb;
           }) == wanted));
  }
}

TEST_CASE("a row of colours of any length is written to its end, and no further", "[kernels]") {
  for (const size_t count : {1u, 7u, 15u, 16u, 17u, 31u, 33u, 100u}) {
    const Values luma = noise_values(count, 1), cb = noise_values(count, 2), cr = noise_values(count, 3);
    Values wanted;
    for (size_t i = 0; i < count; ++i) add_rgb(luma[i], cb[i], cr[i], wanted);
    wanted.resize(3 * count + 64, 0x5C);
    INFO(count << " pixels");
    CHECK((on_all_sets([&] {
             Values rgb(wanted.size(), 0x5C);
             rgb_row(luma.data(), cb.data(), cr.data(), count, rgb.data());
             return rgb;
           }) == wanted));
  }
}

TEST_CASE("chroma is mixed and widened with libjpeg's roundings", "[kernels]") {
  const bool mixed = GENERATE(false, true);
  for (const size_t count : {1u, 2u, 31u, 32u, 33u, 75u}) {
    Values own = noise_values(count + 2, 7), next = noise_values(count + 2, 8);
    std::fill_n(own.begin(), std::min<size_t>(count, 3), uint8_t{255});
    std::fill_n(next.begin(), std::min<size_t>(count, 3), uint8_t{255});
    const auto sample = [&](size_t i) { return mixed ? 3 * own[i] + next[i] : int{own[i]}; };
    Values wanted;
    for (size_t i = 1; i <= count; ++i) {
      const int three = 3 * sample(i);
      wanted.push_back(
          static_cast<uint8_t>(mixed ? (three + sample(i - 1) + 8) >> 4 : (three + sample(i - 1) + 1) >> 2));
      wanted.push_back(
          static_cast<uint8_t>(mixed ? (three + sample(i + 1) + 7) >> 4 : (three + sample(i + 1) + 2) >> 2));
    }
    own.resize(count + 2 + kRowSlack), next.resize(count + 2 + kRowSlack);
    INFO(count << " samples");
    CHECK((on_all_sets([&] {
             std::vector<uint16_t> samples(count + 2 + kRowSlack), pixels(count + kRowSlack);
             mix_rows(own.data(), next.data(), count + 2, samples.data());
             if (!mixed) std::copy(own.begin(), own.end(), samples.begin());
             widen_row(samples.data() + 1, count, mixed, pixels.data());
             Values bytes(2 * count);
             std::memcpy(bytes.data(), pixels.data(), bytes.size());
             return bytes;
           }) == wanted));
  }
}

// One axis of a picture whose side is `in`.
AxisRequest axis_of(int in, int out, Filter filter, bool mirrored) {
  AxisRequest axis;
  axis.in = in, axis.out = out, axis.count = out, axis.filter = filter, axis.mirrored = mirrored;
  return axis;
}

// As Pillow has it: one value after another, first across, then down, each rounded to a byte.
Values resampled_plainly(const Values& source, int width, const AxisRequest& across, const AxisRequest& down,
                         int channels) {
  FixedWeights axis;
  axis.fill(across);
  const auto pass = [&](int first, int step, const Values& from) {
    const int i = first, start = axis.range().first + axis.start(i);
    return [=, &axis, &from](size_t begin) {
      int64_t sum = 1 << (FixedWeights::kFractionBits - 1);
      for (int k = 0; k < axis.taps(i); ++k)
        sum += int64_t{axis.weights(i)[k]} * from[begin + static_cast<size_t>((start + k) * step)];
      return cut(static_cast<int>(sum >> FixedWeights::kFractionBits));
    };
  };
  Values lines, wanted;
  for (int y = 0; y < down.in; ++y) {
    for (int x = 0; x < across.count; ++x) {
      for (int c = 0; c < channels; ++c)
        lines.push_back(pass(x, channels, source)(static_cast<size_t>(y * width * channels + c)));
    }
  }
  axis.fill(down);
  const int line = across.count * channels;
  for (int y = 0; y < down.count; ++y) {
    for (int at = 0; at < line; ++at) wanted.push_back(pass(y, line, lines)(static_cast<size_t>(at)));
  }
  return wanted;
}

TEST_CASE("a picture is resampled by the exact filters as value after value", "[kernels]") {
  const Filter filter = GENERATE(Filter::kBicubic, Filter::kLanczos, Filter::kBox, Filter::kTriangle);
  const int channels = GENERATE(1, 3, 4);
  const auto sides = GENERATE(table<int, int>({{1, 1}, {1, 9}, {3, 2}, {40, 40}, {37, 50}, {90, 37}, {400, 5}}));
  const int width = std::get<0>(sides), out = std::get<1>(sides);
  const bool mirrored = GENERATE(false, true), extreme = GENERATE(false, true);
  constexpr int kHeight = 23;
  const AxisRequest across = axis_of(width, out, filter, mirrored), down = axis_of(kHeight, 11, filter, false);
  const auto stride = static_cast<size_t>(width * channels);
  Values source = noise_values(stride * kHeight, static_cast<uint64_t>(width));
  for (uint8_t& value : source) value = !extreme ? value : value < 128 ? 0 : 255;
  CAPTURE(channels, width, out, mirrored);
  CHECK((on_all_sets([&] {
           FixedResampler resampler;
           resampler.begin(across, down, channels);
           Values rows, row(static_cast<size_t>(out * channels) + 64, 0x5C);
           const auto first = static_cast<size_t>(resampler.down().first) * stride +
                              static_cast<size_t>(resampler.across().first * channels);
           for (int y = 0; y < down.count; ++y) {
             resampler.next_row(source.data() + first, stride, row.data());
             rows.insert(rows.end(), row.begin(), row.end() - 64);
             if (row[row.size() - 64] != 0x5C) FAIL("written behind the row");
           }
           return rows;
         }) == resampled_plainly(source, width, across, down, channels)));
}

}  // namespace
}  // namespace spdld::image::exact_rows_test
