// Operations on sound as chains: segments, levels, silence, speed, and the tensor at the end.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/media/audio/chains.h"
#include "tests/media/audio/sounds.h"
#include "tests/support/one_chain.h"

namespace spdld::audio_operations_test {
namespace {

using config::Form;
using config::OperationSpec;
using test::OneChain;
using test::operation;
using test::wav_of;
using Ops = std::vector<OperationSpec>;

constexpr uint64_t kLongest = 100'000;

const OperationSpec kEnd = operation("convert-audio", {});

OneChain ragged(Ops ops) {
  ops.push_back(kEnd);
  return {std::move(ops), Form::kRagged, kLongest};
}
OneChain fixed(Ops ops) {
  ops.push_back(kEnd);
  return {std::move(ops)};
}

std::vector<float> ramp(size_t count) {
  std::vector<float> samples(count);
  for (size_t i = 0; i < count; ++i) samples[i] = static_cast<float>(i) / 1024;
  return samples;
}

// The samples that the chain gives for random numbers of this sample.
std::vector<float> drawn(const Ops& ops, const std::string& file, uint64_t sample) {
  Ops all = ops;
  all.push_back(kEnd);
  const config::Followed followed =
      config::follow(all, config::bytes_of(config::Origin::kContent), config::Form::kRagged);
  const bool varies = followed.error.empty();
  const config::Followed fixed_end =
      varies ? followed : config::follow(all, config::bytes_of(config::Origin::kContent), config::Form::kFixed);
  REQUIRE(fixed_end.error.empty());
  const media::Chain chain(all, fixed_end, "out");
  std::vector<float> to(kLongest);
  uint32_t length = varies ? 0 : static_cast<uint32_t>(fixed_end.end().dimensions[0].value());
  media::TensorOut out{.memory = reinterpret_cast<uint8_t*>(to.data())};
  if (varies) out.length_max = kLongest, out.length = &length;
  media::Workspace workspace;
  const Draws draws{.seed = 5, .epoch = 0, .sample = sample};
  media::Value value{.bytes = test::bytes_of(file)};
  const Status status = chain.run(value, {sample, draws, workspace, nullptr, {&out, 1}});
  if (!status) FAIL(status.error().message);
  to.resize(length);
  return to;
}

TEST_CASE("a whole sound is as long as its file says", "[audio]") {
  const std::vector<float> samples = ramp(700);
  CHECK(*ragged({operation("decode-audio", {})}).run<float>(wav_of(samples, 8000, 1)) == samples);
}

TEST_CASE("channels become their mean, or stay, or are copied", "[audio]") {
  const std::string stereo = wav_of({0.5f, 0.25f, -0.5f, 0.5f}, 8000, 2), mono = wav_of({0.5f, -0.5f}, 8000, 1);
  CHECK(*ragged({operation("decode-audio", {})}).run<float>(stereo) == std::vector<float>{0.375f, 0});
  std::vector<float> three, means;
  for (int i = 0; i < 3000; ++i) {
    const float value = static_cast<float>(i % 128) / 512;
    three.insert(three.end(), {value, 2 * value, 0});
    means.push_back(value);
  }
  CHECK(*OneChain{{operation("decode-audio", {}), kEnd}, Form::kRagged, 3000}.run<float>(wav_of(three, 8000, 3)) ==
        means);
  const auto two = [](int64_t samples) {
    return operation("decode-audio", {{"channels", int64_t{2}}, {"samples", samples}});
  };
  CHECK(*OneChain{{two(2), kEnd}}.run<float>(stereo) == std::vector<float>{0.5f, -0.5f, 0.25f, 0.5f});
  CHECK(*OneChain{{two(2), kEnd}}.run<float>(mono) == std::vector<float>{0.5f, -0.5f, 0.5f, -0.5f});
  const OperationSpec last = operation("convert-audio", {{"layout", std::string("channels-last")}});
  CHECK(*OneChain{{two(2), last}}.run<float>(stereo) == std::vector<float>{0.5f, 0.25f, -0.5f, 0.5f});
  const OneChain whole{{two(0), last}, Form::kRagged, 10};
  CHECK(*whole.run<float>(stereo) == std::vector<float>{0.5f, 0.25f, -0.5f, 0.5f});
  CHECK_THAT((OneChain{{two(0), kEnd}, Form::kRagged, 10}.error<float>(stereo).message),
             Catch::Contains("channels-last"));
  CHECK_THAT((OneChain{{two(2), kEnd}}.error<float>(wav_of({0, 0, 0}, 8000, 3)).message),
             Catch::Contains("3 channels, not 2"));
}

TEST_CASE("a segment lies at the start, in the middle, or anywhere", "[audio]") {
  const std::string file = wav_of(ramp(1000), 8000, 1);
  const auto segment = [](const std::string& pick) {
    return operation("decode-audio", {{"samples", int64_t{100}}, {"pick", pick}});
  };
  CHECK(fixed({segment("start")}).run<float>(file)->front() == 0);
  CHECK(fixed({segment("center")}).run<float>(file)->front() == 450.0f / 1024);
  std::vector<float> starts;
  for (uint64_t sample = 0; sample < 300; ++sample) {
    const std::vector<float> samples = drawn({segment("random")}, file, sample);
    REQUIRE(samples.size() == 100);
    for (size_t i = 1; i < samples.size(); ++i) REQUIRE(samples[i] - samples[i - 1] == 1.0f / 1024);
    CHECK(samples == drawn({segment("random")}, file, sample));
    starts.push_back(samples.front() * 1024);
  }
  const auto [least, greatest] = std::minmax_element(starts.begin(), starts.end());
  CHECK(*least < 30);
  CHECK(*greatest > 870);
  // The segment of crop-audio is drawn as that of decode-audio is, where both have one name.
  const OperationSpec crop =
      operation("crop-audio", {{"samples", int64_t{100}}, {"draw", std::string("decode-audio")}});
  CHECK(drawn({operation("decode-audio", {}), crop}, file, 9) == drawn({segment("random")}, file, 9));
}

TEST_CASE("a sound that is shorter than the segment", "[audio]") {
  const std::string file = wav_of({1, 2, 3}, 8000, 1);
  const auto segment = [](const std::string& pad) {
    return operation("decode-audio", {{"samples", int64_t{7}}, {"pad", pad}});
  };
  CHECK(*fixed({segment("zeros")}).run<float>(file) == std::vector<float>{1, 2, 3, 0, 0, 0, 0});
  CHECK(*fixed({segment("repeat")}).run<float>(file) == std::vector<float>{1, 2, 3, 1, 2, 3, 1});
  CHECK(*ragged({segment("keep")}).run<float>(file) == std::vector<float>{1, 2, 3});
  const Error bad = fixed({segment("bad")}).error<float>(file);
  CHECK(bad.trouble == Trouble::kContent);
  CHECK(bad.message == "output 'out': the sound has 3 samples, and the segment has 7");
}

// The whole file is resampled at once, and each segment by itself.
TEST_CASE("a segment of a resampled sound is a part of the whole", "[audio]") {
  const std::string wav = wav_of(test::rising_tones(44'100, 2, 2), 44'100, 2);
  for (const std::string ending : {"wav", "mp3", "flac", "ogg"}) {
    const std::string file = ending == "wav" ? wav : test::by_ffmpeg(wav, "wav", "", ending);
    const config::Parameters rate = {{"rate", int64_t{16'000}}};
    const std::vector<float> whole = drawn({operation("decode-audio", rate)}, file, 0);
    config::Parameters part = rate;
    part["seconds"] = 0.25;
    for (uint64_t sample = 0; sample < 30; ++sample) {
      const std::vector<float> samples = drawn({operation("decode-audio", part)}, file, sample);
      REQUIRE(samples.size() == 4000);
      CHECK(std::search(whole.begin(), whole.end(), samples.begin(), samples.end()) != whole.end());
    }
  }
}

TEST_CASE("levels", "[audio]") {
  const std::string file = wav_of({0.5f, -0.25f, 0, 0}, 8000, 1);
  const auto decode = operation("decode-audio", {});
  CHECK((*ragged({decode, operation("gain", {{"db", -20.0}})}).run<float>(file))[0] == Approx(0.05));
  CHECK(*ragged({decode, operation("normalize-audio", {})}).run<float>(file) == std::vector<float>{1, -0.5f, 0, 0});
  const auto rms =
      *ragged({decode, operation("normalize-audio", {{"by", std::string("rms")}, {"db", -6.0}})}).run<float>(file);
  double squares = 0;
  for (const float sample : rms) squares += double{sample} * double{sample};
  CHECK(10 * std::log10(squares / 4) == Approx(-6));
  CHECK(*ragged({decode, operation("normalize-audio", {})}).run<float>(wav_of({0, 0}, 8000, 1)) ==
        std::vector<float>{0, 0});
  std::vector<double> gains;
  for (uint64_t sample = 0; sample < 200; ++sample)
    gains.push_back(20 * std::log10(double{drawn({decode, operation("random-gain", {})}, file, sample)[0]} / 0.5));
  const auto [least, greatest] = std::minmax_element(gains.begin(), gains.end());
  CHECK((*least >= -6.001 && *least < -5.5));
  CHECK((*greatest <= 6.001 && *greatest > 5.5));
  const auto never = operation("random-gain", {{"p", 0.0}});
  CHECK(drawn({decode, never}, file, 1)[0] == 0.5f);
}

// Frames are those of librosa.effects.trim: around each multiple of the hop.
TEST_CASE("silence is cut off at both ends", "[audio]") {
  std::vector<float> samples(4000, 0.0f);
  for (size_t i = 1500; i < 2500; ++i) samples[i] = i % 2 == 0 ? 0.5f : -0.5f;
  const auto trim = operation("trim-silence", {{"frame", int64_t{256}}, {"hop", int64_t{64}}, {"db", 30.0}});
  const auto decode = operation("decode-audio", {});
  const std::vector<float> left = *ragged({decode, trim}).run<float>(wav_of(samples, 8000, 1));
  // The first frame that reaches to sample 1500 lies around 1408, and the last one around 2624, behind which one hop is
  // kept.
  CHECK(left.size() == 2688 - 1408);
  CHECK(std::equal(left.begin(), left.end(), samples.begin() + 1408));
  CHECK(*ragged({decode, trim}).run<float>(wav_of(std::vector<float>(500, 0.25f), 8000, 1)) ==
        std::vector<float>(500, 0.25f));
}

TEST_CASE("speed changes length and pitch", "[audio]") {
  const std::string file = wav_of(ramp(900), 8000, 1);
  const auto speed = [](double factor) {
    return operation("random-speed", {{"factors", std::vector<double>{factor}}});
  };
  const auto decode = operation("decode-audio", {});
  CHECK(ragged({decode, speed(0.9)}).run<float>(file)->size() == 1000);
  CHECK(*ragged({decode, speed(1)}).run<float>(file) == ramp(900));
  const std::vector<float> faster = *ragged({decode, speed(2)}).run<float>(file);
  REQUIRE(faster.size() == 450);
  CHECK(faster[200] == Approx(400.0 / 1024).margin(1e-4));
}

TEST_CASE("the tensor's type", "[audio]") {
  const std::string file = wav_of({0.5f, -1.0f, 1.0f, 3e-5f, 1.5f}, 8000, 1);
  const auto end = [](const std::string& dtype) {
    return Ops{operation("decode-audio", {}), operation("convert-audio", {{"dtype", dtype}})};
  };
  CHECK(*OneChain{end("int16"), Form::kRagged, 9}.run<int16_t>(file) ==
        std::vector<int16_t>{16'384, -32'768, 32'767, 1, 32'767});
  CHECK(*OneChain{end("float16"), Form::kRagged, 9}.run<uint16_t>(file) ==
        std::vector<uint16_t>{0x3800, 0xBC00, 0x3C00, 0x01F7, 0x3E00});
  CHECK(*OneChain{end("bfloat16"), Form::kRagged, 9}.run<uint16_t>(file) ==
        std::vector<uint16_t>{0x3F00, 0xBF80, 0x3F80, 0x37FC, 0x3FC0});
}

TEST_CASE("lengths beyond the bound", "[audio]") {
  OneChain chain{{operation("decode-audio", {}), kEnd}, Form::kPadded, 2};
  const std::string file = wav_of({1, 2, 3}, 8000, 1);
  CHECK_THAT(chain.error<float>(file).message, Catch::Contains("length of 3"));
  chain.too_long = config::TooLong::kCut;
  CHECK(*chain.run<float>(file) == std::vector<float>{1, 2});
}

TEST_CASE("content that is no sound is bad content", "[audio]") {
  const Error error = ragged({operation("decode-audio", {})}).error<float>("junk");
  CHECK(error.trouble == Trouble::kContent);
  CHECK_THAT(error.message, Catch::StartsWith("output 'out': it is no file of video or sound"));
}

}  // namespace
}  // namespace spdld::audio_operations_test
