// An index is the same from the whole file, from the parts of it that tell of frames, and from bytes that were kept.
#include "daemon/media/ffmpeg/kept_index.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "daemon/media/ffmpeg/libraries/libraries.h"
#include "daemon/media/ffmpeg/libraries/load.h"
#include "daemon/media/ffmpeg/pictures/video_decoder.h"
#include "tests/media/ffmpeg/parts.h"
#include "tests/support/makers/video_maker.h"
#include "tests/support/rounds.h"
#include "tests/support/temp_dir.h"

namespace spdld::kept_index_test {
namespace {

using namespace spdld::test;
using Bytes = std::vector<uint8_t>;

std::span<const uint8_t> bytes_in(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Without the bytes in the message.
bool is_same(const std::string& a, const std::string& b) { return a == b; }

struct File {
  std::string name, encoding;
  bool is_told_in_one_place;  // of its frames
};

const std::vector<File> kVideos = {
    {"h264.mp4", "-c:v libx264 -g 12 -bf 2", true},
    {"h264-front.mp4", "-c:v libx264 -g 50 -bf 2 -movflags +faststart", true},
    {"h264-refresh.mp4", "-c:v libx264 -x264-params keyint=20:intra-refresh=1:bframes=0", true},
    {"h264-sound.mp4", "-f lavfi -i sine=duration=6 -c:v libx264 -g 12 -c:a aac -shortest", true},
    {"h264.mov", "-c:v libx264 -g 12 -bf 2", true},
    {"hevc.mp4", "-c:v libx265 -x265-params keyint=12:bframes=3:log-level=none", true},
    {"mjpeg.mov", "-c:v mjpeg -q:v 3", true},
    {"prores.mov", "-c:v prores_ks -pix_fmt yuv422p10le", true},
    {"fragments.mp4", "-c:v libx264 -g 12 -movflags frag_keyframe+empty_moov", false},
    {"fragments-behind.mp4", "-c:v libx264 -g 12 -movflags frag_keyframe", false},
    {"mpeg4.mp4", "-c:v mpeg4 -g 12 -bf 2", false},
    {"vp9.mp4", "-c:v libvpx-vp9 -g 20 -deadline realtime -cpu-used 8", false},
    {"h264.mkv", "-c:v libx264 -g 12 -bf 2", false},
    {"h264.ts", "-c:v libx264 -g 12 -bf 2", false},
    {"vp8.webm", "-c:v libvpx -g 20 -b:v 300k", false},
    {"palettes.avi", "-c:v rawvideo -pix_fmt pal8", false},
};

// Its pictures are noise, so that the frames are most of the file.
Bytes make(const TempDir& folder, const File& file) {
  const auto path = folder.path() / file.name;
  const bool has_pixels = file.encoding.find("-pix_fmt") != std::string::npos;
  make_video(path, "320x240", "15", 6,
             file.encoding + " -vf noise=alls=60:allf=t" + (has_pixels ? "" : " -pix_fmt yuv420p"));
  return bytes_of(path);
}

TEST_CASE("an index of a video from parts of its file, and from bytes that were kept, is that of the file", "[video]") {
  const TempDir folder;
  for (const File& file : kVideos) {
    DYNAMIC_SECTION(file.name) {
      const Bytes bytes = make(folder, file);
      const Result<ffmpeg::VideoIndex> whole = ffmpeg::index_video(bytes);
      INFO((whole ? "" : whole.error().message));
      REQUIRE(whole);
      const std::string packed = ffmpeg::packed(*whole);
      PartsOf parts(bytes);
      const auto parted = parts.run(
          [](const ByteParts& read, std::vector<ByteRange>& unread) { return ffmpeg::index_video(read, {}, &unread); });
      REQUIRE(parted);
      CHECK(is_same(ffmpeg::packed(*parted), packed));
      INFO(parts.read_bytes() << " of " << bytes.size() << " bytes in " << parts.rounds() << " rounds");
      CHECK((parts.read_bytes() < bytes.size()) == file.is_told_in_one_place);
      const auto kept = ffmpeg::unpacked_video(bytes_in(packed));
      REQUIRE(kept);
      CHECK(is_same(ffmpeg::packed(*kept), packed));
      CHECK(kept->reordered == whole->reordered);
    }
  }
}

TEST_CASE(
    "a kept index belongs to the versions of FFmpeg's libraries, since another version may read files another way",
    "[video]") {
  ffmpeg::load_libraries();
  const auto version = [](unsigned number) {
    return std::to_string(number >> 16) + "." + std::to_string(number >> 8 & 0xFF) + "." +
           std::to_string(number & 0xFF);
  };
  for (const std::string& id : {ffmpeg::kept_video_id(), ffmpeg::kept_audio_id()}) {
    INFO(id);
    CHECK(id.find("libavformat " + version(ffmpeg::lib::avformat_version())) != std::string::npos);
    CHECK(id.find("libavcodec " + version(ffmpeg::lib::avcodec_version())) != std::string::npos);
  }
  CHECK(ffmpeg::kept_video_id() != ffmpeg::kept_audio_id());
}

TEST_CASE("an index of a sound from parts of its file, and from bytes that were kept, is that of the file", "[video]") {
  const TempDir folder;
  for (const std::string name :
       {"aac.mp4", "alac.m4a", "flac.mp4", "opus.mp4", "vorbis.ogg", "opus.ogg", "mp3.mp3", "flac.flac"}) {
    DYNAMIC_SECTION(name) {
      const auto path = folder.path() / name;
      const std::string codec = name.starts_with("aac")      ? "-c:a aac"
                                : name.starts_with("alac")   ? "-c:a alac"
                                : name.starts_with("opus")   ? "-c:a libopus"
                                : name.starts_with("vorbis") ? "-c:a libvorbis"
                                : name.starts_with("mp3")    ? "-c:a libmp3lame"
                                                             : "-c:a flac -strict experimental";
      run_ffmpeg(words_of("-f lavfi -i anoisesrc=duration=20:seed=7:amplitude=0.3 " + codec + " " + path.string()));
      const Bytes bytes = bytes_of(path);
      const Result<ffmpeg::AudioIndex> whole = ffmpeg::index_audio(bytes);
      REQUIRE(whole);
      const std::string packed = ffmpeg::packed(*whole);
      PartsOf parts(bytes);
      const auto parted = parts.run(
          [](const ByteParts& read, std::vector<ByteRange>& unread) { return ffmpeg::index_audio(read, {}, &unread); });
      REQUIRE(parted);
      CHECK(is_same(ffmpeg::packed(*parted), packed));
      const auto kept = ffmpeg::unpacked_audio(bytes_in(packed));
      REQUIRE(kept);
      CHECK(is_same(ffmpeg::packed(*kept), packed));
      CHECK(kept->samples == whole->samples);
    }
  }
}

// Bytes on a disk may be damaged, and may have been written by another program.
TEST_CASE("damaged bytes of an index give no index, or one whose packets lie in bounds", "[video]") {
  const TempDir folder;
  const Bytes bytes = make(folder, kVideos[GENERATE(size_t{0}, kVideos.size() - 1)]);
  const std::string packed = ffmpeg::packed(*ffmpeg::index_video(bytes));
  std::mt19937 random(11);
  int refused = 0;
  for (int i = 0; i < rounds(4000); ++i) {
    std::string damaged = packed;
    for (int flips = 1 + static_cast<int>(random() % 3); flips > 0; --flips)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    if (random() % 4 == 0) damaged.resize(random() % damaged.size());
    const auto index = ffmpeg::unpacked_video(bytes_in(damaged));
    if (!index) {
      ++refused;
      continue;
    }
    for (const ffmpeg::VideoPacket& packet : index->packets) {
      const auto data = index->data_of(packet, bytes);
      REQUIRE((data.empty() || data.size() == packet.bytes));
    }
    for (size_t frame = 0; frame < index->frames.size(); ++frame)
      REQUIRE(index->packets[index->frames[frame].packet].frame == frame);
  }
  CHECK(refused > 0);
}

// The sanitizer for undefined behaviour tells: an enumeration of FFmpeg has no such value.
TEST_CASE("a number of a kept index that its type does not have gives no index", "[video]") {
  const TempDir folder;
  const Bytes bytes = make(folder, kVideos.front());
  const std::string packed = ffmpeg::packed(*ffmpeg::index_video(bytes));
  const std::string number = "\xd7\xff\xff\xff\xff\xff\xff\x7f";
  int refused = 0;
  for (size_t at = 0; at < std::min<size_t>(packed.size(), 400); ++at) {
    std::string damaged = packed;
    damaged.replace(at, 1, number);
    const auto index = ffmpeg::unpacked_video(bytes_in(damaged));
    refused += !index;
    if (index) CHECK(ffmpeg::packed(*index).size() > 0);
  }
  CHECK(refused > 0);
}

// MPEG-2 tells of colours in its sequence display extension (ISO/IEC 13818-2, 6.2.2.4), and libavcodec takes the
// numbers as they are.
TEST_CASE("colours of a video that FFmpeg has no name for are unknown ones", "[video]") {
  const TempDir folder;
  const auto path = folder.path() / "mpeg2.avi";
  make_video(path, "96x64", "25", 1, "-c:v mpeg2video -color_primaries bt709 -color_trc bt709 -colorspace bt709");
  Bytes bytes = bytes_of(path);
  const Bytes start = {0x00, 0x00, 0x01, 0xB5};
  int changed = 0;
  for (auto at = bytes.begin(); (at = std::search(at, bytes.end(), start.begin(), start.end())) != bytes.end();) {
    at += 4;
    if (bytes.end() - at < 4 || (at[0] & 0xF1) != 0x21) continue;
    at[1] = 205, at[2] = 177, at[3] = 255;
    changed++;
  }
  REQUIRE(changed > 0);
  const auto index = ffmpeg::index_video(bytes);
  REQUIRE(index);
  const std::string packed = ffmpeg::packed(*index);
  CHECK(ffmpeg::unpacked_video(bytes_in(packed)));
  ffmpeg::VideoDecoder decoder({});
  int frames = 0;
  const std::vector<uint32_t> wanted = {0, 5};
  CHECK(decoder.decode(*index, bytes, wanted, [&](uint32_t, ffmpeg::VideoFrame&) {
    frames++;
    return Status(Done{});
  }));
  CHECK(frames == 2);
}

}  // namespace
}  // namespace spdld::kept_index_test
