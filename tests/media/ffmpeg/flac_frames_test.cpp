// The frames of FLAC that are found by their headers are those of libavformat's parser, or none are told. libavformat
// is the reference: an index that it makes alone has to be the same, byte for byte.
#include "daemon/media/ffmpeg/sound/flac_frames.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "daemon/media/ffmpeg/kept_index.h"
#include "daemon/media/ffmpeg/sound/audio_index.h"
#include "tests/media/audio/sounds.h"
#include "tests/media/ffmpeg/flac_parts.h"
#include "tests/support/rounds.h"

namespace spdld::flac_frames_test {
namespace {

using namespace spdld::test;
using Frames = std::optional<std::vector<ffmpeg::FlacFrame>>;

// The index as bytes, or why there is none.
std::string verdict(const Result<ffmpeg::AudioIndex>& index) {
  return index ? "index " + ffmpeg::packed(*index) : "refused: " + index.error().message;
}
std::string own_verdict(const std::string& file) { return verdict(ffmpeg::index_audio(bytes_of(file))); }
std::string reference_verdict(const std::string& file) {
  return verdict(ffmpeg::index_audio_by_libavformat(bytes_of(file)));
}

// Without the bytes in the message.
bool is_same(const std::string& file) { return own_verdict(file) == reference_verdict(file); }

uint64_t number_in(const std::string& bytes, size_t at, size_t count) {
  uint64_t number = 0;
  for (size_t i = at; i < at + count; ++i) number = number << 8 | static_cast<uint8_t>(bytes[i]);
  return number;
}

// Of a file that begins with "fLaC".
Frames frames_of(const std::string& file, const media::DecodeLimits& limits = {}) {
  if (file.size() < 42) return std::nullopt;
  size_t at = 4;
  for (bool is_last = false; !is_last; at += 4 + number_in(file, at + 1, 3)) {
    if (file.size() < at + 4) return std::nullopt;
    is_last = (file[at] & 0x80) != 0;
  }
  const uint64_t told = number_in(file, 18, 8);  // RFC 9639, 8.2: 20 bits of the rate, 3 of channels, 5 of the size
  const ffmpeg::FlacStream stream{static_cast<int>(told >> 44), static_cast<int>(told >> 41 & 7) + 1,
                                  static_cast<int>(told >> 36 & 31) + 1};
  return ffmpeg::find_flac_frames(bytes_of(file), at, stream, media::CpuBudget(limits));
}

bool are_packets_of(const Frames& frames, const std::string& file) {
  const Result<ffmpeg::AudioIndex> index = ffmpeg::index_audio_by_libavformat(bytes_of(file));
  if (!frames || !index || index->links.size() != 1 || !index->links.front().copied.empty()) return false;
  const auto& packets = index->links.front().packets;
  return std::equal(frames->begin(), frames->end(), packets.begin(), packets.end(),
                    [](const ffmpeg::FlacFrame& frame, const ffmpeg::AudioPacket& packet) {
                      return frame == ffmpeg::FlacFrame{packet.offset, packet.bytes, packet.count};
                    });
}

struct Encoding {
  int rate_hz, channels;
  double seconds;
  std::string arguments;
};

std::string encoded(const Encoding& encoding) {
  const std::string wav =
      wav_of(rising_tones(encoding.rate_hz, encoding.channels, encoding.seconds), encoding.rate_hz, encoding.channels);
  return by_ffmpeg(wav, "wav", "-c:a flac " + encoding.arguments, "flac");
}

TEST_CASE("frames of FLAC as the ffmpeg program encodes it", "[audio]") {
  const std::string s16 = "-sample_fmt s16", s24 = "-sample_fmt s32 -bits_per_raw_sample 24";
  std::vector<Encoding> encodings = {
      {44'100, 2, 3, s24 + " -compression_level 12"},
      {44'100, 2, 3, s16 + " -compression_level 0 -metadata title=one -metadata artist=two"},
      {48'000, 6, 1, s16},
      {48'000, 8, 0.5, s24},
      {44'100, 2, 1,
       s16 + " -f lavfi -i testsrc=s=64x64:d=0.1 -map 0:a -map 1:v -frames:v 1 -c:v png -disposition:v attached_pic"}};
  for (const int rate_hz :
       {1000, 8000, 11'025, 11'026, 12'340, 16'000, 22'050, 32'000, 64'010, 88'200, 96'000, 192'000})
    encodings.push_back({rate_hz, 1, 1, s16});
  for (const std::string size : {"16", "17", "64", "192", "255", "256", "257", "576", "4608", "32768", "65535"})
    encodings.push_back({16'000, 1, 5, s16 + " -frame_size " + size});
  for (const double seconds : {0.0001, 0.001, 0.01, 0.1, 0.3, 0.7}) encodings.push_back({16'000, 2, seconds, s16});
  for (const Encoding& encoding : encodings) {
    const std::string file = encoded(encoding);
    INFO(encoding.rate_hz << " Hz, " << encoding.channels << " channels, " << encoding.seconds << " s, "
                          << encoding.arguments);
    REQUIRE_FALSE(file.empty());
    CHECK(are_packets_of(frames_of(file), file));
    CHECK(is_same(file));
  }
}

// Files that the ffmpeg program does not write: 8 bits a sample, blocks of any size, and any bytes within frames. Every
// subframe holds its samples as they are (RFC 9639, 9.2.4).
struct Crafted {
  bool is_variable = false;
  int channels = 1;
  std::vector<size_t> blocks = std::vector<size_t>(30, 100);
  std::string content = {};               // repeated for ever; empty: noise
  uint64_t first = 0;                     // the number of the first frame, or of its first sample
  unsigned size_code = 1, rate_code = 4;  // 8 bits, 8 kHz
};

std::string header_of(const Crafted& sound, uint64_t number, size_t samples) {
  constexpr unsigned kCodeOf16Bits = 7;  // the block's size is told behind the number
  const std::string header = big_endian(0xFFF8u | (sound.is_variable ? 1 : 0), 2) +
                             big_endian(kCodeOf16Bits << 4 | sound.rate_code, 1) +
                             big_endian((static_cast<unsigned>(sound.channels) - 1) << 4 | sound.size_code << 1, 1) +
                             coded_number(number) + big_endian(samples - 1, 2);
  return header + big_endian(crc_of(header, 0x07, 8), 1);
}

std::vector<std::string> crafted_frames(const Crafted& sound) {
  std::mt19937 random(3);
  std::vector<std::string> frames;
  uint64_t number = sound.first;
  for (const size_t samples : sound.blocks) {
    std::string frame = header_of(sound, number, samples);
    for (int channel = 0; channel < sound.channels; ++channel) {
      frame.push_back(2);  // samples as they are
      for (size_t i = 0; i < samples; ++i)
        frame.push_back(sound.content.empty() ? static_cast<char>(random()) : sound.content[i % sound.content.size()]);
    }
    frames.push_back(frame + "cc");
    with_crc(frames.back());
    number += sound.is_variable ? samples : 1;
  }
  return frames;
}

// `blocks` stand between STREAMINFO and a last one.
std::string file_of(const Crafted& sound, const std::string& frames, const std::string& blocks = {}) {
  constexpr int kPadding = 1;
  constexpr uint64_t kRate_hz = 8000, kBits = 8;
  uint64_t samples = 0;
  for (const size_t block : sound.blocks) samples += block;
  const uint64_t told =
      kRate_hz << 44 | (static_cast<uint64_t>(sound.channels) - 1) << 41 | (kBits - 1) << 36 | samples;
  const std::string info = big_endian(16, 2) + big_endian(65'535, 2) + std::string(6, '\0') + big_endian(told, 8);
  return "fLaC" + block_of(0, info + std::string(16, '\0')) + blocks + block_of(0x80 | kPadding, "padding") + frames;
}
std::string file_of(const Crafted& sound) { return file_of(sound, joined(crafted_frames(sound))); }

TEST_CASE("frames of FLAC with blocks of all kinds", "[audio]") {
  std::vector<size_t> many(3000, 16), mixed;
  for (size_t i = 0; i < 300; ++i) mixed.push_back(16 + i * 7919 % 2000);
  many.push_back(3);
  const std::vector<Crafted> sounds = {{},
                                       {.channels = 2},
                                       {.channels = 8, .blocks = {64, 64, 64, 1}},
                                       {.blocks = {65'535, 65'535, 20}},
                                       {.blocks = {1}},
                                       {.blocks = many},
                                       {.is_variable = true, .blocks = mixed},
                                       {.is_variable = true, .channels = 3, .blocks = mixed},
                                       {.is_variable = true, .blocks = many},
                                       {.size_code = 0},
                                       {.is_variable = true, .blocks = {17, 4000, 16, 65'535, 33}}};
  for (const Crafted& sound : sounds) {
    const std::string file = file_of(sound);
    INFO(sound.channels << " channels, " << sound.blocks.size() << " blocks from " << sound.blocks.front());
    CHECK(are_packets_of(frames_of(file), file));
    CHECK(is_same(file));
  }
  // The writer above writes FLAC.
  size_t samples = 0;
  for (const size_t block : mixed) samples += block;
  CHECK(decoded_by_ffmpeg(file_of(sounds[6]), "flac").size() == samples);
}

TEST_CASE("headers of FLAC that stand in the sound", "[audio]") {
  const Crafted plain;
  const Crafted codes{.content = "\xFF\xF8\xFF\xF9\xFF\xFF"}, ones{.content = "\xFF"};
  for (const Crafted& sound : {codes, ones}) {
    CHECK(are_packets_of(frames_of(file_of(sound)), file_of(sound)));
    CHECK(is_same(file_of(sound)));
  }
  // Each frame holds a whole header: that of the first frame or of one in the middle, of another stream, or one without
  // a subframe behind it.
  const std::string body = std::string(1, '\x02') + "sound";
  const std::vector<std::string> headers = {header_of(plain, 0, 100) + body,
                                            header_of(plain, 7, 100) + body,
                                            header_of(plain, 1000, 100) + body,
                                            header_of({.size_code = 4}, 7, 100) + body,
                                            header_of({.rate_code = 5}, 7, 100) + body,
                                            header_of({.channels = 2}, 7, 100) + body,
                                            header_of({.is_variable = true}, 700, 100) + body,
                                            header_of(plain, 7, 100) + "\xFF" + body};
  for (size_t i = 0; i < headers.size(); ++i) {
    const std::string file = file_of({.content = headers[i]});
    INFO("header " << i);
    CHECK_FALSE(frames_of(file));
    CHECK(is_same(file));
  }
}

TEST_CASE("one header of FLAC in the sound, in each frame", "[audio]") {
  const Crafted plain;
  const std::vector<std::string> frames = crafted_frames(plain);
  const std::string behind = std::string(1, '\x02');
  for (size_t at = 0; at < frames.size(); ++at) {
    for (const size_t number : {at, at + 1, at + 2}) {
      std::vector<std::string> changed = frames;
      const std::string header = header_of(plain, number, 100) + behind;
      changed[at].replace(40, header.size(), header);
      INFO("frame " << at << " holds header " << number);
      CHECK(is_same(file_of(plain, joined(changed))));
    }
  }
}

TEST_CASE("frames of FLAC that do not follow one another", "[audio]") {
  const Crafted plain;
  const std::vector<std::string> frames = crafted_frames(plain);
  const auto check = [&](const std::string& what, const std::string& file) {
    INFO(what);
    CHECK_FALSE(frames_of(file));
    CHECK(is_same(file));
  };
  for (const size_t at : {size_t{0}, size_t{1}, size_t{12}, size_t{28}}) {
    std::vector<std::string> lost = frames, twice = frames, junk = frames, exchanged = frames;
    lost.erase(lost.begin() + static_cast<ptrdiff_t>(at));
    twice.insert(twice.begin() + static_cast<ptrdiff_t>(at), frames[at]);
    std::swap(exchanged[at], exchanged[at + 1]);
    check("lost", file_of(plain, joined(lost)));
    check("twice", file_of(plain, joined(twice)));
    check("exchanged", file_of(plain, joined(exchanged)));
    std::vector<std::string> damaged = frames, reserved = frames, rate = frames;
    damaged[at][50] = static_cast<char>(damaged[at][50] ^ 1);
    const size_t header_bytes = header_of(plain, at, 100).size();
    reserved[at][header_bytes] = 4;  // no subframe begins so
    rate[at].replace(0, header_bytes, header_of({.rate_code = 0}, at, 100));
    for (std::vector<std::string>* const changed : {&reserved, &rate}) with_crc((*changed)[at]);
    check("damaged", file_of(plain, joined(damaged)));
    check("a reserved subframe", file_of(plain, joined(reserved)));
    check("no rate", file_of(plain, joined(rate)));
  }
  check("junk at the start", file_of(plain, "junk" + joined(frames)));
  check("not the first ones", file_of({.first = 300}));
  check("a rate that STREAMINFO alone tells", file_of({.rate_code = 0}));
  check("another rate", file_of({.rate_code = 5}));
  check("other sizes of samples", file_of({.size_code = 4}));
  check("no frames", file_of(plain, ""));
  check("junk alone", file_of(plain, std::string(5000, 'j')));
  check("shorter blocks in the middle", file_of({.blocks = {100, 100, 50, 100, 100}}));
  check("another stream's frames", file_of({.channels = 2}, joined(frames)));
  check("a header cut off", file_of(plain, joined(frames) + header_of(plain, 30, 100)));
  check("frames that libavcodec's parser finds too long", file_of({.channels = 3, .blocks = {65'535, 65'535, 65'535}}));
  check("a last frame of 200 KB", file_of(plain, joined(frames) + std::string(200'000, '\0')));
}

TEST_CASE("what stands before and behind the frames of FLAC", "[audio]") {
  constexpr int kPadding = 1, kApplication = 2, kSeekTable = 3, kPicture = 6;
  const Crafted plain;
  const std::string frames = joined(crafted_frames(plain));
  const std::string picture = big_endian(3, 4) + big_endian(9, 4) + "image/png" + big_endian(0, 4) +
                              std::string(16, '\0') + big_endian(frames.size(), 4) + frames;
  const std::string seek_points = big_endian(0, 8) + big_endian(0, 8) + big_endian(100, 2);
  for (const std::string& block :
       {block_of(kPadding, std::string(100'000, '\0')), block_of(kApplication, "spld" + frames),
        block_of(kSeekTable, seek_points), block_of(kPicture, picture), block_of(77, frames)}) {
    const std::string file = file_of(plain, frames, block);
    CHECK(are_packets_of(frames_of(file), file));
    CHECK(is_same(file));
  }
  // Sizes of blocks that lie, and tags of other formats around the file.
  std::string lying = block_of(kPicture, picture);
  lying[3] = static_cast<char>(lying[3] ^ 0x40);
  const std::string tag = "TAG" + std::string(125, 't'), id3v2 = "ID3" + std::string("\4\0\0\0\0\0\x20", 7);
  const std::string ape = "APETAGEX" + std::string("\xD0\x07\0\0\x20\0\0\0", 8) + std::string(16, '\0');
  const std::string file = file_of(plain);
  CHECK(is_same(file_of(plain, frames, lying)));
  CHECK(is_same(file + tag));
  CHECK(is_same(file + ape));
  CHECK(is_same(file + ape + tag));
  CHECK(is_same(id3v2 + std::string(32, '\0') + file));
  CHECK(is_same(frames));
  CHECK(is_same(file + file));
}

TEST_CASE("damaged files of FLAC give what libavformat makes of them", "[audio]") {
  const std::string sound = encoded({16'000, 2, 1, "-sample_fmt s16 -frame_size 256 -compression_level 5"});
  REQUIRE_FALSE(sound.empty());
  std::mt19937 random(11);
  int refused = 0, differing = 0, told = 0;
  for (const std::string& whole : {sound, file_of({}), file_of({.is_variable = true})}) {
    const std::string index = reference_verdict(whole);
    const auto check = [&](const std::string& file, const std::string& what) {
      const std::string by_reference = reference_verdict(file);
      refused += by_reference.starts_with("refused");
      differing += by_reference != index;
      told += file.starts_with(whole.substr(0, 60)) && file.size() > whole.size() / 2 && frames_of(file);
      INFO(what);
      CHECK((own_verdict(file) == by_reference));
    };
    for (size_t at = 0; at < 100; ++at) {
      std::string file = whole;
      file[at] = static_cast<char>(random());
      check(file, "byte " + std::to_string(at));
      check(whole.substr(0, at), "the first " + std::to_string(at));
    }
    for (int i = 0; i < rounds(1500); ++i) {
      std::string file = whole;
      for (unsigned count = 1 + random() % 4; count > 0; --count) {
        const size_t at = random() % file.size(), length = std::min<size_t>(1 + random() % 300, file.size() - at);
        const unsigned way = static_cast<unsigned>(random() % 5);
        if (way == 0) file[at] = static_cast<char>(random());
        if (way == 1 && length < file.size()) file.erase(at, length);
        if (way == 2) file.insert(random() % file.size(), file.substr(at, length));
        if (way == 3) file.replace(at, length, length, '\xFF');
        if (way == 4) file.resize(std::max<size_t>(at, 1));
      }
      check(file, "damage " + std::to_string(i));
    }
  }
  CHECK(refused > 0);
  CHECK(differing > 0);
  CHECK(told > 0);
}

// A search that takes more than linear time does not come to an end here.
TEST_CASE("a large file full of codes that begin frames of FLAC", "[audio]") {
  const std::string header = header_of({}, 0, 100);
  for (const std::string& part :
       {std::string("\xFF\xF8"), std::string("\xFF"), std::string("\xFF\xF8\x79\x08\x85"), header}) {
    const Frames found = frames_of(file_of({.blocks = std::vector<size_t>(200, 60'000), .content = part}));
    CHECK(found.has_value() == (part != header));
  }
}

// libavformat looks at the CPU time for each part that it reads.
TEST_CASE("an index of FLAC takes libavformat for its head alone", "[audio]") {
  static int looks = 0;
  const media::DecodeLimits counted{.cpu_ns = [] { return uint64_t{0} * static_cast<uint64_t>(++looks); }};
  const std::string file = file_of({.blocks = std::vector<size_t>(100, 60'000)});
  REQUIRE(ffmpeg::index_audio_by_libavformat(bytes_of(file), counted));
  CHECK(looks > 100);
  looks = 0;
  REQUIRE(ffmpeg::index_audio(bytes_of(file), counted));
  CHECK(looks < 30);
}

TEST_CASE("a search for frames of FLAC ends with its CPU time", "[audio]") {
  static uint64_t now_ns = 0;
  const media::DecodeLimits limits{.cpu_ms_max = 5, .cpu_ns = [] { return now_ns += 1'000'000; }};
  CHECK(frames_of(file_of({}), limits));
  CHECK_FALSE(frames_of(file_of({.blocks = std::vector<size_t>(200, 60'000)}), limits));
}

}  // namespace
}  // namespace spdld::flac_frames_test
