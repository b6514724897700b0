// Sounds that end early or late, and sounds that stand one behind the other in a file: what is sound is decoded as the
// ffmpeg program decodes it, and what is none is left out and counted.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "daemon/media/ffmpeg/audio_decoder.h"
#include "daemon/media/ffmpeg/kept_index.h"
#include "daemon/media/signal/resampler.h"
#include "tests/media/audio/he_aac.h"
#include "tests/media/audio/sounds.h"
#include "tests/support/rounds.h"

namespace spdld::audio_ends_test {
namespace {

using test::bytes_of;
using Samples = std::vector<float>;  // interleaved

std::string coded(const std::string& ending, const std::string& arguments, int channels = 2, double seconds = 2,
                  int rate_hz = 44'100) {
  const std::string wav = test::wav_of(test::rising_tones(rate_hz, channels, seconds), rate_hz, channels);
  std::string file = test::by_ffmpeg(wav, "wav", arguments, ending);
  REQUIRE(!file.empty());
  return file;
}

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

// Decodes all of a file's sound, and looks at random ranges of it, also by an index that was kept.
class Decoded {
 public:
  explicit Decoded(const std::string& file) : file_(file) {
    auto index = ffmpeg::index_audio(bytes_of(file_));
    if (!index) FAIL(index.error().message);
    index_ = std::move(*index);
    samples = range(0, index_.samples);
    look_at_ranges();
  }

  const ffmpeg::AudioIndex& index() const { return index_; }
  size_t count() const { return index_.samples; }
  Samples samples;

 private:
  Samples range(uint64_t first, uint64_t count) {
    const auto channels = static_cast<size_t>(index_.channels);
    Samples planes(count * channels), all(count * channels);
    const Status status = decoder_.decode(index_, bytes_of(file_), first, count, planes.data(), count);
    if (!status) FAIL(status.error().message);
    for (size_t i = 0; i < all.size(); ++i) all[i] = planes[i % channels * count + i / channels];
    return all;
  }

  void look_at_ranges() {
    const std::string packed = ffmpeg::packed(index_);
    auto kept = ffmpeg::unpacked_audio(bytes_of(packed));
    REQUIRE(kept);
    CHECK(ffmpeg::packed(*kept) == packed);
    index_ = std::move(*kept);
    std::mt19937_64 random(1);
    const auto channels = static_cast<ptrdiff_t>(index_.channels);
    int wrong = 0;
    for (int i = 0; i < test::rounds(40); ++i) {
      const uint64_t first = random() % index_.samples;
      const uint64_t count = 1 + random() % std::min<uint64_t>(index_.samples - first, 6000);
      const Samples some = range(first, count);
      wrong += std::equal(some.begin(), some.end(), samples.begin() + static_cast<ptrdiff_t>(first) * channels) ? 0 : 1;
    }
    CHECK(wrong == 0);
  }

  const std::string file_;
  ffmpeg::AudioDecoder decoder_{{}};
  ffmpeg::AudioIndex index_;
};

Samples joined(std::vector<Samples> parts) {
  Samples all;
  for (const Samples& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

bool is_same(const Samples& a, const Samples& b) { return a == b; }  // without the samples in the message

void check_as_by_ffmpeg(const std::string& file, const std::string& ending) {
  const Samples whole = test::decoded_by_ffmpeg(file, ending);
  REQUIRE(!whole.empty());
  const Decoded decoded(file);
  CHECK(decoded.samples.size() == whole.size());
  CHECK(is_same(decoded.samples, whole));
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
}

TEST_CASE("a frame of MP3 that is damaged between others is no tag", "[audio]") {
  std::string file = coded("mp3", "-b:a 128k");
  file.replace(file.size() / 2, 900, noise(900));
  const auto index = ffmpeg::index_audio(bytes_of(file));
  REQUIRE(index);
  ffmpeg::AudioDecoder decoder({});
  Samples samples(index->samples * 2);
  const Status whole = decoder.decode(*index, bytes_of(file), 0, index->samples, samples.data(), index->samples);
  REQUIRE(!whole);
  CHECK_THAT(whole.error().message, Catch::Contains("its data is damaged"));
  CHECK(decoder.decode(*index, bytes_of(file), 0, 30'000, samples.data(), 30'000));
}

// The ffmpeg program makes up the last frame of AC-3, whose end is missing.
TEST_CASE("a file that was cut has the samples before the cut", "[audio]") {
  struct Kind {
    std::string ending, arguments;
    size_t made_up = 0;
  };
  for (const Kind& kind : {Kind{"flac", ""},
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
      Samples whole = test::decoded_by_ffmpeg(cut, kind.ending);
      REQUIRE(!whole.empty());
      whole.resize(whole.size() - 2 * kind.made_up);
      const Decoded decoded(cut);
      CHECK(decoded.samples.size() == whole.size());
      CHECK(is_same(decoded.samples, whole));
    }
  }
}

TEST_CASE("a chained Ogg file is all of its links, each as if it were alone", "[audio]") {
  struct Kind {
    std::string ending, arguments;
  };
  std::string mixed;
  std::vector<Samples> mixed_parts;
  for (const Kind& kind : {Kind{"ogg", "-c:a libvorbis"}, {"opus", ""}, {"oga", "-c:a flac"}}) {
    INFO(kind.ending);
    const std::string a = coded(kind.ending, kind.arguments), b = coded(kind.ending, kind.arguments, 2, 1.3);
    const Samples of_a = test::decoded_by_ffmpeg(a, kind.ending), of_b = test::decoded_by_ffmpeg(b, kind.ending);
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
  const Samples whole = joined({test::decoded_by_ffmpeg(a, "flac"), test::decoded_by_ffmpeg(b, "flac")});
  for (const std::string& between : {std::string(), id3v2(300), id3v2(400'000)}) {
    INFO(between.size() << " bytes between them");
    const Decoded decoded(a + between + b);
    CHECK(is_same(decoded.samples, whole));
    CHECK(decoded.index().foreign_bytes == between.size());
  }
}

// As the resampler makes them of the link alone.
Samples resampled(const Samples& samples, int channels, uint64_t from_hz, uint64_t to_hz) {
  const audio::Resampler resampler(from_hz, to_hz);
  const auto many = static_cast<size_t>(channels);
  const size_t count = samples.size() / many, outputs = resampler.outputs(count);
  Samples all(outputs * many), in(count), out(outputs);
  ByteBuffer memory;
  for (size_t c = 0; c < many; ++c) {
    for (size_t i = 0; i < count; ++i) in[i] = samples[i * many + c];
    resampler.run(in, 0, 0, out, memory);
    for (size_t i = 0; i < outputs; ++i) all[i * many + c] = out[i];
  }
  return all;
}

TEST_CASE("a sound that changes its rate keeps the rate that it began with", "[audio]") {
  for (const std::string ending : {"ogg", "mp3"}) {
    INFO(ending);
    const std::string codec = ending == "ogg" ? "-c:a libvorbis" : "-write_xing 0 -id3v2_version 0";
    const std::string a = coded(ending, codec), b = coded(ending, codec, 2, 1.3, 22'050);
    const Samples of_a = test::decoded_by_ffmpeg(a, ending), of_b = test::decoded_by_ffmpeg(b, ending);
    const Decoded decoded(a + b + a);
    CHECK(decoded.index().rate_hz == 44'100);
    CHECK(is_same(decoded.samples, joined({of_a, resampled(of_b, 2, 22'050, 44'100), of_a})));
    const Decoded slower(b + a);
    CHECK(slower.index().rate_hz == 22'050);
    CHECK(is_same(slower.samples, joined({of_b, resampled(of_a, 2, 44'100, 22'050)})));
  }
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
    const Samples of_one = test::decoded_by_ffmpeg(one, ending), of_two = test::decoded_by_ffmpeg(two, ending);
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
    CHECK(is_same(Decoded(id3v2(3'000'000) + file).samples, test::decoded_by_ffmpeg(file, ending)));
  }
}

TEST_CASE("the coded data tells the rate and the channels, not the container", "[audio]") {
  const std::string mono = coded("mp3", "-b:a 64k", 1);
  const std::string movie = test::by_ffmpeg(mono, "mp3", "-c copy", "mp4");  // says two channels
  REQUIRE(!movie.empty());
  check_as_by_ffmpeg(movie, "mp4");
  CHECK(Decoded(movie).index().channels == 1);
  const std::string fast = coded("m4a", "-c:a flac -strict -2 -f mp4", 2, 1, 96'000);  // has no room for such a rate
  check_as_by_ffmpeg(fast, "m4a");
  CHECK(Decoded(fast).index().rate_hz == 96'000);
}

// Containers tell the times of their packets in milliseconds, or not at all.
TEST_CASE("packets tell how many samples they hold, where a container does not", "[audio]") {
  struct Kind {
    std::string ending, arguments;
    int rate_hz = 44'100, channels = 2;
  };
  for (const Kind& kind : {Kind{"wma", "-c:a wmav2"},
                           {"wma", "-c:a wmav1", 16'000, 1},
                           {"wma", "-c:a wmav2", 32'000},
                           {"mkv", "-c:a dca -strict -2", 48'000},
                           {"eac3", "-b:a 96k"},
                           {"tta", ""},
                           {"ogg", "-c:a libspeex", 16'000, 1},
                           {"wav", "-c:a libgsm_ms", 8000, 1}}) {
    INFO(kind.ending << " " << kind.arguments);
    check_as_by_ffmpeg(coded(kind.ending, kind.arguments, kind.channels, 2, kind.rate_hz), kind.ending);
  }
}

TEST_CASE("a stream that begins within a frame has the frames behind it", "[audio]") {
  for (const std::string ending : {"ac3", "eac3", "mp3", "aac"}) {
    INFO(ending);
    const std::string file = coded(ending, ending == "aac" ? "-aac_pns 0" : "");
    check_as_by_ffmpeg(file.substr(file.size() / 3), ending);
  }
}

std::string reason_of(const std::string& file) {
  const auto index = ffmpeg::index_audio(bytes_of(file));
  if (index) return "it is read";
  CHECK(index.error().trouble == Trouble::kContent);
  return index.error().message;
}

TEST_CASE("a sound that is not read is refused by its format's name", "[audio]") {
  const std::string zeros(2000, '\0');
  CHECK_THAT(reason_of("MP+\x07" + zeros), Catch::Contains("format is Musepack"));
  CHECK_THAT(reason_of(std::string("DSD \x1c\0\0\0\0\0\0\0", 12) + zeros),
             Catch::Contains("format is DSD Stream File"));
  CHECK_THAT(reason_of(coded("nut", "-c:a comfortnoise", 1, 2, 8000)),
             Catch::Contains("coded as RFC 3389 Comfort Noise"));
  const std::string key = "76a6c65c5ea762046bd749a2e632ccbb", id = "a7e61c373e219033c21091fa607bf3b8";
  CHECK(reason_of(coded("mp4", "-c:a aac -encryption_scheme cenc-aes-ctr -encryption_key " + key + " -encryption_kid " +
                                   id)) == "the sound is encrypted");
}

// Its decoder for whole numbers rounds with what rounding left over, from the first sample on.
TEST_CASE("MP2 is decoded as by the ffmpeg program's decoder with floats", "[audio]") {
  for (const std::string ending : {"mp2", "mkv"}) {
    const std::string file = coded(ending, "-c:a mp2");
    const test::TempDir folder;
    const std::string in = folder.write("in." + ending, file), out = folder.path() / "out.raw";
    REQUIRE(std::system(("ffmpeg -v error -c:a mp2float -i " + in + " -f f32le " + out).c_str()) == 0);
    const std::string raw = test::content_of(out);
    Samples whole(raw.size() / sizeof(float));
    std::memcpy(whole.data(), raw.data(), raw.size());
    CHECK(is_same(Decoded(file).samples, whole));
  }
}

// FAAC's mark in the first frame of an ADTS file, as an element that fills.
std::string with_faac_mark(const std::string& adts) {
  constexpr size_t kHead = 7, kFirst = 3;
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(adts[at]); };
  const size_t frame = (byte(kFirst) & 3u) << 11 | byte(4) << 3 | byte(5) >> 5;
  test::BitWriter bits;
  bits.put(6, 3), bits.put(15, 4), bits.put(2, 8);  // 16 bytes
  bits.put(0, 4 + 13);
  for (const char c : std::string("libfaac 1.24")) bits.put(static_cast<unsigned char>(c), 8);
  bits.put(0, 15);
  for (size_t at = kHead; at < frame; ++at) bits.put(byte(at), 8);
  const std::string content = bits.bytes();
  const size_t bytes = kHead + content.size();
  std::string head = adts.substr(0, kHead);
  head[3] = static_cast<char>((byte(3) & 0xFCu) | bytes >> 11);
  head[4] = static_cast<char>(bytes >> 3);
  head[5] = static_cast<char>((byte(5) & 0x1Fu) | (bytes & 7) << 5);
  return head + content + adts.substr(frame);
}

TEST_CASE("the delay of FAAC is left out, as its mark says", "[audio]") {
  const std::string plain = coded("aac", "-aac_pns 0"), marked = with_faac_mark(plain);
  check_as_by_ffmpeg(marked, "aac");
  CHECK(Decoded(marked).count() + 1024 == Decoded(plain).count());
  const std::string movie = test::by_ffmpeg(marked, "aac", "-c copy", "m4a");
  check_as_by_ffmpeg(movie, "m4a");
}

// No packaged encoder makes it: 3.7 seconds of silence.
TEST_CASE("Monkey's Audio is decoded", "[audio]") {
  const std::string file(
      "\x4d\x41\x43\x20\x96\x0f\x00\x00\x34\x00\x00\x00\x18\x00\x00\x00\x0c\x00\x00\x00\x2c\x00\x00\x00\x28\x00\x00\x00"
      "\x00\x00\x00\x00\x00\x00\x00\x00\xfb\x9c\x89\xdc\xd1\x66\x75\x33\x20\x71\x69\xa4\x12\x1a\xa3\xc9\xd0\x07\x00\x00"
      "\x00\x20\x01\x00\xc0\x3a\x00\x00\x03\x00\x00\x00\x10\x00\x02\x00\x44\xac\x00\x00\x84\x00\x00\x00\x91\x00\x00\x00"
      "\x9e\x00\x00\x00\x52\x49\x46\x46\x24\xeb\x09\x00\x57\x41\x56\x45\x66\x6d\x74\x20\x10\x00\x00\x00\x01\x00\x02\x00"
      "\x44\xac\x00\x00\x10\xb1\x02\x00\x04\x00\x10\x00\x64\x61\x74\x61\x00\xeb\x09\x00\x8c\x62\x1c\x8d\x07\x00\x00\x00"
      "\x00\x00\x01\x00\x62\x1c\x8d\x00\x00\x00\x00\x8c\x00\x01\x00\x07\x90\xf7\x00\x00\x00\x00\x00\xd1\x01\x00\x07\x00"
      "\x00\x00\x00\x00",
      172);
  check_as_by_ffmpeg(file, "ape");
  CHECK(Decoded(file).count() == 162'496);
}

}  // namespace
}  // namespace spdld::audio_ends_test
