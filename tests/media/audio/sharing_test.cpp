// Outputs of one sound share its decoding, and get the very samples that each of them gets alone.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "daemon/media/audio/audio_thread.h"
#include "daemon/media/chain.h"
#include "tests/media/audio/chains.h"
#include "tests/media/audio/sounds.h"

namespace spdld::audio_sharing_test {
namespace {

using test::bytes_of;
using test::operation;

// A sample with outputs that begin with decode-audio, as a plan runs them.
class Sample {
 public:
  explicit Sample(const std::vector<config::Parameters>& outputs) {
    for (const config::Parameters& parameters : outputs) {
      const std::vector<config::OperationSpec> ops = {operation("decode-audio", parameters),
                                                      operation("convert-audio", {})};
      const auto followed = config::follow(ops, config::bytes_of(config::Origin::kContent), config::Form::kFixed);
      INFO(followed.error);
      REQUIRE(followed.error.empty());
      chains_.emplace_back(ops, followed, "out");
      size_t count = 1;
      for (const int64_t side : followed.end().shape()) count *= static_cast<size_t>(side);
      counts_.push_back(count);
    }
  }

  // What the outputs give; empty: one of them has an error.
  std::vector<std::vector<float>> run(const std::string& file, bool is_announced = true) {
    media::Field field{.bytes = bytes_of(file)};
    std::vector<std::vector<float>> all;
    bool is_good = true;
    for (size_t i = 0; is_announced && i < chains_.size(); ++i)
      is_good &= static_cast<bool>(chains_[i].announce({7, draws_, workspace_, &field, {}}));
    for (size_t i = 0; is_good && i < chains_.size(); ++i) {
      std::vector<float> values(counts_[i], 77);
      const media::TensorOut out{.memory = reinterpret_cast<uint8_t*>(values.data())};
      const media::Value value{.bytes = field.bytes};
      is_good = static_cast<bool>(chains_[i].run(value, {7, draws_, workspace_, &field, {&out, 1}}));
      all.push_back(std::move(values));
    }
    workspace_.shrink(1 << 20);
    return is_good ? all : std::vector<std::vector<float>>();
  }
  uint64_t packets() { return workspace_.of<audio::AudioThread>().decoder.packets_sent(); }

 private:
  Draws draws_{1, 2, 7};
  media::Workspace workspace_;
  std::vector<media::Chain> chains_;
  std::vector<size_t> counts_;
};

std::string file_of(const std::string& arguments, const std::string& ending) {
  const std::string wav = test::wav_of(test::rising_tones(44'100, 2, 12), 44'100, 2);
  std::string file = test::by_ffmpeg(wav, "wav", arguments, ending);
  REQUIRE(!file.empty());
  return file;
}

const std::string kStart = "start", kRandom = "random", kCenter = "center";

TEST_CASE("what outputs share is what each of them decodes alone", "[audio]") {
  Sample sample({{{"samples", int64_t{150'000}}},
                 {{"samples", int64_t{70'000}}, {"pick", kStart}, {"channels", int64_t{2}}},
                 {{"samples", int64_t{60'000}}, {"rate", int64_t{22'050}}, {"draw", std::string("other")}},
                 {{"samples", int64_t{5'000}}, {"pick", kCenter}, {"rate", int64_t{16'000}}}});
  for (const auto& [arguments, ending] :
       {std::pair("", "wav"), std::pair("", "flac"), std::pair("-b:a 128k", "mp3"), std::pair("-b:a 48k", "m4a"),
        std::pair("-b:a 96k -ar 48000", "opus"), std::pair("-c:a libvorbis", "ogg")}) {
    INFO(ending);
    const std::string file = file_of(arguments, ending);
    const auto alone = sample.run(file, false);
    REQUIRE(alone.size() == 4);
    CHECK(sample.run(file) == alone);
    CHECK(sample.run(file) == alone);
  }
}

TEST_CASE("two outputs of one sound decode it once", "[audio]") {
  const config::Parameters whole = {{"samples", int64_t{500'000}}, {"pick", kStart}};
  const config::Parameters part = {{"samples", int64_t{100'000}}, {"pick", kStart}};
  for (const auto& [arguments, ending] : {std::pair("", "flac"), std::pair("-b:a 48k", "m4a")}) {
    const std::string file = file_of(arguments, ending);
    Sample alone({whole}), both({part, whole, part});
    REQUIRE(!alone.run(file).empty());
    REQUIRE(!both.run(file).empty());
    CHECK(both.packets() == alone.packets());
  }
}

TEST_CASE("outputs that take other parts of a sound do not decode what lies between", "[audio]") {
  const config::Parameters begin = {{"samples", int64_t{9'000}}, {"pick", kStart}};
  const config::Parameters middle = {{"samples", int64_t{9'000}}, {"pick", kCenter}};
  const std::string file = file_of("", "flac");
  Sample first({begin}), second({middle}), both({begin, middle});
  REQUIRE(!first.run(file).empty());
  REQUIRE(!second.run(file).empty());
  REQUIRE(!both.run(file).empty());
  CHECK(both.packets() == first.packets() + second.packets());
}

TEST_CASE("a sample that failed leaves nothing to the next one", "[audio]") {
  const config::Parameters begin = {{"samples", int64_t{9'000}}, {"pick", kStart}};
  const config::Parameters long_one = {{"samples", int64_t{900'000}}, {"pad", std::string("bad")}};
  const std::string file = file_of("", "flac");
  Sample sample({begin, long_one}), alone({begin});
  CHECK(sample.run(file).empty());
  CHECK(sample.run("junk").empty());
  const std::string longer = test::wav_of(test::rising_tones(8'000, 1, 120), 8'000, 1);
  const auto given = sample.run(longer);
  REQUIRE(given.size() == 2);
  CHECK(given.front() == alone.run(longer).front());
}

}  // namespace
}  // namespace spdld::audio_sharing_test
