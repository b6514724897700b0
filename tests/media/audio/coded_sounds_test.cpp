// Sounds whose packets tell more than their container: rates, channels, samples, delays; and formats that are not read.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>

#include "tests/media/audio/decoded_sound.h"
#include "tests/media/audio/he_aac.h"

namespace spdld::coded_sounds_test {
namespace {

using namespace spdld::test;

TEST_CASE("the coded data tells the rate and the channels, not the container", "[audio]") {
  const std::string mono = coded("mp3", "-b:a 64k", 1);
  const std::string movie = by_ffmpeg(mono, "mp3", "-c copy", "mp4");  // says two channels
  REQUIRE(!movie.empty());
  check_as_by_ffmpeg(movie, "mp4");
  CHECK(Decoded(movie).index().channels == 1);
  const std::string fast = coded("m4a", "-c:a flac -strict -2 -f mp4", 2, 1, 96'000);  // has no room for such a rate
  check_as_by_ffmpeg(fast, "m4a");
  CHECK(Decoded(fast).index().rate_hz == 96'000);
  std::string opus = coded("mkv", "-c:a libopus", 2, 2, 48'000);
  const std::string told("\xB5\x88\x40\xE7\x70\0\0\0\0\0", 10), other("\xB5\x88\x40\xE5\x88\x80\0\0\0\0", 10);
  const size_t place = opus.find(told);
  REQUIRE(place != std::string::npos);
  opus.replace(place, told.size(), other);  // 44,100, the rate of what was coded
  check_as_by_ffmpeg(opus, "mkv");
  CHECK(Decoded(opus).index().rate_hz == 48'000);
}

// Containers tell the times of their packets in milliseconds, or not at all.
TEST_CASE("packets tell how many samples they hold, where a container does not", "[audio]") {
  struct SoundFile {
    std::string ending, arguments;
    int rate_hz = 44'100, channels = 2;
  };
  for (const SoundFile& kind : {SoundFile{"wma", "-c:a wmav2"},
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

// A packet of AAC in an FLV file: a header, or a frame.
std::string flv_tag_of(char kind, const std::string& data) {
  const size_t bytes = data.size() + 2;
  const auto low = [](size_t number) { return static_cast<char>(number & 0xFF); };
  std::string tag = {8, low(bytes >> 16), low(bytes >> 8), low(bytes)};
  tag += std::string(7, '\0') + '\xAF' + kind + data;
  const size_t all = tag.size();
  return tag + std::string({low(all >> 24), low(all >> 16), low(all >> 8), low(all)});
}

// The frames of an ADTS file as an FLV file has them: a header, and frames without theirs.
std::string flv_tags_of(const std::string& adts) {
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(adts[at]); };
  const unsigned rate = byte(2) >> 2 & 15, channels = (byte(2) & 1u) << 2 | byte(3) >> 6;
  const unsigned config = 2u << 11 | rate << 7 | channels << 3;  // of AAC-LC
  std::string tags = flv_tag_of(0, {static_cast<char>(config >> 8), static_cast<char>(config & 0xFF)});
  for (size_t at = 0; at + 7 < adts.size();) {
    const size_t frame = (byte(at + 3) & 3u) << 11 | byte(at + 4) << 3 | byte(at + 5) >> 5;
    tags += flv_tag_of(1, adts.substr(at + 7, frame - 7));
    at += frame;
  }
  return tags;
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
  const std::string head("FLV\x01\x04\0\0\0\x09\0\0\0\0", 13);
  // USAC, 44,100 samples a second, two channels.
  CHECK_THAT(reason_of(head + flv_tag_of(0, "\xf9\x48\x40") + flv_tag_of(1, std::string(90, 'a'))),
             Catch::Contains("coded as AAC"));
  CHECK(reason_of(coded("mp4", "-c:a aac -encryption_scheme cenc-aes-ctr -encryption_key " + key + " -encryption_kid " +
                                   id)) == "the sound is encrypted");
}

// What the decoder says of the whole sound.
std::string fault_of(const std::string& file) {
  const auto index = ffmpeg::index_audio(bytes_of(file));
  if (!index) return index.error().message;
  ffmpeg::AudioDecoder decoder({});
  Samples planes(index->samples * static_cast<uint64_t>(index->channels));
  const Status decoded = decoder.decode(*index, bytes_of(file), 0, index->samples, planes.data(), index->samples);
  return decoded ? "it is decoded" : decoded.error().message;
}

TEST_CASE("changes that are not converted are told, and not called damage", "[audio]") {
  const std::string fast = coded("aac", "", 2, 1, 48'000), slow = coded("aac", "", 2, 1, 32'000);
  CHECK_THAT(fault_of(fast + slow), Catch::Contains("the sound's rate changes from ") && Catch::Contains("000 to "));
  const std::string two = coded("flac", ""), three = coded("flac", "-af 'pan=3.0|c0=c0|c1=c1|c2=c0'");
  CHECK_THAT(fault_of(two + three), Catch::Contains("channels change from 2 to 3 at "));
}

// Its decoder for whole numbers rounds with what rounding left over, from the first sample on.
TEST_CASE("MP2 is decoded as by the ffmpeg program's decoder with floats", "[audio]") {
  for (const std::string ending : {"mp2", "mkv"}) {
    const std::string file = coded(ending, "-c:a mp2");
    const TempDir folder;
    const std::string in = folder.write("in." + ending, file), out = folder.path() / "out.raw";
    REQUIRE(std::system(("ffmpeg -v error -c:a mp2float -i " + in + " -f f32le " + out).c_str()) == 0);
    const std::string raw = content_of(out);
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
  BitWriter bits;
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
  const std::string movie = by_ffmpeg(marked, "aac", "-c copy", "m4a");
  check_as_by_ffmpeg(movie, "m4a");
}

TEST_CASE("a header of AAC that comes on the way is heeded", "[audio]") {
  const std::string head("FLV\x01\x04\0\0\0\x09\0\0\0\0", 13);
  const std::string a = coded("aac", "-aac_pns 0"), one = coded("aac", "-aac_pns 0", 1);
  const std::string slow = coded("aac", "-aac_pns 0", 2, 1.3, 22'050);
  const auto alone = [](const std::string& adts) { return decoded_by_ffmpeg(adts, "aac"); };
  Samples copies;
  for (const float sample : alone(one)) copies.insert(copies.end(), {sample, sample});
  CHECK(is_same(Decoded(head + flv_tags_of(a)).samples, alone(a)));
  const Decoded decoded(head + flv_tags_of(a) + flv_tags_of(one) + flv_tags_of(slow));
  CHECK(decoded.index().links.size() == 3);
  CHECK(is_same(decoded.samples, joined({alone(a), copies, resampled(alone(slow), 2, 22'050, 44'100)})));
}

// The delay is the first frame.
TEST_CASE("a file that was cut within its first samples is damaged", "[audio]") {
  const std::string marked = with_faac_mark(coded("aac", "-aac_pns 0"));
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(marked[at]); };
  const size_t first = (byte(3) & 3u) << 11 | byte(4) << 3 | byte(5) >> 5;
  for (const size_t more : {9, 30, 60}) {
    const std::string cut = marked.substr(0, first + more);
    const auto index = ffmpeg::index_audio(bytes_of(cut));
    if (!index) continue;
    CHECK(index->samples > 0);
    ffmpeg::AudioDecoder decoder({});
    Samples samples(index->samples * 2);
    CHECK(!decoder.decode(*index, bytes_of(cut), 0, index->samples, samples.data(), index->samples));
  }
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
}  // namespace spdld::coded_sounds_test
