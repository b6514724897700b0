// mel-spectrogram beside formulas that stand here by themselves, with a plain sum for the Fourier transform: those of
// openai/whisper's log_mel_spectrogram, torchaudio's MelSpectrogram, librosa's melspectrogram and Kaldi's fbank.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <complex>
#include <functional>
#include <numbers>

#include "tests/media/audio/chains.h"
#include "tests/media/audio/sounds.h"
#include "tests/support/one_chain.h"

namespace spdld::mel_test {
namespace {

using config::Form;
using test::OneChain;
using test::operation;

constexpr double kPi = std::numbers::pi;
constexpr int kRate_hz = 16'000;
using Rows = std::vector<std::vector<double>>;

std::vector<double> hann(int size) {
  std::vector<double> window;
  for (int i = 0; i < size; ++i) window.push_back(std::pow(std::sin(kPi * i / size), 2));
  return window;
}

std::vector<double> powers(const std::vector<double>& frame, int fft) {
  std::vector<std::complex<double>> turns;
  for (int i = 0; i < fft; ++i) turns.push_back(std::polar(1.0, -2 * kPi * i / fft));
  std::vector<double> power;
  for (int k = 0; k <= fft / 2; ++k) {
    std::complex<double> sum = 0;
    for (size_t t = 0; t < frame.size(); ++t)
      sum += frame[t] * turns[static_cast<size_t>(k) * t % static_cast<size_t>(fft)];
    power.push_back(std::norm(sum));
  }
  return power;
}

double slaney_hz(double mel) { return mel < 15 ? mel * 200 / 3 : 1000 * std::pow(6.4, (mel - 15) / 27); }
double slaney_mel(double hz) { return hz < 1000 ? hz * 3 / 200 : 15 + 27 * std::log(hz / 1000) / std::log(6.4); }
double htk_hz(double mel) { return 700 * (std::pow(10, mel / 2595) - 1); }
double htk_mel(double hz) { return 2595 * std::log10(1 + hz / 700); }

// [mels][bins]
Rows filters(int mels, int fft, bool is_slaney) {
  const auto to_mel = is_slaney ? slaney_mel : htk_mel;
  const auto to_hz = is_slaney ? slaney_hz : htk_hz;
  std::vector<double> edges;
  for (int i = 0; i < mels + 2; ++i)
    edges.push_back(to_hz(to_mel(0) + (to_mel(kRate_hz / 2.0) - to_mel(0)) * i / (mels + 1)));
  Rows all(static_cast<size_t>(mels), std::vector<double>(static_cast<size_t>(fft) / 2 + 1));
  for (size_t m = 0; m < all.size(); ++m) {
    for (size_t k = 0; k < all[m].size(); ++k) {
      const double hz = static_cast<double>(k) * kRate_hz / fft;
      const double rise = (hz - edges[m]) / (edges[m + 1] - edges[m]);
      const double fall = (edges[m + 2] - hz) / (edges[m + 2] - edges[m + 1]);
      all[m][k] = std::max(0.0, std::min(rise, fall));
      if (is_slaney) all[m][k] *= 2 / (edges[m + 2] - edges[m]);
    }
  }
  return all;
}

std::vector<double> filtered(const std::vector<double>& power, const Rows& bank) {
  std::vector<double> mels;
  for (const auto& filter : bank) {
    double sum = 0;
    for (size_t k = 0; k < filter.size(); ++k) sum += filter[k] * power[k];
    mels.push_back(sum);
  }
  return mels;
}

// [frames][mels], of frames around each multiple of the hop.
Rows centred(const std::vector<float>& samples, int fft, int hop, int mels, bool is_slaney, bool is_reflected) {
  const Rows bank = filters(mels, fft, is_slaney);
  const std::vector<double> window = hann(fft);
  const int count = static_cast<int>(samples.size());
  Rows all;
  for (int middle = 0; middle <= count; middle += hop) {
    std::vector<double> frame;
    for (int i = 0; i < fft; ++i) {
      int at = middle - fft / 2 + i;
      const bool is_inside = at >= 0 && at < count;
      if (!is_inside) at = at < 0 ? -at : 2 * count - 2 - at;
      const double sample = is_inside || is_reflected ? double{samples[static_cast<size_t>(at)]} : 0;
      frame.push_back(sample * window[static_cast<size_t>(i)]);
    }
    all.push_back(filtered(powers(frame, fft), bank));
  }
  return all;
}

Rows kaldi(const std::vector<float>& samples) {
  constexpr int kWidth = 400, kHop = 160, kFft = 512, kMels = 23;
  const auto mel = [](double hz) { return 1127 * std::log(1 + hz / 700); };
  const double low = mel(20), step = (mel(8000) - low) / (kMels + 1);
  Rows bank(kMels, std::vector<double>(kFft / 2 + 1));
  for (int m = 0; m < kMels; ++m)
    for (int k = 0; k < kFft / 2; ++k) {
      const double place = (mel(k * 16'000.0 / kFft) - low) / step - m;
      bank[static_cast<size_t>(m)][static_cast<size_t>(k)] = std::max(0.0, std::min(place, 2 - place));
    }
  Rows all;
  for (size_t begin = 0; begin + kWidth <= samples.size(); begin += kHop) {
    std::vector<double> frame(samples.begin() + static_cast<std::ptrdiff_t>(begin),
                              samples.begin() + static_cast<std::ptrdiff_t>(begin + kWidth));
    double mean = 0;
    for (const double sample : frame) mean += sample / kWidth;
    std::vector<double> ready;
    for (size_t i = 0; i < kWidth; ++i) {
      const double emphasised = frame[i] - mean - 0.97 * (frame[i == 0 ? 0 : i - 1] - mean);
      const double round = 0.5 - 0.5 * std::cos(2 * kPi * static_cast<double>(i) / (kWidth - 1));
      ready.push_back(emphasised * std::pow(round, 0.85));
    }
    all.push_back(filtered(powers(ready, kFft), bank));
  }
  return all;
}

// The greatest relative difference; `is_mels_first`: the order of `given`.
double distance(
    const std::vector<float>& given, const Rows& wanted, bool is_mels_first,
    const std::function<double(double)>& back = [](double value) { return value; }) {
  const size_t frames = wanted.size(), mels = wanted[0].size();
  REQUIRE(given.size() == frames * mels);
  double worst = 0;
  for (size_t i = 0; i < frames; ++i)
    for (size_t m = 0; m < mels; ++m) {
      const double value = back(double{given[is_mels_first ? m * frames + i : i * mels + m]});
      worst = std::max(worst, std::abs(value - wanted[i][m]) / std::max(wanted[i][m], 1e-30));
    }
  return worst;
}

// A tone that is 70 dB louder than the noise around it: a transform in single precision would miss the noise's bands.
std::vector<float> speech() {
  std::vector<float> samples = test::rising_tones(kRate_hz, 1, 0.4);
  for (size_t i = 0; i < samples.size(); ++i)
    samples[i] =
        0.0003f * samples[i] + static_cast<float>(0.9 * std::sin(2 * kPi * 440 * static_cast<double>(i) / kRate_hz));
  return samples;
}

std::vector<float> spectrogram(const std::vector<float>& samples, config::Parameters parameters, bool is_fixed = true) {
  const auto count = static_cast<int64_t>(samples.size());
  config::Parameters decoding = {{"rate", int64_t{kRate_hz}}};
  if (is_fixed) decoding["samples"] = count;
  OneChain chain{{operation("decode-audio", decoding), operation("mel-spectrogram", std::move(parameters))}};
  if (!is_fixed) chain.form = Form::kRagged, chain.length_max = 10'000;
  const auto result = chain.run<float>(test::wav_of(samples, kRate_hz, 1));
  if (!result) FAIL(result.error().message);
  return *result;
}

using Text = std::string;

TEST_CASE("presets of the power are those of their programs", "[audio]") {
  const std::vector<float> samples = speech();
  CHECK(distance(spectrogram(samples, {{"preset", Text("torchaudio")}}), centred(samples, 400, 200, 128, false, true),
                 true) < 1e-5);
  CHECK(distance(spectrogram(samples, {{"preset", Text("librosa")}}), centred(samples, 2048, 512, 128, true, false),
                 true) < 1e-5);
  CHECK(distance(spectrogram(samples, {{"preset", Text("kaldi")}, {"values", Text("power")}}), kaldi(samples), false) <
        1e-5);
}

TEST_CASE("whisper's values", "[audio]") {
  const std::vector<float> samples = speech();
  Rows wanted = centred(samples, 400, 160, 80, true, true);
  wanted.pop_back();
  CHECK(distance(spectrogram(samples, {{"preset", Text("whisper")}, {"values", Text("power")}}), wanted, true) < 1e-5);
  double greatest = -100;
  for (auto& row : wanted)
    for (double& value : row) value = std::log10(std::max(value, 1e-10)), greatest = std::max(greatest, value);
  const std::vector<float> given = spectrogram(samples, {{"preset", Text("whisper")}});
  double worst = 0;
  for (size_t i = 0; i < wanted.size(); ++i)
    for (size_t m = 0; m < 80; ++m)
      worst = std::max(worst,
                       std::abs((std::max(wanted[i][m], greatest - 8) + 4) / 4 - double{given[m * wanted.size() + i]}));
  CHECK(worst < 1e-6);
}

TEST_CASE("logarithms of the power", "[audio]") {
  const std::vector<float> samples = speech();
  const Rows wanted = kaldi(samples);
  const auto given = [&](const std::string& values, double top_db = 0) {
    return spectrogram(samples, {{"preset", Text("kaldi")}, {"values", values}, {"top_db", top_db}});
  };
  CHECK(distance(given("preset"), wanted, false, [](double x) { return std::exp(x); }) < 1e-5);
  CHECK(distance(given("log10"), wanted, false, [](double x) { return std::pow(10, x); }) < 1e-5);
  CHECK(distance(given("db"), wanted, false, [](double x) { return std::pow(10, x / 10); }) < 1e-5);
  const std::vector<float> bounded = given("db", 20);
  const auto [least, greatest] = std::minmax_element(bounded.begin(), bounded.end());
  CHECK(*greatest - *least == Approx(20));
}

TEST_CASE("sounds that differ in length give frames one after the other", "[audio]") {
  const std::vector<float> samples = speech();
  Rows wanted = centred(samples, 400, 160, 80, true, true);
  wanted.pop_back();
  const std::vector<float> given =
      spectrogram(samples, {{"preset", Text("whisper")}, {"values", Text("power")}}, false);
  CHECK(distance(given, wanted, false) < 1e-5);
}

TEST_CASE("a sound too short for a frame is bad content", "[audio]") {
  const OneChain chain{{operation("decode-audio", {{"rate", int64_t{kRate_hz}}}),
                        operation("mel-spectrogram", {{"preset", Text("whisper")}})},
                       Form::kRagged,
                       100};
  const Error error = chain.error<float>(test::wav_of(std::vector<float>(150), kRate_hz, 1));
  CHECK(error.trouble == Trouble::kContent);
  CHECK(error.message == "output 'out': the sound's 150 samples are too few for a frame");
}

TEST_CASE("what a spectrogram can't be made of", "[audio]") {
  const auto error = [](config::Parameters decoding, config::Parameters mel) {
    return OneChain{{operation("decode-audio", std::move(decoding)), operation("mel-spectrogram", std::move(mel))}}
        .error<float>("")
        .message;
  };
  const config::Parameters whisper = {{"preset", Text("whisper")}};
  const int64_t second = 16'000;
  CHECK_THAT(error({{"samples", second}}, whisper), Catch::Contains("needs to know the sound's rate"));
  CHECK_THAT(error({{"samples", second}, {"rate", int64_t{8000}}}, whisper), Catch::Contains("16000 samples a second"));
  CHECK_THAT(error({{"samples", second}, {"rate", second}, {"channels", int64_t{2}}}, whisper),
             Catch::Contains("one channel"));
  CHECK_THAT(error({{"samples", int64_t{100}}, {"rate", second}}, whisper), Catch::Contains("too short for a frame"));
  for (const char* other : {"spectrogram", "mfcc"}) {
    const OneChain chain{{operation("decode-audio", {{"samples", int64_t{100}}, {"rate", second}}),
                          operation(other, {{"preset", Text("torchaudio")}})}};
    CHECK_THAT(chain.error<float>("").message, Catch::Contains("too short for a frame"));
  }
  const auto with = [&](std::string_view name, config::Value value) {
    config::Parameters changed = whisper;
    changed.emplace(name, std::move(value));
    return error({{"samples", second}, {"rate", second}}, changed);
  };
  CHECK_THAT(with("n_fft", int64_t{401}), Catch::Contains("odd"));
  CHECK_THAT(with("window", int64_t{500}), Catch::Contains("longer than its `n_fft`"));
  CHECK_THAT(with("f_max", 9000.0), Catch::Contains("above half the rate"));
  CHECK_THAT(with("f_min", 8000.0), Catch::Contains("not below its `f_max`"));
}

TEST_CASE("masks of a spectrogram", "[audio]") {
  const std::vector<float> samples = speech();
  const auto masked = [&](config::Parameters parameters) {
    parameters["value"] = -50.0;
    const OneChain chain{{operation("decode-audio", {{"rate", int64_t{kRate_hz}}, {"samples", int64_t{6400}}}),
                          operation("mel-spectrogram", {{"preset", Text("whisper")}}),
                          operation("spec-augment", std::move(parameters))}};
    return *chain.run<float>(test::wav_of(samples, kRate_hz, 1));
  };
  constexpr size_t kMels = 80, kFrames = 40;
  const std::vector<float> plain = spectrogram(samples, {{"preset", Text("whisper")}});
  REQUIRE(plain.size() == kMels * kFrames);
  const auto of_rows = [&](const std::vector<float>& values, bool is_row) {
    size_t count = 0;
    for (size_t i = 0; i < (is_row ? kMels : kFrames); ++i) {
      bool is_masked = true;
      for (size_t k = 0; k < (is_row ? kFrames : kMels); ++k)
        is_masked &= values[is_row ? i * kFrames + k : k * kFrames + i] == -50;
      count += is_masked ? 1 : 0;
    }
    return count;
  };
  const config::Parameters none = {{"time_masks", int64_t{0}}, {"mel_masks", int64_t{0}}};
  CHECK(masked(none) == plain);
  size_t rows = 0, columns = 0;
  for (int i = 0; i < 40; ++i) {
    const std::string draw = "draw" + std::to_string(i);
    const auto bands = masked({{"time_masks", int64_t{0}}, {"mel_masks", int64_t{1}}, {"draw", draw}});
    const auto frames =
        masked({{"time_masks", int64_t{1}}, {"mel_masks", int64_t{0}}, {"time_part", 0.25}, {"draw", draw}});
    rows = std::max(rows, of_rows(bands, true));
    columns = std::max(columns, of_rows(frames, false));
    for (size_t k = 0; k < plain.size(); ++k) CHECK((bands[k] == plain[k] || bands[k] == -50));
  }
  CHECK((rows > 20 && rows <= 27));
  CHECK((columns > 6 && columns <= 10));
}

}  // namespace
}  // namespace spdld::mel_test
