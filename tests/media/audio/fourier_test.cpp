// The transforms beside a plain sum, and the loops over rows beside plain formulas; on every instruction set the same.
#include "daemon/media/signal/fourier.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <numbers>
#include <vector>

#include "daemon/media/signal/lanes.h"
#include "daemon/media/signal/resampler.h"
#include "tests/media/image/on_all_sets.h"

namespace spdld::fourier_test {
namespace {

using audio::kLanes;
using audio::RealFourier;
using test::noise_values;
using test::on_all_sets;
using test::Values;

// From -1 to 1.
template <typename T>
std::vector<T> noise(size_t count, uint64_t seed) {
  const Values bytes = noise_values(2 * count, seed);
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<T>(bytes[2 * i] * 256 + bytes[2 * i + 1] - 32'768) / T(32'768);
  return values;
}

template <typename T>
Values bytes_of(const std::vector<T>& values) {
  Values bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::complex<double> turn(size_t number, size_t size) {
  return std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(number % size) / static_cast<double>(size));
}

// The first bins of rows of real numbers.
template <typename T>
std::vector<T> bins_of(size_t size, std::vector<T> rows, size_t count) {
  std::vector<T> work(rows.size()), bins(count * 2 * kLanes<T>);
  RealFourier<T>(size).write_bins(rows.data(), work.data(), count, bins.data());
  return bins;
}

template <typename T>
double worst_of(size_t size, const std::vector<T>& rows, const std::vector<T>& bins) {
  double worst = 0;
  for (size_t k = 0; k < size / 2 + 1; ++k) {
    for (size_t lane = 0; lane < kLanes<T>; ++lane) {
      std::complex<double> sum = 0;
      for (size_t t = 0; t < size; ++t) sum += double{rows[t * kLanes<T> + lane]} * turn(k * t, size);
      const T* const bin = &bins[k * 2 * kLanes<T> + lane];
      worst = std::max(worst, std::abs(sum - std::complex<double>{bin[0], bin[kLanes<T>]}));
    }
  }
  return worst / std::sqrt(static_cast<double>(size));
}

// With each radix, alone and beside others; 2 * 11 * 13 and 2 * 101 have greater primes.
constexpr size_t kSizes[] = {2, 4, 6, 8, 10, 14, 16, 18, 24, 42, 60, 98, 210, 286, 202, 400, 512, 882};

TEST_CASE("bins are those of a plain sum", "[kernels]") {
  for (const size_t size : kSizes) {
    INFO(size);
    const auto doubles = noise<double>(size * kLanes<double>, size);
    CHECK(worst_of(size, doubles, bins_of(size, doubles, size / 2 + 1)) < 1e-14);
    const auto floats = noise<float>(size * kLanes<float>, size);
    CHECK(worst_of(size, floats, bins_of(size, floats, size / 2 + 1)) < 3e-6);
  }
}

TEST_CASE("powers are the bins' squares", "[kernels]") {
  const size_t size = 90;
  const auto rows = noise<double>(size * kLanes<double>, 3);
  const std::vector<double> bins = bins_of(size, rows, size / 2 + 1);
  std::vector<double> values = rows, work(rows.size()), powers(bins.size() / 2);
  RealFourier<double>(size).write_powers(values.data(), work.data(), powers.data());
  for (size_t i = 0; i < powers.size(); ++i) {
    const double* const bin = &bins[i / kLanes<double> * 2 * kLanes<double> + i % kLanes<double>];
    CHECK(powers[i] == Approx(std::norm(std::complex(bin[0], bin[kLanes<double>]))));
  }
}

TEST_CASE("the way back gives twice the values times their count", "[kernels]") {
  for (const size_t size : kSizes) {
    INFO(size);
    const size_t half = size / 2;
    // The last bin is zero: the sum of values with signs in turns.
    auto rows = noise<float>(size * kLanes<float>, 5);
    for (size_t lane = 0; lane < kLanes<float>; ++lane) {
      float sum = 0;
      for (size_t i = 0; i < size; ++i)
        sum += i % 2 == 0 ? rows[i * kLanes<float> + lane] : -rows[i * kLanes<float> + lane];
      rows[lane] -= sum;
    }
    const std::vector<float> bins = bins_of(size, rows, half);
    std::vector<float> values(rows.size()), work(rows.size());
    const RealFourier<float> transform(size);
    transform.prepare_back(bins.data(), half, values.data());
    const float* const back = transform.run_back(values.data(), work.data());
    double worst = 0;
    for (size_t i = 0; i < rows.size(); ++i)
      worst = std::max(worst, std::abs(double{back[i]} / static_cast<double>(size) - double{rows[i]}));
    CHECK(worst < 2e-6 * std::sqrt(static_cast<double>(size)));
  }
}

TEST_CASE("transforms are the same on every instruction set", "[kernels]") {
  for (const size_t size : kSizes) {
    on_all_sets([&] { return bytes_of(bins_of(size, noise<double>(size * kLanes<double>, 7), size / 2 + 1)); });
    on_all_sets([&] { return bytes_of(bins_of(size, noise<float>(size * kLanes<float>, 7), size / 2 + 1)); });
  }
}

TEST_CASE("a resampled sound is the same on every instruction set", "[kernels]") {
  const std::vector<float> in = noise<float>(9'000, 1);
  for (const auto& [from, to] : {std::pair<uint64_t, uint64_t>{44'100, 16'000}, {3, 1}, {1, 2}, {9, 10}, {11, 10}}) {
    const audio::Resampler resampler(from, to);
    on_all_sets([&] {
      std::vector<float> out(resampler.outputs(in.size()));
      ByteBuffer memory;
      resampler.run(in, 0, 0, out, memory);
      return bytes_of(out);
    });
  }
}

TEST_CASE("series are brought beside one another, and back", "[kernels]") {
  constexpr size_t kStep = 6;
  for (const size_t count : {1u, 3u, 4u, 5u, 64u, 67u, 130u}) {
    INFO(count);
    const std::vector<float> values = noise<float>(audio::kSeries * count, 2);
    const float* from[audio::kSeries];
    std::vector<float> back(values.size());
    float* to[audio::kSeries];
    for (size_t s = 0; s < audio::kSeries; ++s) from[s] = values.data() + s * count, to[s] = back.data() + s * count;
    std::vector<float> rows(count * kStep, 77), wanted = rows;
    std::vector<double> weights(count), weighed(count * audio::kSeries), wanted_weighed;
    for (size_t i = 0; i < count; ++i) {
      weights[i] = 1 / static_cast<double>(i + 3);
      for (size_t s = 0; s < audio::kSeries; ++s) {
        wanted[i * kStep + s] = from[s][i];
        wanted_weighed.push_back(double{from[s][i]} * weights[i]);
      }
    }
    audio::gather(from, count, kStep, rows.data());
    CHECK(rows == wanted);
    audio::spread(rows.data(), count, kStep, to);
    CHECK(back == values);
    on_all_sets([&] {
      audio::gather_weighed(from, weights, weighed.data());
      return bytes_of(weighed);
    });
    CHECK(weighed == wanted_weighed);
  }
}

TEST_CASE("logarithms of any values", "[kernels]") {
  using Limits = std::numeric_limits<double>;
  std::vector<double> values = {1,
                                1 + 1e-15,
                                1 - 1e-15,
                                2,
                                0.5,
                                std::numbers::sqrt2,
                                0.70710678118654746,
                                1e-10,
                                Limits::min(),
                                Limits::max(),
                                1e300,
                                1e-300,
                                10,
                                3,
                                0.9999,
                                1.0001,
                                0,
                                Limits::infinity(),
                                Limits::denorm_min(),
                                1e-310,
                                7,
                                -1,
                                Limits::quiet_NaN(),
                                5};
  for (const double part : noise<double>(4000, 9)) values.push_back(std::exp(50 * part));
  std::vector<float> given(values.size());
  const double scale = GENERATE(1.0, 10 / std::numbers::ln10);
  on_all_sets([&] {
    audio::write_logarithms(values, scale, given.data());
    return bytes_of(given);
  });
  for (size_t i = 0; i < values.size(); ++i) {
    INFO(values[i]);
    const auto wanted = static_cast<float>(std::log(values[i]) * scale);
    if (std::isnan(wanted))
      CHECK(std::isnan(given[i]));
    else if (std::isinf(wanted))
      CHECK(given[i] == wanted);
    else
      CHECK(std::abs(given[i] - wanted) <= std::abs(wanted) * 1.2e-7f);  // rounded to one of two neighbours
  }
}

}  // namespace
}  // namespace spdld::fourier_test
