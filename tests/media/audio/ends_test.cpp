// Sounds that end early or late, and sounds that stand one behind the other in a file: what is sound is decoded as the
// ffmpeg program decodes it, and what is none is left out and counted.
#include <catch2/catch.hpp>

#include "tests/media/audio/decoded_sound.h"

namespace spdld::audio_ends_test {
namespace {

using namespace spdld::test;

std::string noise(size_t count) {
  std::mt19937 random(5);
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

std::string id3v2(size_t bytes) {
  std::string tag = "ID3\x04";
  tag.append(2, '\0');
  for (const int shift : {21, 14, 7, 0}) tag.push_back(static_cast<char>(bytes >> shift & 0x7F));
  return tag + noise(bytes);
}

std::string ape_tag() {
  const auto line = [](char flags) {
    std::string text("APETAGEX\xd0\x07\0\0\x33\0\0\0\x01\0\0\0\0\0\0", 23);
    return text + flags + std::string(8, '\0');
  };
  return line('\xa0') + std::string("\x05\0\0\0\0\0\0\0TITLE\0Title", 19) + line('\x80');
}

TEST_CASE("an MP3 file ends where its frames end, whatever stands behind them", "[audio]") {
  const std::string mp3 = coded("mp3", "-b:a 128k"), lyrics = "LYRICSBEGININD0000200LYR00010some words000033LYRICS200";
  constexpr size_t kOldTagBytes = 250;
  const std::string id3v1 = "TAG" + std::string(125, ' '), page = "<html><body>" + std::string(5000, 'a') + "</body>";
  for (const std::string& tail : {id3v2(256), id3v2(70'000), ape_tag(), lyrics + id3v1, std::string(5000, '\0'), page,
                                  noise(3000), ape_tag() + id3v1, id3v2(300) + std::string(700, '\0')}) {
    INFO("a tail of " << tail.size() << " bytes that begins " << tail.substr(0, 8));
    check_as_by_ffmpeg(mp3 + tail, "mp3");
    const auto index = ffmpeg::index_audio(bytes_of(mp3 + tail));
    if (tail.size() > kOldTagBytes) CHECK(index->foreign_bytes > 0);  // within these, libavformat finds tags itself
    CHECK(index->foreign_bytes <= tail.size());
  }
  CHECK(ffmpeg::index_audio(bytes_of(mp3))->foreign_bytes == 0);
}

TEST_CASE("MP3 files that were joined are one sound", "[audio]") {
  const std::string a = coded("mp3", "-b:a 128k"), b = coded("mp3", "-q:a 5", 2, 1.3);
  for (const std::string& between : {std::string(), ape_tag(), id3v2(50'000), std::string(3000, '\0')}) {
    INFO(between.size() << " bytes between them");
    check_as_by_ffmpeg(a + between + b, "mp3");
  }
  const std::string bare = coded("mp3", "-b:a 128k -write_xing 0 -id3v2_version 0");
  check_as_by_ffmpeg(bare + std::string(3000, '\0') + bare, "mp3");
}

// The whole sound is refused with this reason, and its first samples are not. Two channels. Returns the number of
// links.
size_t check_refused_behind(const std::string& file, uint64_t sound_samples, const std::string& reason) {
  const auto index = ffmpeg::index_audio(bytes_of(file));
  REQUIRE(index);
  ffmpeg::AudioDecoder decoder({});
  Samples samples(index->samples * 2);
  const Status whole = decoder.decode(*index, bytes_of(file), 0, index->samples, samples.data(), index->samples);
  REQUIRE(!whole);
  CHECK_THAT(whole.error().message, Catch::Contains(reason));
  CHECK(decoder.decode(*index, bytes_of(file), 0, sound_samples, samples.data(), sound_samples));
  return index->links.size();
}

TEST_CASE("a frame of MP3 that is damaged between others is no tag", "[audio]") {
  const std::string good = coded("mp3", "-b:a 128k");
  for (const std::string& damage : {noise(900), std::string(3000, '\0')}) {
    std::string file = good;
    file.replace(file.size() / 2, damage.size(), damage);
    check_refused_behind(file, 30'000, "its data is damaged");
  }
}

// The ffmpeg program makes up the last frame of AC-3, whose end is missing.
TEST_CASE("a file that was cut has the samples before the cut", "[audio]") {
  struct SoundFile {
    std::string ending, arguments;
    size_t made_up = 0;
  };
  for (const SoundFile& kind : {SoundFile{"flac", ""},
                                {"aac", "-aac_pns 0"},
                                {"ts", "-c:a aac -aac_pns 0"},
                                {"mp3", "-b:a 128k"},
                                {"m4a", "-c:a aac -aac_pns 0 -movflags +faststart"},
                                {"mkv", "-c:a libopus"},
                                {"ogg", "-c:a libvorbis"},
                                {"opus", ""},
                                {"oga", "-c:a flac"},
                                {"wav", "-c:a adpcm_ima_wav"},
                                {"wav", "-c:a adpcm_ms"},
                                {"wav", ""},
                                {"ac3", "-b:a 96k", 1536},
                                {"wv", ""},
                                {"tta", ""},
                                {"m4a", "-c:a alac -movflags +faststart"}}) {
    const std::string file = coded(kind.ending, kind.arguments);
    for (const size_t part : {69, 77, 95}) {
      INFO(part << " % of " << kind.ending << " " << kind.arguments);
      const std::string cut = file.substr(0, file.size() * part / 100 + part);
      Samples whole = decoded_by_ffmpeg(cut, kind.ending);
      REQUIRE(!whole.empty());
      whole.resize(whole.size() - 2 * kind.made_up);
      const Decoded decoded(cut);
      CHECK(decoded.samples.size() == whole.size());
      CHECK(is_same(decoded.samples, whole));
    }
  }
}

TEST_CASE("a chained Ogg file is all of its links, each as if it were alone", "[audio]") {
  struct SoundFile {
    std::string ending, arguments;
  };
  std::string mixed;
  std::vector<Samples> mixed_parts;
  for (const SoundFile& kind : {SoundFile{"ogg", "-c:a libvorbis"}, {"opus", ""}, {"oga", "-c:a flac"}}) {
    INFO(kind.ending);
    const std::string a = coded(kind.ending, kind.arguments), b = coded(kind.ending, kind.arguments, 2, 1.3);
    const Samples of_a = decoded_by_ffmpeg(a, kind.ending), of_b = decoded_by_ffmpeg(b, kind.ending);
    for (const std::string& file : {a + b, a + b + a}) {
      const Decoded decoded(file);
      CHECK(decoded.index().foreign_bytes == 0);
      CHECK(is_same(decoded.samples,
                    file.size() == a.size() + b.size() ? joined({of_a, of_b}) : joined({of_a, of_b, of_a})));
    }
    // Of a last link that was cut before its first sample, nothing is left.
    const Decoded cut(a + b.substr(0, 3000));
    CHECK(is_same(cut.samples, of_a));
    CHECK(cut.index().foreign_bytes > 0);
    if (kind.ending == "opus") continue;  // of another rate
    mixed += a;
    mixed_parts.push_back(of_a);
  }
  CHECK(is_same(Decoded(mixed).samples, joined(mixed_parts)));
}

TEST_CASE("FLAC files that were joined are one sound", "[audio]") {
  const std::string a = coded("flac", ""), b = coded("flac", "", 2, 1.3);
  const Samples whole = joined({decoded_by_ffmpeg(a, "flac"), decoded_by_ffmpeg(b, "flac")});
  for (const std::string& between : {std::string(), id3v2(300), id3v2(400'000)}) {
    INFO(between.size() << " bytes between them");
    const Decoded decoded(a + between + b);
    CHECK(is_same(decoded.samples, whole));
    CHECK(decoded.index().foreign_bytes == between.size());
  }
}

TEST_CASE("a sound that changes its rate keeps the rate that it began with", "[audio]") {
  for (const std::string ending : {"ogg", "mp3", "ac3"}) {
    INFO(ending);
    const std::string codec = ending == "ogg"   ? "-c:a libvorbis"
                              : ending == "mp3" ? "-write_xing 0 -id3v2_version 0"
                                                : "";
    const int other_hz = ending == "ac3" ? 32'000 : 22'050;
    const std::string a = coded(ending, codec), b = coded(ending, codec, 2, 1.3, other_hz);
    const auto to_hz = static_cast<uint64_t>(other_hz);
    const Samples of_a = decoded_by_ffmpeg(a, ending), of_b = decoded_by_ffmpeg(b, ending);
    const Decoded decoded(a + b + a);
    CHECK(decoded.index().rate_hz == 44'100);
    CHECK(is_same(decoded.samples, joined({of_a, resampled(of_b, 2, to_hz, 44'100), of_a})));
    const Decoded slower(b + a);
    CHECK(slower.index().rate_hz == other_hz);
    CHECK(is_same(slower.samples, joined({of_b, resampled(of_a, 2, 44'100, to_hz)})));
  }
}

TEST_CASE("a few frames of another rate are damaged ones", "[audio]") {
  const std::string a = coded("ac3", ""), b = coded("ac3", "-b:a 192k", 2, 0.04, 32'000);
  const std::string file = a + b + a;
  const size_t links = check_refused_behind(file, 60'000, "rate changes from 44100 to 32000 samples a second at 2.");
  CHECK(links == 1);
}

TEST_CASE("the mean of a sound's channels is that of its links", "[audio]") {
  const std::string a = coded("ogg", "-c:a libvorbis"), b = coded("ogg", "-c:a libvorbis", 1, 1.3, 22'050);
  const Decoded decoded(a + b + a);
  Samples mean(decoded.count()), wanted;
  for (size_t i = 0; i < decoded.count(); ++i)
    wanted.push_back((decoded.samples[2 * i] + decoded.samples[2 * i + 1]) * 0.5f);
  ffmpeg::AudioDecoder decoder({});
  const std::string file = a + b + a;
  REQUIRE(decoder.decode_mean(decoded.index(), bytes_of(file), 0, decoded.count(), mean.data()));
  CHECK(is_same(mean, wanted));
}

TEST_CASE("a sound whose channels change keeps those that it began with", "[audio]") {
  const std::string bare = "-write_xing 0 -id3v2_version 0 -b:a 128k";
  for (const std::string ending : {"mp3", "ogg", "flac"}) {
    INFO(ending);
    const std::string codec = ending == "mp3" ? bare : "";
    const std::string one = coded(ending, codec, 1), two = coded(ending, codec, 2);
    const Samples of_one = decoded_by_ffmpeg(one, ending), of_two = decoded_by_ffmpeg(two, ending);
    Samples copies, means;
    for (const float sample : of_one) copies.insert(copies.end(), {sample, sample});
    for (size_t i = 0; i < of_two.size(); i += 2) means.push_back((of_two[i] + of_two[i + 1]) * 0.5f);
    const Decoded mono(one + two), stereo(two + one);
    CHECK(mono.index().channels == 1);
    CHECK(stereo.index().channels == 2);
    REQUIRE(mono.samples.size() == of_one.size() + means.size());
    REQUIRE(stereo.samples.size() == of_two.size() + copies.size());
    // A decoder of MP3 goes on, and its filters carry a frame's end into the next one.
    const size_t begin = ending == "mp3" ? 1152 : 0;
    for (size_t i = begin; i < means.size(); ++i) REQUIRE(mono.samples[of_one.size() + i] == means[i]);
    for (size_t i = 2 * begin; i < copies.size(); ++i) REQUIRE(stereo.samples[of_two.size() + i] == copies[i]);
  }
}

TEST_CASE("sounds are found behind a tag with a large picture", "[audio]") {
  for (const std::string ending : {"flac", "mp3", "aac"}) {
    INFO(ending);
    const std::string file = coded(ending, ending == "aac" ? "-aac_pns 0" : "");
    CHECK(is_same(Decoded(id3v2(3'000'000) + file).samples, decoded_by_ffmpeg(file, ending)));
  }
}

}  // namespace
}  // namespace spdld::audio_ends_test
