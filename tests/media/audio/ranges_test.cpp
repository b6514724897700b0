// Ranges of a sound's samples are, bit for bit, those of a whole decode by the ffmpeg program.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "daemon/media/ffmpeg/sound/audio_decoder.h"
#include "tests/media/audio/he_aac.h"
#include "tests/media/audio/sounds.h"
#include "tests/support/rounds.h"

namespace spdld::audio_ranges_test {
namespace {

using test::bytes_of;

struct Coded {
  std::string ending, arguments;
  int rate_hz = 44'100, channels = 2;
  double seconds = 5;
};

const std::vector<Coded>& all_coded() {
  static const std::vector<Coded> all = {{"wav", "-c:a pcm_s16le"},
                                         {"wav", "-c:a pcm_s24le"},
                                         {"wav", "-c:a pcm_u8", 8000, 1},
                                         {"wav", "-c:a pcm_f32le", 96'000, 1},
                                         {"wav", "-c:a pcm_s16le -f wav -metadata title=after", 44'100, 2, 1.7},
                                         {"wav", "-c:a adpcm_ms", 22'050, 1},
                                         {"wav", "-c:a pcm_mulaw", 8000, 1},
                                         {"flac", ""},
                                         {"flac", "-sample_fmt s32", 48'000, 1},
                                         {"mp3", "-b:a 128k"},
                                         {"mp3", "-q:a 6", 24'000, 1},
                                         {"mp3", "-b:a 320k", 48'000, 2},
                                         {"mp3", "-b:a 8k -ar 16000", 16'000, 1},
                                         {"aac", "-aac_pns 0"},
                                         {"m4a", "-aac_pns 0", 48'000, 1},
                                         {"opus", "-b:a 96k", 48'000, 2},
                                         {"opus", "-b:a 12k -application voip", 16'000, 1},
                                         {"opus", "-b:a 24k -application voip", 48'000, 2},
                                         {"opus", "-b:a 12k -application voip", 16'000, 1, 12},
                                         {"opus", "-b:a 96k -frame_duration 2.5", 48'000, 1},
                                         {"ogg", "-c:a libvorbis"},
                                         {"ogg", "-c:a libvorbis -q:a 0", 16'000, 1},
                                         {"ac3", "-b:a 96k", 44'100, 2, 2},
                                         {"mp4", "-c:a ac3 -b:a 192k", 48'000, 2, 2},
                                         {"eac3", "-b:a 64k", 48'000, 1, 2},
                                         {"webm", "-c:a libopus", 48'000, 2},
                                         {"webm", "-c:a libvorbis"},
                                         {"mkv", "-c:a flac", 22'050, 1},
                                         {"mkv", "-c:a libmp3lame"},
                                         {"mkv", "-c:a aac -aac_pns 0", 48'000, 2},
                                         {"mp4", "-c:a aac -aac_pns 0"},
                                         {"mp4", "-f lavfi -i color=s=32x32:d=1 -c:a aac -aac_pns 0"}};
  return all;
}

std::string file_of(const Coded& coded, double seconds) {
  const std::string wav =
      test::wav_of(test::rising_tones(coded.rate_hz, coded.channels, seconds), coded.rate_hz, coded.channels);
  std::string file = test::by_ffmpeg(wav, "wav", coded.arguments, coded.ending);
  REQUIRE(!file.empty());
  return file;
}

std::vector<float> decoded(ffmpeg::AudioDecoder& decoder, const ffmpeg::AudioIndex& index, const std::string& file,
                           uint64_t first, uint64_t count) {
  std::vector<float> planes(count * static_cast<size_t>(index.channels));
  const Status status = decoder.decode(index, bytes_of(file), first, count, planes.data(), count);
  if (!status) FAIL(status.error().message);
  return planes;
}

// Whether the planes hold the interleaved samples from `first` on.
bool is_same(const std::vector<float>& planes, const std::vector<float>& whole, uint64_t first, int channels) {
  const auto many = static_cast<size_t>(channels);
  const size_t count = planes.size() / many;
  for (size_t c = 0; c < many; ++c)
    for (size_t i = 0; i < count; ++i)
      if (planes[c * count + i] != whole[(first + i) * many + c]) return false;
  return true;
}

TEST_CASE("200 random ranges of each codec are those of a whole decode", "[audio]") {
  ffmpeg::AudioDecoder decoder({});
  std::mt19937_64 random(1);
  for (const Coded& coded : all_coded()) {
    INFO(coded.ending << " " << coded.arguments);
    const std::string file = file_of(coded, coded.seconds);
    const std::vector<float> whole = test::decoded_by_ffmpeg(file, coded.ending);
    const auto index = ffmpeg::index_audio(bytes_of(file));
    REQUIRE(index);
    REQUIRE(index->samples * static_cast<uint64_t>(index->channels) == whole.size());
    CHECK(is_same(decoded(decoder, *index, file, 0, index->samples), whole, 0, index->channels));
    int wrong = 0;
    for (int i = 0; i < test::rounds(200); ++i) {
      const uint64_t first = random() % index->samples;
      const uint64_t count = 1 + random() % std::min<uint64_t>(index->samples - first, 6000);
      wrong += is_same(decoded(decoder, *index, file, first, count), whole, first, index->channels) ? 0 : 1;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("a range costs what lies in it, and not what lies before it", "[audio]") {
  for (const Coded& coded : {Coded{"flac", ""}, Coded{"mp3", "-b:a 128k"}, Coded{"m4a", ""}, Coded{"ogg", ""}}) {
    const std::string file = file_of(coded, 20);
    const auto index = ffmpeg::index_audio(bytes_of(file));
    REQUIRE(index);
    ffmpeg::AudioDecoder decoder({});
    decoded(decoder, *index, file, index->samples - 5000, 100);
    CHECK(decoder.packets_sent() < 16);
  }
}

// Flushing leaves a decoder of AC-3 its random numbers, and the half of a block.
TEST_CASE("the noise of AC-3 and E-AC-3 is the ffmpeg program's each time", "[audio]") {
  ffmpeg::AudioDecoder decoder({});
  for (const Coded& coded : {Coded{"ac3", "-b:a 96k"}, Coded{"mp4", "-c:a eac3 -b:a 96k"}}) {
    const std::string file = file_of(coded, 2);
    const auto index = ffmpeg::index_audio(bytes_of(file));
    REQUIRE(index);
    const std::vector<float> whole = test::decoded_by_ffmpeg(file, coded.ending);
    REQUIRE(index->samples * 2 == whole.size());
    for (int i = 0; i < 3; ++i) CHECK(is_same(decoded(decoder, *index, file, 0, index->samples), whole, 0, 2));
  }
}

TEST_CASE("AAC's noise depends on nothing but the range", "[audio]") {
  const std::string file = file_of({"m4a", "-b:a 48k"}, 5);  // its bands of noise are random numbers of the decoder
  const auto index = ffmpeg::index_audio(bytes_of(file));
  REQUIRE(index);
  ffmpeg::AudioDecoder fresh({}), used({});
  decoded(used, *index, file, 0, index->samples);
  CHECK(decoded(fresh, *index, file, 70'000, 5000) == decoded(used, *index, file, 70'000, 5000));
}

float greatest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  float greatest = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) greatest = std::max(greatest, std::abs(a[i] - b[i]));
  return greatest;
}

TEST_CASE("ranges of HE-AAC have the bands that are replicated in a whole decode", "[audio]") {
  ffmpeg::AudioDecoder decoder({});
  std::mt19937_64 random(1);
  for (const int channels : {1, 2})
    for (const unsigned header_period : {1u, 10u}) {
      const std::string plain = file_of({"aac", "-aac_pns 0 -b:a 64k", 24'000, channels}, 8);
      const std::string adts = test::he_aac_of(plain, header_period);
      const std::vector<float> without = test::decoded_by_ffmpeg(test::he_aac_of(plain, 0), "aac");
      for (const std::string ending : {"aac", "m4a"}) {
        INFO(ending << " of " << channels << " channels, a header each " << header_period << " frames");
        const std::string file = ending == "aac" ? adts : test::by_ffmpeg(adts, "aac", "-c copy", ending);
        const std::vector<float> whole = test::decoded_by_ffmpeg(file, ending);
        const auto index = ffmpeg::index_audio(bytes_of(file));
        REQUIRE(index);
        CHECK(index->rate_hz == 48'000);
        CHECK(index->channels == 2);  // of one channel, parametric stereo may come later
        REQUIRE(index->samples * 2 == whole.size());
        CHECK(greatest_difference(whole, without) > 0.02f);
        int wrong = 0;
        for (int i = 0; i < test::rounds(60); ++i) {
          const uint64_t first = random() % (index->samples - 3000), sent = decoder.packets_sent();
          wrong += is_same(decoded(decoder, *index, file, first, 3000), whole, first, 2) ? 0 : 1;
          CHECK(decoder.packets_sent() - sent < 56);
        }
        CHECK(wrong == 0);
      }
    }
}

TEST_CASE("a file of other content is no sound", "[audio]") {
  CHECK_THAT(ffmpeg::index_audio(bytes_of("junk")).error().message, Catch::Contains("no file of video or sound"));
  const std::string silent = test::by_ffmpeg(test::wav_of(test::rising_tones(8000, 1, 1), 8000, 1), "wav",
                                             "-f lavfi -i color=s=32x32:d=1 -map 1:v -c:v mpeg4", "mp4");
  REQUIRE(!silent.empty());
  CHECK(ffmpeg::index_audio(bytes_of(silent)).error().message == "the file holds no sound");
  const std::string empty = test::wav_of({}, 8000, 1);
  CHECK(ffmpeg::index_audio(bytes_of(empty)).error().trouble == Trouble::kContent);
}

// The ffmpeg program decodes what is there of it.
TEST_CASE("a WAV file that was cut, or whose header does not know its length", "[audio]") {
  ffmpeg::AudioDecoder decoder({});
  std::string file = test::wav_of(test::rising_tones(8000, 2, 1), 8000, 2);
  for (const std::string& data : {std::string(), std::string("\xff\xff\xff\xff")}) {
    std::string cut = file.substr(0, file.size() - 12'345);
    if (!data.empty()) cut.replace(40, 4, data);
    const auto index = ffmpeg::index_audio(bytes_of(cut));
    REQUIRE(index);
    const std::vector<float> whole = test::decoded_by_ffmpeg(cut, "wav");
    REQUIRE(index->samples * 2 == whole.size());
    CHECK(is_same(decoded(decoder, *index, cut, 0, index->samples), whole, 0, 2));
  }
  file += "LIST....a chunk behind the sound";
  CHECK(ffmpeg::index_audio(bytes_of(file))->samples == 8000);
}

TEST_CASE("a header's lies about rate and channels are bad content", "[audio]") {
  const std::vector<float> samples(4000);
  CHECK_THAT(ffmpeg::index_audio(bytes_of(test::wav_of(samples, 900, 1))).error().message,
             Catch::Contains("900 samples a second"));
  CHECK_THAT(ffmpeg::index_audio(bytes_of(test::wav_of(samples, 900'000, 1))).error().message,
             Catch::Contains("900000 samples a second"));
  CHECK_THAT(ffmpeg::index_audio(bytes_of(test::wav_of(samples, 8000, 80))).error().message,
             Catch::Contains("80 channels"));
}

uint64_t looks = 0;

// Each look at the clock takes a millisecond.
uint64_t cpu_of_looks_ns() { return ++looks * 1'000'000; }

TEST_CASE("an index is whole, or ends at the CPU time that the operator allows", "[audio]") {
  const std::string file = file_of({"flac", ""}, 20);
  media::DecodeLimits limits{.cpu_ms_max = 0, .cpu_ns = &cpu_of_looks_ns};
  const uint64_t samples = ffmpeg::index_audio(bytes_of(file), limits)->samples;
  REQUIRE(looks == 0);
  bool is_whole = false;
  for (limits.cpu_ms_max = 1; !is_whole && limits.cpu_ms_max < 10'000; ++limits.cpu_ms_max) {
    looks = 0;
    const auto index = ffmpeg::index_audio(bytes_of(file), limits);
    is_whole = static_cast<bool>(index);
    if (is_whole)
      CHECK(index->samples == samples);
    else
      CHECK_THAT(index.error().message, Catch::Contains("limits.sample_ms_max"));
  }
  CHECK(is_whole);
}

TEST_CASE("decoding ends at the CPU time that the operator allows", "[audio]") {
  const std::string file = file_of({"flac", ""}, 20);
  const auto index = ffmpeg::index_audio(bytes_of(file));
  REQUIRE(index);
  media::DecodeLimits limits;
  limits.cpu_ms_max = 1;
  limits.cpu_ns = [] {
    static uint64_t now_ns = 0;
    return now_ns += 1'000'001;
  };
  ffmpeg::AudioDecoder decoder(limits);
  std::vector<float> planes(index->samples * 2);
  const Status status = decoder.decode(*index, bytes_of(file), 0, index->samples, planes.data(), index->samples);
  REQUIRE(!status);
  CHECK(status.error().trouble == Trouble::kContent);
  CHECK_THAT(status.error().message, Catch::Contains("limits.sample_ms_max"));
}

}  // namespace
}  // namespace spdld::audio_ranges_test
