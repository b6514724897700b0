// Noises and responses of rooms that stand beside the data set: what they make of sounds, and what is refused.
#include "daemon/media/audio/recordings.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <set>

#include "daemon/media/audio/convolution.h"
#include "daemon/media/chain.h"
#include "tests/media/audio/chains.h"
#include "tests/media/audio/sounds.h"

namespace spdld::recordings_test {
namespace {

using Catch::Contains;
using config::OperationSpec;
using test::operation;
using test::wav_of;
using Samples = std::vector<float>;

constexpr int kRate_hz = 8000;

// Files in memory, at the path that is asked for.
class MadeFiles final : public SideFiles {
 public:
  explicit MadeFiles(std::map<std::string, std::string> files) : files_(std::move(files)) {}
  void read(const std::string& path, const std::string&, const See& see) override {
    for (const auto& [name, content] : files_) see(path + "/" + name, test::bytes_of(content));
  }

 private:
  std::map<std::string, std::string> files_;
};
using Files = std::map<std::string, std::string>;

struct Mixed {
  explicit Mixed(OperationSpec spec, Files made, int64_t channels = 1)
      : ops{operation("decode-audio",
                      {{"rate", int64_t{kRate_hz}}, {"samples", int64_t{2000}}, {"channels", channels}}),
            std::move(spec), operation("convert-audio", {})},
        followed(config::follow(ops, config::bytes_of(config::Origin::kContent))) {
    REQUIRE(followed.error.empty());
    MadeFiles files(std::move(made));
    chain = std::make_unique<media::Chain>(ops, followed, "out", &files);
  }

  Samples run(const std::string& sound, uint64_t sample) {
    Samples to(static_cast<size_t>(ops.front().integer("channels")) * 2000);
    media::TensorOut out{.memory = reinterpret_cast<uint8_t*>(to.data())};
    const Draws draws{.seed = 5, .epoch = 0, .sample = sample};
    media::Value value{.bytes = test::bytes_of(sound)};
    const Status status = chain->run(value, {sample, draws, workspace, nullptr, {&out, 1}});
    if (!status) FAIL(status.error().message);
    return to;
  }

  std::vector<OperationSpec> ops;
  config::Followed followed;
  std::unique_ptr<media::Chain> chain;
  media::Workspace workspace;
};

OperationSpec mix_noise(config::Parameters more = {}) {
  more.emplace("noises", std::string("/noises"));
  return operation("mix-noise", std::move(more));
}
OperationSpec reverberate(config::Parameters more = {}) {
  more.emplace("responses", std::string("/rooms"));
  return operation("reverberate", std::move(more));
}
using Pair = std::vector<double>;

std::string refusal(const OperationSpec& spec, const Files& files) {
  try {
    const Mixed mixed(spec, files);
  } catch (const SetupError& error) {
    return error.what();
  }
  return "it was not refused";
}

Samples tone(size_t count, double hz, double loud) {
  Samples samples(count);
  for (size_t i = 0; i < count; ++i)
    samples[i] = static_cast<float>(loud * std::sin(2 * std::numbers::pi * hz * static_cast<double>(i) / kRate_hz));
  return samples;
}
Samples white(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  Samples samples(count);
  for (float& sample : samples) sample = static_cast<float>(random() % 2001) / 4000 - 0.25f;
  return samples;
}
Samples difference(const Samples& a, const Samples& b) {
  Samples rest(a.size());
  for (size_t i = 0; i < a.size(); ++i) rest[i] = a[i] - b[i];
  return rest;
}
double decibels(const Samples& a, const Samples& b) {
  return 10 * std::log10(audio::energy_of(a) / audio::energy_of(b));
}

const Samples kTone = tone(2000, 440, 0.5);

TEST_CASE("noise is as loud as its ratio says, and each draw takes another one", "[audio]") {
  Mixed mixed(mix_noise({{"snr_db", Pair{3, 12}}}), {{"a.wav", wav_of(white(9000, 1), kRate_hz, 1)}});
  const std::string sound = wav_of(kTone, kRate_hz, 1);
  std::vector<double> ratios;
  std::set<float> firsts;
  for (uint64_t sample = 0; sample < 200; ++sample) {
    const Samples made = mixed.run(sound, sample);
    CHECK(made == mixed.run(sound, sample));
    const Samples noise = difference(made, kTone);
    ratios.push_back(decibels(kTone, noise));
    firsts.insert(noise.front());
  }
  const auto [least, greatest] = std::minmax_element(ratios.begin(), ratios.end());
  CHECK(*least > 2.999);
  CHECK(*least < 3.3);
  CHECK(*greatest < 12.001);
  CHECK(*greatest > 11.7);
  CHECK(firsts.size() > 190);
}

// With the sound's own power, a ratio of 0 dB scales a noise of known power by a factor that is known too.
TEST_CASE("a part of a long noise is taken, and a short one is repeated", "[audio]") {
  Samples steps(5000);
  for (size_t i = 0; i < steps.size(); ++i) steps[i] = static_cast<float>(i + 1) / 8192;
  const auto places = [](const Samples& noise) { return noise[1] - noise[0]; };
  const std::string sound = wav_of(kTone, kRate_hz, 1);
  Mixed longer(mix_noise({{"snr_db", Pair{0, 0}}}), {{"a.wav", wav_of(steps, kRate_hz, 1)}});
  std::vector<double> starts;
  for (uint64_t sample = 0; sample < 200; ++sample) {
    const Samples noise = difference(longer.run(sound, sample), kTone);
    for (size_t i = 1; i < noise.size(); ++i) REQUIRE(noise[i] > noise[i - 1] - 1e-6f);
    starts.push_back(noise.front() / places(noise));
  }
  const auto [least, greatest] = std::minmax_element(starts.begin(), starts.end());
  CHECK(*least < 200);
  CHECK(*greatest > 2800);

  const Samples three = {0.1f, 0.2f, 0.4f};
  Mixed shorter(mix_noise({{"snr_db", Pair{0, 0}}}), {{"a.wav", wav_of(three, kRate_hz, 1)}});
  std::set<int> offsets;
  for (uint64_t sample = 0; sample < 30; ++sample) {
    const Samples noise = difference(shorter.run(sound, sample), kTone);
    for (size_t i = 3; i < noise.size(); ++i) REQUIRE(noise[i] == Approx(noise[i - 3]).margin(1e-6));
    offsets.insert(static_cast<int>(std::min_element(noise.begin(), noise.begin() + 3) - noise.begin()));
  }
  CHECK(offsets == std::set<int>{0, 1, 2});
}

TEST_CASE("noises of several recordings are added up, and all of them are drawn", "[audio]") {
  const Files files = {{"a.wav", wav_of(Samples(10, 0.5f), kRate_hz, 1)},
                       {"b.wav", wav_of({0.5f, -0.5f}, kRate_hz, 1)}};
  const std::string sound = wav_of(kTone, kRate_hz, 1);
  const auto shapes = [&](double least, double greatest) {
    Mixed mixed(mix_noise({{"snr_db", Pair{0, 0}}, {"count", Pair{least, greatest}}}), files);
    std::set<int> seen;  // 1: flat, 2: alternating, 3: both
    for (uint64_t sample = 0; sample < 60; ++sample) {
      const Samples noise = difference(mixed.run(sound, sample), kTone);
      const float mean = std::abs(noise[10] + noise[11]) / 2, swing = std::abs(noise[10] - noise[11]) / 2;
      seen.insert((mean > 1e-3f ? 1 : 0) + (swing > 1e-3f ? 2 : 0));
    }
    return seen;
  };
  CHECK(shapes(1, 1) == std::set<int>{1, 2});
  CHECK(shapes(2, 2).contains(3));
  CHECK(shapes(1, 2) == std::set<int>{1, 2, 3});
}

TEST_CASE("each channel gets the same noise, whose power is beside the mean of theirs", "[audio]") {
  Samples stereo(4000), left(2000), right(2000);
  for (size_t i = 0; i < 2000; ++i) stereo[2 * i] = left[i] = kTone[i], stereo[2 * i + 1] = right[i] = kTone[i] / 2;
  Mixed mixed(mix_noise({{"snr_db", Pair{6, 6}}}), {{"a.wav", wav_of(white(3000, 1), kRate_hz, 1)}}, 2);
  const Samples made = mixed.run(wav_of(stereo, kRate_hz, 2), 3);
  const Samples in_left = difference({made.begin(), made.begin() + 2000}, left);
  const Samples in_right = difference({made.begin() + 2000, made.end()}, right);
  for (size_t i = 0; i < 2000; ++i) REQUIRE(in_left[i] == Approx(in_right[i]).margin(1e-6));
  const double mean = (audio::energy_of(left) + audio::energy_of(right)) / 2;
  CHECK(10 * std::log10(mean / audio::energy_of(in_left)) == Approx(6).margin(1e-3));
}

TEST_CASE("silence stays silent, silent noise adds nothing, and p says how often there is noise", "[audio]") {
  const Files noise = {{"a.wav", wav_of(white(3000, 1), kRate_hz, 1)}};
  CHECK(Mixed(mix_noise(), noise).run(wav_of(Samples(2000), kRate_hz, 1), 1) == Samples(2000));
  const std::string sound = wav_of(kTone, kRate_hz, 1);
  CHECK(Mixed(mix_noise(), {{"a.wav", wav_of(Samples(50), kRate_hz, 1)}}).run(sound, 1) == kTone);
  Mixed seldom(mix_noise({{"p", 0.25}}), noise);
  int changed = 0;
  for (uint64_t sample = 0; sample < 400; ++sample) changed += seldom.run(sound, sample) != kTone;
  CHECK(changed > 70);
  CHECK(changed < 130);
}

TEST_CASE("recordings are brought to the rate of the sounds, and to one channel", "[audio]") {
  const Samples quick = tone(24000, 700, 0.5);  // 700 * 16000 / kRate_hz Hz of a file at 16 kHz
  Samples twice;
  for (const float sample : quick) twice.push_back(sample), twice.push_back(-sample / 2);
  const Files files = {{"a.wav", wav_of(twice, 2 * kRate_hz, 2)}};
  Mixed mixed(mix_noise({{"snr_db", Pair{0, 0}}}), files);
  const Samples noise = difference(mixed.run(wav_of(kTone, kRate_hz, 1), 3), kTone);
  int turns = 0;
  for (size_t i = 1; i < noise.size(); ++i) turns += noise[i] > 0 && noise[i - 1] <= 0;
  CHECK(turns >= 348);  // 1400 Hz in 0.25 s
  CHECK(turns <= 352);

  // The responses are the left channel alone.
  const Samples response = {1, 0.5f};
  Samples both;
  for (const float sample : response) both.push_back(sample), both.push_back(9);
  Mixed room(reverberate({{"keep_power", false}}), {{"a.wav", wav_of(both, kRate_hz, 2)}});
  const Samples made = room.run(wav_of(kTone, kRate_hz, 1), 3);
  for (size_t i = 1; i < made.size(); ++i) REQUIRE(made[i] == Approx(kTone[i] + 0.5 * kTone[i - 1]).margin(1e-5));
}

Samples convolved(const Samples& samples, const Samples& response, size_t shift) {
  Samples made(samples.size());
  for (size_t t = 0; t < samples.size(); ++t) {
    double sum = 0;
    for (size_t k = 0; k < response.size(); ++k) {
      const auto at = static_cast<int64_t>(t + shift) - static_cast<int64_t>(k);
      if (at >= 0 && at < static_cast<int64_t>(samples.size()))
        sum += double{response[k]} * samples[static_cast<size_t>(at)];
    }
    made[t] = static_cast<float>(sum);
  }
  return made;
}

TEST_CASE("a convolution by blocks is that by definition", "[audio]") {
  audio::Convolution convolution;
  std::mt19937 random(3);
  for (int round = 0; round < 60; ++round) {
    const size_t count = 1 + random() % 6000, length = 1 + random() % (round % 3 == 0 ? 3000 : 60);
    const size_t shift = random() % length;
    const Samples samples = white(count, random()), response = white(length, random());
    Samples made(count, 7.0f);
    convolution.run(samples, response, shift, made);
    const Samples wanted = convolved(samples, response, shift);
    const double scale = std::sqrt(audio::energy_of(samples) * audio::energy_of(response)) + 1e-9;
    INFO(count << " samples, " << length << " of the response, shift " << shift);
    for (size_t i = 0; i < count; ++i) REQUIRE(std::abs(made[i] - wanted[i]) < 2e-6 * scale);
    if (round % 10 == 0) convolution.shrink(0);
  }
}

TEST_CASE("a response begins at its greatest value, and the sound keeps its power and length", "[audio]") {
  const std::string sound = wav_of(kTone, kRate_hz, 1);
  const Samples later = {0, 0, 0, 0, -1};
  Mixed turned(reverberate(), {{"a.wav", wav_of(later, kRate_hz, 1)}});
  const Samples made = turned.run(sound, 1);
  for (size_t i = 0; i < made.size(); ++i) REQUIRE(made[i] == Approx(-kTone[i]).margin(1e-5));

  const Samples room = {0.1f, 0.8f, 0.3f, -0.2f, 0.1f, 0.05f};
  Mixed kept(reverberate(), {{"a.wav", wav_of(room, kRate_hz, 1)}});
  Mixed plain(reverberate({{"keep_power", false}}), {{"a.wav", wav_of(room, kRate_hz, 1)}});
  const Samples wanted = convolved(kTone, room, 1);
  const Samples as_it_is = plain.run(sound, 1), scaled = kept.run(sound, 1);
  for (size_t i = 0; i < wanted.size(); ++i) REQUIRE(as_it_is[i] == Approx(wanted[i]).margin(1e-5));
  CHECK(decibels(scaled, kTone) == Approx(0).margin(1e-4));
  CHECK(std::abs(decibels(as_it_is, kTone)) > 0.5);
  CHECK(Mixed(reverberate(), {{"a.wav", wav_of(room, kRate_hz, 1)}}).run(wav_of(Samples(2000), kRate_hz, 1), 1) ==
        Samples(2000));
}

TEST_CASE("responses are drawn, with their probability", "[audio]") {
  const Files rooms = {{"a.wav", wav_of({1}, kRate_hz, 1)}, {"b.wav", wav_of({-1}, kRate_hz, 1)}};
  Mixed mixed(reverberate({{"p", 0.5}}), rooms);
  int turned = 0;
  for (uint64_t sample = 0; sample < 400; ++sample) turned += mixed.run(wav_of(kTone, kRate_hz, 1), sample)[5] < 0;
  CHECK(turned > 70);
  CHECK(turned < 130);
}

TEST_CASE("recordings that can't be used are refused with their paths", "[audio]") {
  const std::string good = wav_of(white(2000, 1), kRate_hz, 1);
  CHECK_THAT(refusal(mix_noise(), {}), Contains("output 'out'") && Contains("mix-noise") &&
                                           Contains("no recording in /noises") && Contains("flac"));
  CHECK_THAT(refusal(mix_noise(), {{"a.wav", good}, {"b.wav", good.substr(0, 30)}}), Contains("/noises/b.wav"));
  CHECK_THAT(refusal(mix_noise(), {{"a.wav", "no sound"}}), Contains("/noises/a.wav can't be used"));
  const std::string large = wav_of(white(150'000, 1), kRate_hz, 1);
  CHECK(refusal(mix_noise({{"memory_max", int64_t{1} << 20}}), {{"a.wav", large}}) == "it was not refused");
  CHECK_THAT(refusal(mix_noise({{"memory_max", int64_t{1} << 20}}), {{"a.wav", large}, {"b.wav", large}}),
             Contains("memory_max = 1048576"));
  CHECK_THAT(refusal(reverberate(), {{"a.wav", good}, {"b.wav", wav_of(Samples(9), kRate_hz, 1)}}),
             Contains("/rooms/b.wav is no impulse response: it is silent"));
  CHECK_THAT(refusal(reverberate(), {{"a.wav", wav_of(Samples(audio::kResponseMax + 1, 0.1f), kRate_hz, 1)}}),
             Contains("/rooms/a.wav is no impulse response") && Contains("samples, more than"));
}

}  // namespace
}  // namespace spdld::recordings_test
