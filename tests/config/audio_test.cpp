// Operations on sound: the tensors that they give, and complaints about them.
#include "config/checks/load.h"
#include "config/operation.h"
#include "config/operations/audio/mel_settings.h"
#include "config/side_paths.h"
#include "tests/config/expect.h"

namespace spdld::config::audio_test {
namespace {

using Shape = std::vector<int64_t>;

Signature end_of(const std::string& ops) {
  const auto loaded = load_with_ops(ops);
  INFO(loaded.sentences());
  REQUIRE(loaded);
  const OutputSpec& output = loaded.value->outputs.front();
  return follow(output.ops, start_of(output.ops), output.varying.form).end();
}

std::string decode(const std::string& more) { return "{ op = \"decode-audio\"" + more + " }"; }
const std::string kSecond = decode(", rate = 16000, seconds = 1");

}  // namespace

TEST_CASE("a segment of sound is a tensor of its length", "[config]") {
  CHECK(end_of(kSecond) == tensor(DType::kFloat32, {16'000}));
  CHECK(end_of(decode(", samples = 100")).shape() == Shape{100});
  CHECK(end_of(decode(", samples = 100, channels = 2")).shape() == Shape{2, 100});
  CHECK(end_of(decode(", samples = 100, channels = 2") +
               ", { op = \"convert-audio\", layout = \"channels-last\", dtype = \"int16\" }") ==
        tensor(DType::kInt16, {100, 2}));
  CHECK(end_of(decode(", rate = 8000") + ", { op = \"crop-audio\", seconds = 0.5 }").shape() == Shape{4000});
  CHECK(end_of(decode("") + ", { op = \"random-speed\" }, { op = \"crop-audio\", samples = 7 }").shape() == Shape{7});
}

TEST_CASE("the spectrogram's shape", "[config]") {
  const auto shape = [](const std::string& more) {
    return end_of(kSecond + ", { op = \"mel-spectrogram\", " + more + " }").shape();
  };
  CHECK(shape("preset = \"whisper\"") == Shape{80, 100});
  CHECK(shape("preset = \"whisper\", mels = 128") == Shape{128, 100});
  CHECK(shape("preset = \"whisper\", layout = \"frames-first\"") == Shape{100, 80});
  CHECK(shape("preset = \"torchaudio\"") == Shape{128, 81});
  CHECK(shape("preset = \"torchaudio\", n_fft = 1024, hop = 256, mels = 64") == Shape{64, 63});
  CHECK(shape("preset = \"librosa\"") == Shape{128, 32});
  CHECK(shape("preset = \"kaldi\"") == Shape{98, 23});
  const Signature masked =
      end_of(kSecond + ", { op = \"mel-spectrogram\", preset = \"kaldi\" }, { op = \"spec-augment\" }");
  CHECK(time_axis_of(masked) == 0);
}

TEST_CASE("the shapes of plain spectrograms and of cepstral coefficients", "[config]") {
  const auto shape = [](const std::string& operation) {
    return end_of(kSecond + ", { op = " + operation + " }").shape();
  };
  CHECK(shape("\"spectrogram\", preset = \"whisper\"") == Shape{201, 100});
  CHECK(shape("\"spectrogram\", preset = \"torchaudio\", values = \"complex\"") == Shape{2, 201, 81});
  CHECK(shape("\"spectrogram\", preset = \"librosa\", values = \"complex\", layout = \"frames-first\"") ==
        Shape{32, 2, 1025});
  CHECK(shape("\"spectrogram\", preset = \"kaldi\"") == Shape{98, 257});
  CHECK(shape("\"mfcc\", preset = \"librosa\"") == Shape{20, 32});
  CHECK(shape("\"mfcc\", preset = \"torchaudio\", coefficients = 13") == Shape{13, 81});
  CHECK(shape("\"mfcc\", preset = \"kaldi\"") == Shape{98, 13});
  CHECK(time_axis_of(end_of(kSecond + ", { op = \"mfcc\", preset = \"librosa\" }, { op = \"spec-augment\" }")) == 1);
}

TEST_CASE("sounds that differ in length have a bound where they are no whole files", "[config]") {
  const auto follow_ragged = [](const std::string& ops) {
    const auto loaded = load_with_line(11, "ops = [" + ops + "]\nragged = true\nlength_max = 1000000");
    INFO(loaded.sentences());
    REQUIRE(loaded);
    const OutputSpec& output = loaded.value->outputs.front();
    return follow(output.ops, start_of(output.ops), output.varying.form).end().dimensions;
  };
  using Dimensions = std::vector<Dimension>;
  CHECK(follow_ragged(decode("")) == Dimensions{Dimension()});
  CHECK(follow_ragged(decode(", samples = 9, pad = \"keep\"")) == Dimensions{Dimension::bounded(9)});
  CHECK(follow_ragged(kSecond + ", { op = \"trim-silence\" }") == Dimensions{Dimension::bounded(16'000)});
  CHECK(follow_ragged(kSecond + ", { op = \"random-speed\", factors = [0.5, 2] }") ==
        Dimensions{Dimension::bounded(32'001)});
  CHECK(follow_ragged(kSecond + ", { op = \"trim-silence\" }, { op = \"mel-spectrogram\", preset = \"whisper\" }") ==
        Dimensions{Dimension::bounded(100), Dimension(80)});
}

TEST_CASE("what is wrong with operations on sound is said", "[config]") {
  const auto complains = [](const std::string& ops, const std::string& key, const std::string& words) {
    expect_complaints(load_with_ops(ops), {{11, "output[0].ops" + key, words}});
  };
  complains(decode(", rate = 900, samples = 5"), "[0].rate", "from 1000 to 768000");
  complains(decode(", seconds = 5"), "[0].seconds", "needs `rate`");
  complains(decode(", rate = 8000, seconds = 5, samples = 5"), "[0].samples", "must not stand beside `seconds`");
  complains(decode(", samples = 5, channels = 65"), "[0].channels", "from 1 to 64");
  complains(decode(", samples = 5, draw = \"a b\""), "[0].draw", "letters");
  complains(decode(", samples = 5, pick = \"end\""), "[0].pick", "\"random\", \"start\" or \"center\"");
  complains(decode("") + ", { op = \"crop-audio\" }", "[1].samples", "must say how long the segment is");
  complains(decode("") + ", { op = \"crop-audio\", seconds = 1 }", "[1]", "whose rate is not known");
  complains(kSecond + ", { op = \"random-gain\", db = [6, -6] }", "[1].db", "least number first");
  complains(kSecond + ", { op = \"random-speed\", factors = [0.33333] }, { op = \"crop-audio\", samples = 5 }",
            "[1].factors", "three digits");
  complains(kSecond + ", { op = \"spec-augment\" }", "[1]", "add { op = \"convert-audio\" }");
  complains(kSecond + ", { op = \"convert-audio\" }, { op = \"spec-augment\" }", "[2]", "behind mel-spectrogram");
  complains(
      kSecond + ", { op = \"spectrogram\", preset = \"librosa\", values = \"complex\" }, { op = \"spec-augment\" }",
      "[2]", "of one plane");
  complains(kSecond + ", { op = \"mfcc\", preset = \"torchaudio\", mels = 30 }", "[1]",
            "40 `coefficients` of 30 bands");
  complains(kSecond + ", { op = \"mfcc\", preset = \"torchaudio\", energy = true }", "[1]", "\"kaldi\" alone");
  complains(kSecond + ", { op = \"mfcc\", preset = \"whisper\" }", "[1].preset",
            "\"librosa\", \"torchaudio\" or \"kaldi\"");
  complains(kSecond + ", { op = \"mel-spectrogram\" }", "[1].preset", "is missing");
  complains(kSecond + ", { op = \"mel-spectrogram\", preset = \"kaldi\", n_fft = 1022 }", "[1]", "prime factor");
  complains("{ op = \"gain\" }", "[0]", "gain works on audio: add { op = \"decode-audio\" } before it");
  complains(kSecond + ", { op = \"center-crop\", size = 5 }", "[1]",
            "it takes an image, and what comes before it is audio");
  complains(kSecond + ", " + kSecond, "[1]", "it must be the first operation");
  complains(kSecond +
                ", { op = \"mel-spectrogram\", preset = \"kaldi\", dtype = \"float16\" }, { op = \"spec-augment\", "
                "value = -1e6 }",
            "[2]", "no float16");
}

TEST_CASE("the path of recordings is made absolute, and decides no bytes by itself", "[config]") {
  const auto load = [](const std::string& more, const std::string& folder) {
    return load_pipeline_toml(with_line(11, "ops = [" + kSecond + ", { op = \"mix-noise\", " + more + " }]"), "spec",
                              folder);
  };
  const auto noises = [&](const std::string& path, const std::string& folder) {
    const auto loaded = load("noises = \"" + path + "\"", folder);
    INFO(loaded.sentences());
    REQUIRE(loaded);
    CHECK(side_paths_of(*loaded.value) ==
          std::vector<std::string>{loaded.value->outputs.front().ops[1].text("noises")});
    return loaded.value->outputs.front().ops[1].text("noises");
  };
  CHECK(noises("/a/noise", "/data") == "/a/noise");
  CHECK(noises("noise/x.wav", "/data") == "/data/noise/x.wav");
  CHECK(noises("file:///a%20b", "/data") == "/a b");

  const auto one = load("noises = \"/a\", memory_max = \"3 MiB\"", ""), other = load("noises = \"/b\"", ""),
             louder = load("noises = \"/a\", snr_db = [0, 5]", "");
  REQUIRE((one && other && louder));
  CHECK(canonical_json(*one.value) == canonical_json(*other.value));
  CHECK(canonical_json(*one.value) != canonical_json(*louder.value));
  CHECK_THAT(full_json(*one.value), Catch::Contains("\"noises\":\"/a\"") && Catch::Contains("3145728"));
  CHECK(side_bytes_max_of(*one.value) == 3u << 20);
  CHECK(side_bytes_max_of(*other.value) == 1u << 30);
  const auto again = load_pipeline_json(full_json(*one.value), "spec", "/elsewhere");
  INFO(again.sentences());
  REQUIRE(again);
  CHECK(full_json(*again.value) == full_json(*one.value));

  PipelineSpec hidden = *one.value;
  for_each_side_path(hidden.outputs, [](std::string& path) { path = "..."; });
  CHECK(side_paths_of(hidden) == std::vector<std::string>{"..."});
}

TEST_CASE("what is wrong with recordings is said", "[config]") {
  const auto complains = [](const std::string& more, const std::string& key, const std::string& words) {
    expect_complaints(load_with_ops(kSecond + ", { op = \"mix-noise\"" + more + " }"),
                      {{11, "output[0].ops[1]" + key, words}});
  };
  complains("", ".noises", "is missing: it must be the path of a file or of a folder");
  complains(", noises = 5", ".noises", "must be the path of a file or of a folder, not 5");
  complains(", noises = \"a\\u0001b\"", ".noises", "control characters");
  complains(", noises = \"\"", ".noises", "");
  complains(", noises = \"s3://bucket/noise\"", ".noises", "file://");
  complains(", noises = \"/a\", snr_db = [5, 0]", ".snr_db", "least number first");
  complains(", noises = \"/a\", count = [2, 1]", ".count", "least number first");
  complains(", noises = \"/a\", count = [1, 1.5]", ".count", "whole numbers");
  complains(", noises = \"/a\", memory_max = 5", ".memory_max", "a size such as");
  complains(", noises = \"/a\", draw = \"a b\"", ".draw", "letters");
  expect_complaints(load_with_ops(decode(", samples = 5") + ", { op = \"reverberate\", responses = \"/a\" }"),
                    {{11, "output[0].ops[1]", "give decode-audio a `rate`"}});
}

}  // namespace spdld::config::audio_test
