// Chosen frames of a video are those of a whole decoding by the ffmpeg program, whatever the codec, the container, the
// groups of pictures and the times, and in any order of windows.
#include "daemon/media/ffmpeg/pictures/video_decoder.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "daemon/media/ffmpeg/pictures/video_index.h"
#include "daemon/media/ffmpeg/pictures/video_stretches.h"
#include "tests/media/ffmpeg/parts.h"
#include "tests/media/ffmpeg/raw_frames.h"
#include "tests/support/makers/video_maker.h"
#include "tests/support/rounds.h"
#include "tests/support/temp_dir.h"

namespace spdld::video_decoder_test {
namespace {

using namespace spdld::test;

struct Encoding {
  std::string name, encoding, pixels = "yuv420p";
};

// testsrc2 is RGB, so that each encoding says its pixels.
const std::vector<Encoding> kKinds = {
    {"h264.mp4", "-c:v libx264 -g 12 -bf 2"},
    {"h264-long.mp4", "-c:v libx264 -g 250 -bf 3 -preset ultrafast"},
    {"h264-open.mkv", "-c:v libx264 -x264-params keyint=15:open-gop=1:bframes=3:scenecut=0"},
    {"h264-open.ts", "-c:v libx264 -x264-params keyint=15:open-gop=1:bframes=3:scenecut=0"},
    {"h264-refresh.mp4", "-c:v libx264 -x264-params keyint=20:intra-refresh=1:bframes=0"},
    {"h264-interlaced.mp4", "-c:v libx264 -x264-params keyint=12:bframes=2:tff=1"},
    {"h264.flv", "-c:v libx264 -g 10"},
    {"h264-10.mp4", "-c:v libx264 -g 12 -bf 2", "yuv420p10le"},
    {"h264-444.mp4", "-c:v libx264 -g 12 -bf 2", "yuv444p"},
    {"h264-grey.mp4", "-c:v libx264 -g 12 -vf format=gray", "yuvj420p"},
    {"grey.mkv", "-c:v ffv1", "gray"},
    {"hevc.mp4", "-c:v libx265 -x265-params keyint=12:bframes=3:log-level=none"},
    {"hevc-closed.mkv", "-c:v libx265 -x265-params keyint=12:open-gop=0:log-level=none"},
    {"vp8.webm", "-c:v libvpx -g 20 -auto-alt-ref 1 -lag-in-frames 10 -b:v 300k"},
    {"vp9.webm", "-c:v libvpx-vp9 -g 20 -auto-alt-ref 1 -lag-in-frames 10 -b:v 300k -deadline realtime -cpu-used 8"},
    {"av1.mp4", "-c:v libaom-av1 -g 20 -cpu-used 8 -usage realtime"},
    {"mpeg4.avi", "-c:v mpeg4 -g 12 -bf 2"},
    {"mpeg4.mp4", "-c:v mpeg4 -g 12 -bf 2"},
    {"mpeg2.mpg", "-c:v mpeg2video -g 12 -bf 2"},
    {"mjpeg.avi", "-c:v mjpeg -q:v 3", "yuvj420p"},
    {"prores.mov", "-c:v prores_ks", "yuv422p10le"},
    {"still.gif", "", "bgra"},
};

constexpr int kWidth = 176, kHeight = 112;

// The samples of a frame one after another, as rawvideo has them.
struct Raw {
  std::vector<std::vector<uint8_t>> frames;
};

size_t raw_bytes(const std::string& pixels, int width, int height) {
  const auto area = static_cast<size_t>(width) * static_cast<size_t>(height);
  const auto half = static_cast<size_t>((width + 1) / 2), half_down = static_cast<size_t>((height + 1) / 2);
  if (pixels == "yuv420p" || pixels == "yuvj420p") return area + 2 * half * half_down;
  if (pixels == "yuv420p10le") return 2 * (area + 2 * half * half_down);
  if (pixels == "yuv422p10le") return 2 * (area + 2 * half * static_cast<size_t>(height));
  if (pixels == "yuv444p" || pixels == "rgb24") return 3 * area;
  if (pixels == "gray") return area;
  throw std::logic_error("no such pixels: " + pixels);
}

std::vector<std::vector<uint8_t>> whole_decoding(const std::filesystem::path& file, const std::string& pixels,
                                                 int width, int height) {
  std::vector<std::string> arguments = words_of("-noautorotate -i");
  arguments.push_back(file.string());
  for (const std::string& word : words_of("-map 0:v:0 -fps_mode passthrough -f rawvideo -sws_flags bitexact -pix_fmt"))
    arguments.push_back(word);
  arguments.push_back(pixels);
  arguments.push_back("-");
  const std::vector<uint8_t> all = run_ffmpeg(arguments);
  const size_t bytes = raw_bytes(pixels, width, height);
  REQUIRE(all.size() % bytes == 0);
  std::vector<std::vector<uint8_t>> frames;
  for (size_t at = 0; at < all.size(); at += bytes)
    frames.emplace_back(all.begin() + static_cast<ptrdiff_t>(at), all.begin() + static_cast<ptrdiff_t>(at + bytes));
  return frames;
}

std::vector<uint32_t> window(std::mt19937& random, size_t count) {
  const uint32_t frames = 1 + random() % 8, stride = 1 + random() % 6;
  const auto start = static_cast<uint32_t>(random() % count);
  std::vector<uint32_t> wanted;
  for (uint32_t i = 0; i < frames && start + i * stride < count; ++i) wanted.push_back(start + i * stride);
  return wanted;
}

// Every second window is decoded from the parts of the file alone that it needs.
void check_windows(const std::vector<uint8_t>& file, const std::vector<std::vector<uint8_t>>& whole, int windows) {
  const Result<ffmpeg::VideoIndex> index = ffmpeg::index_video(file);
  INFO((index ? "" : index.error().message));
  REQUIRE(index);
  REQUIRE(index->frames.size() == whole.size());
  ffmpeg::VideoDecoder decoder({});
  std::mt19937 random(7);
  for (int i = 0; i < windows; ++i) {
    const std::vector<uint32_t> wanted = window(random, whole.size());
    std::vector<uint32_t> given;
    test::PartsOf parts(file);
    if (i % 2 == 1) read_for(*index, wanted, parts, 12);
    const auto decode = [&](const ByteParts& from) {
      given.clear();
      return decoder.decode(*index, from, wanted, [&](uint32_t number, ffmpeg::VideoFrame& frame) {
        given.push_back(number);
        const bool is_same = samples_of(frame) == whole[number];
        INFO("window " << i << ", frame " << number);
        CHECK(is_same);
        return Status(Done{});
      });
    };
    Status decoded = decode(i % 2 == 1 ? parts.parts() : ByteParts(file));
    // An edit list may begin with frames that only an earlier key frame gives.
    if (!decoded && decoded.error().trouble == Trouble::kUnread) decoded = decode(file);
    INFO((decoded ? "" : decoded.error().message));
    REQUIRE(decoded);
    CHECK(given == wanted);
  }
}

TEST_CASE("random windows have the frames of a whole decoding", "[video]") {
  const TempDir folder;
  for (const Encoding& kind : kKinds) {
    DYNAMIC_SECTION(kind.name) {
      const auto path = folder.path() / kind.name;
      const bool is_rgb = kind.pixels == "bgra";
      make_video(path, "176x112", "15", 6, kind.encoding + (is_rgb ? "" : " -pix_fmt " + kind.pixels));
      auto whole = whole_decoding(path, is_rgb ? "rgb24" : kind.pixels, kWidth, kHeight);
      if (kind.pixels.ends_with("10le"))
        for (auto& frame : whole) frame = narrowed(frame, 10);
      check_windows(bytes_of(path), whole, test::rounds(200));
    }
  }
}

TEST_CASE("windows of a video whose frames last for different times, and of one that an edit list cuts", "[video]") {
  const TempDir folder;
  const auto base = folder.path() / "base.mp4", path = folder.path() / "path.mp4";
  SECTION("frames of different durations") {
    run_ffmpeg(
        words_of("-f lavfi -i testsrc2=size=176x112:rate=30:duration=6 -vf select=gt(mod(n*n\\,7)\\,1) -fps_mode "
                 "passthrough -c:v libx264 -g 12 -bf 2 -pix_fmt yuv420p " +
                 path.string()));
  }
  SECTION("an edit list") {
    make_video(base, "176x112", "15", 6, "-c:v libx264 -g 12 -bf 2 -pix_fmt yuv420p");
    run_ffmpeg(words_of("-ss 1.3 -i " + base.string() + " -c copy " + path.string()));
  }
  SECTION("an edit list over open groups of pictures") {
    make_video(base, "176x112", "15", 6,
               "-c:v libx264 -x264-params keyint=15:open-gop=1:bframes=3:scenecut=0 -pix_fmt yuv420p");
    run_ffmpeg(words_of("-ss 1.3 -to 4.1 -i " + base.string() + " -c copy " + path.string()));
  }
  check_windows(bytes_of(path), whole_decoding(path, "yuv420p", kWidth, kHeight), test::rounds(200));
}

uint64_t looks = 0;

// Each look at the clock takes a millisecond.
uint64_t cpu_of_looks_ns() { return ++looks * 1'000'000; }

TEST_CASE("a video's index is whole, or ends at the CPU time that the operator allows", "[video]") {
  const TempDir folder;
  const auto path = folder.path() / "video.ts";
  make_video(path, "176x112", "15", 2, "-c:v libx264 -g 12 -bf 2 -pix_fmt yuv420p");
  const std::vector<uint8_t> file = bytes_of(path);
  media::DecodeLimits limits{.cpu_ms_max = 0, .cpu_ns = &cpu_of_looks_ns};
  const size_t frames = ffmpeg::index_video(file, limits)->frames.size();
  REQUIRE(looks == 0);
  bool is_whole = false;
  for (limits.cpu_ms_max = 1; !is_whole && limits.cpu_ms_max < 10'000; ++limits.cpu_ms_max) {
    looks = 0;
    const Result<ffmpeg::VideoIndex> index = ffmpeg::index_video(file, limits);
    is_whole = static_cast<bool>(index);
    if (is_whole)
      CHECK(index->frames.size() == frames);
    else
      CHECK_THAT(index.error().message, Catch::Contains("limits.sample_ms_max"));
  }
  CHECK(is_whole);
}

TEST_CASE("a decoder's work ends at the CPU time that the operator allows", "[video]") {
  const TempDir folder;
  const auto path = folder.path() / "video.mp4";
  make_video(path, "176x112", "15", 2, "-c:v libx264 -g 12 -bf 2 -pix_fmt yuv420p");
  const std::vector<uint8_t> file = bytes_of(path);
  const Result<ffmpeg::VideoIndex> index = ffmpeg::index_video(file);
  REQUIRE(index);
  looks = 0;
  ffmpeg::VideoDecoder decoder({.cpu_ms_max = 3, .cpu_ns = &cpu_of_looks_ns});
  const uint32_t wanted[] = {10};
  const Status decoded =
      decoder.decode(*index, file, wanted, [](uint32_t, ffmpeg::VideoFrame&) { return Status(Done{}); });
  REQUIRE_FALSE(decoded);
  CHECK_THAT(decoded.error().message, Catch::Contains("limits.sample_ms_max"));
  CHECK(decoder.packets_sent() == 3);
}

// libavformat is asked for the streams, and once more for their parameters, and must not crash.
TEST_CASE("a program stream of video whose codec is unknown is bad content", "[video]") {
  std::vector<uint8_t> file = {0, 0, 1, 0xba, 0x44, 0, 4, 0, 4, 1, 0, 0, 3, 0xf8};  // a pack (ISO 13818-1, 2.5.3.3)
  for (int packet = 0; packet < 20; ++packet) {
    file.insert(file.end(), {0, 0, 1, 0xef, 4, 3, 0x80, 0x80, 5, 0x21, 0, 1, 0, 1});
    file.insert(file.end(), 1024, 0x55);
  }
  const Result<ffmpeg::VideoIndex> index = ffmpeg::index_video(file);
  REQUIRE_FALSE(index);
  INFO(index.error().message);
  CHECK(index.error().trouble == Trouble::kContent);
}

}  // namespace
}  // namespace spdld::video_decoder_test
