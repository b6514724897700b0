// decode-video with operations on pictures behind it, beside what the ffmpeg program makes of the same frames.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "tests/media/video/clips.h"
#include "tests/support/makers/video_maker.h"
#include "tests/support/temp_dir.h"

namespace spdld::video_chain_test {
namespace {

using namespace spdld::test;
using Catch::Contains;

// A source of slowly changing colours. The filter draws at random what is not given, also with a seed.
std::string gradients(const std::string& size, const std::string& duration_s) {
  return "gradients=size=" + size + ":rate=10:duration=" + duration_s +
         ":n=6:seed=7:speed=0.1:x0=10:y0=5:x1=150:y1=90:c0=0xe02020:c1=0x20c040:c2=0x2040e0:c3=0xe0d030:c4=0x30d0d0:"
         "c5=0xc030c0";
}

// A video whose planes are coded without loss, with these tags.
Bytes coloured(const TempDir& folder, const std::string& pixels, const std::string& matrix, const std::string& range) {
  const auto path = folder.path() / (pixels + matrix + range + ".mkv");
  run_ffmpeg(words_of("-f lavfi -i " + gradients("160x96", "0.4") + " -vf scale=out_color_matrix=" + matrix +
                      ":out_range=" + range + ":flags=accurate_rnd+full_chroma_inp+full_chroma_int,format=" + pixels +
                      " -c:v ffv1 -level 3 -color_range " + range + " -colorspace " +
                      (matrix == "bt601"    ? "smpte170m"
                       : matrix == "bt2020" ? "bt2020nc"
                                            : matrix) +
                      " " + path.string()));
  return bytes_of(path);
}

Bytes reference(const Bytes& video, const TempDir& folder, const std::string& filter) {
  const auto path =
      folder.write("video.mkv", std::string_view(reinterpret_cast<const char*>(video.data()), video.size()));
  return run_ffmpeg(words_of("-i " + std::string(path) + " -vf " + filter +
                             " -sws_flags accurate_rnd+full_chroma_int+full_chroma_inp -f rawvideo -pix_fmt "
                             "rgb24 -"));
}

TEST_CASE("each matrix, range and sampling of colours is FFmpeg's own", "[video]") {
  const TempDir folder;
  for (const std::string pixels : {"yuv420p", "yuv422p", "yuv444p", "yuv440p", "yuv420p10le", "yuv422p12le"}) {
    for (const std::string matrix : {"bt601", "bt709", "bt2020", "smpte240m"}) {
      for (const std::string range : {"tv", "pc"}) {
        if (pixels != "yuv420p" && matrix != "bt709") continue;
        const Bytes video = coloured(folder, pixels, matrix, range);
        const Bytes wanted = reference(video, folder, "null");
        for (const std::string filter : {"bilinear", "bicubic"}) {  // from planes, and from rows
          INFO(pixels << ", " << matrix << ", " << range << ", " << filter);
          Clips clips(
              "{ op = \"decode-video\", frames = 4, pick = \"start\" }, { op = \"resize\", size = [96, 160], filter = "
              "\"" +
              filter + "\" }, { op = \"convert\", dtype = \"uint8\" }");
          CHECK(psnr(clips.clip(video), wanted) > 45);
        }
      }
    }
  }
}

TEST_CASE("a video without tags has the matrix of its size, and limited range", "[video]") {
  const TempDir folder;
  for (const auto& [size, matrix] :
       {std::pair{"320x240", "bt601"}, std::pair{"1280x64", "bt709"}, std::pair{"64x578", "bt709"}}) {
    const auto path = folder.path() / (std::string(size) + ".mkv");
    run_ffmpeg(words_of("-f lavfi -i " + gradients(size, "0.1") + " -vf scale=out_color_matrix=" + matrix +
                        ",format=yuv420p -c:v ffv1 -colorspace unspecified -color_range unspecified " + path.string()));
    const Bytes video = bytes_of(path);
    const Bytes wanted =
        reference(video, folder, std::string("scale=in_color_matrix=") + matrix + ":in_range=tv,format=rgb24");
    const std::string text = size;
    const std::string width = text.substr(0, text.find('x')), height = text.substr(text.find('x') + 1);
    Clips clips("{ op = \"decode-video\", frames = 1, pick = \"start\" }, { op = \"resize\", size = [" + height + ", " +
                width + "] }, { op = \"convert\", dtype = \"uint8\" }");
    INFO(size);
    CHECK(psnr(clips.clip(video), wanted) > 45);
  }
}

Bytes test_video(const TempDir& folder, const std::string& encoding = "-c:v libx264 -g 12 -bf 2 -pix_fmt yuv420p") {
  const auto path = folder.path() / "test.mp4";
  make_video(path, "160x96", "15", 4, encoding);
  return bytes_of(path);
}

TEST_CASE("a turned video is upright", "[video]") {
  const TempDir folder;
  const Bytes video = test_video(folder);
  const auto straight = folder.path() / "test.mp4", turned = folder.path() / "turned.mp4";
  for (const std::string degrees : {"90", "180", "270"}) {
    // Since FFmpeg 5 the tag "rotate" counts clockwise.
    run_ffmpeg(
        words_of("-i " + straight.string() + " -c copy -metadata:s:v:0 rotate=" + degrees + " " + turned.string()));
    const Bytes wanted = run_ffmpeg(words_of("-i " + turned.string() +
                                             " -frames:v 3 -sws_flags accurate_rnd+full_chroma_int+full_chroma_inp "
                                             "-f rawvideo -pix_fmt rgb24 -"));
    const std::string size = degrees == "180" ? "[96, 160]" : "[160, 96]";
    Clips clips("{ op = \"decode-video\", frames = 3, pick = \"start\" }, { op = \"center-crop\", size = " + size +
                " }, { op = \"convert\", dtype = \"uint8\" }");
    INFO(degrees);
    CHECK(psnr(clips.clip(bytes_of(turned)), wanted) > 38);
  }
}

TEST_CASE("all frames of a clip have one geometry, and the draws of no other clip", "[video]") {
  const TempDir folder;
  const Bytes video = test_video(folder);
  const std::string decode = "{ op = \"decode-video\", frames = 4, stride = 3, pick = \"start\" }, ";
  const std::string crop = "{ op = \"random-resized-crop\", size = [32, 32] }, { op = \"horizontal-flip\" }, ";
  Clips whole(decode + crop + "{ op = \"convert\", dtype = \"uint8\" }");
  const Bytes clip = whole.clip(video, 3);
  CHECK(whole.clip(video, 3) == clip);
  CHECK(whole.clip(video, 4) != clip);
  // Each frame of it is that of a clip of one frame with the same draws.
  for (size_t i = 0; i < 4; ++i) {
    const auto path = folder.path() / "later.mkv";
    run_ffmpeg(words_of("-i " + (folder.path() / "test.mp4").string() + " -vf select=gte(n\\," + std::to_string(3 * i) +
                        ") -fps_mode passthrough -c:v ffv1 " + path.string()));
    Clips one("{ op = \"decode-video\", frames = 1, pick = \"start\" }, " + crop +
              "{ op = \"convert\", dtype = \"uint8\" }");
    const Bytes frame = one.clip(bytes_of(path), 3);
    INFO(i);
    CHECK(std::equal(frame.begin(), frame.end(), clip.begin() + static_cast<ptrdiff_t>(i * frame.size())));
  }
}

TEST_CASE("outputs of one video share its decoding, and have the pixels of their own", "[video]") {
  const TempDir folder;
  const Bytes video = test_video(folder);
  const auto ops = [](const std::string& draw) {
    return "{ op = \"decode-video\", frames = 4, stride = 3, draw = \"" + draw +
           "\" }, { op = \"resize\", size = [32, 32] }, "
           "{ op = \"gaussian-noise\", sigma = 0.1 }, { op = \"convert\", dtype = \"uint8\" }";
  };
  Clips first(ops("a")), second(ops("b"));
  const Bytes one = first.clip(video, 9), other = second.clip(video, 9);
  REQUIRE(one != other);
  media::Workspace workspace;
  for (const uint64_t sample :
       {uint64_t{8}, uint64_t{9}}) {  // the second time, the first sample's frames are forgotten
    const uint64_t before = workspace.of<video::VideoWork>().decoder.packets_sent();
    media::Field field{.bytes = video};
    REQUIRE(first.announce(field, workspace, sample));
    REQUIRE(second.announce(field, workspace, sample));
    REQUIRE(first.run(field, workspace, sample));
    const uint64_t between = workspace.of<video::VideoWork>().decoder.packets_sent();
    REQUIRE(second.run(field, workspace, sample));
    CHECK(between > before);
    CHECK(workspace.of<video::VideoWork>().decoder.packets_sent() == between);
  }
  CHECK(first.tensor() == one);
  CHECK(second.tensor() == other);
}

TEST_CASE("what a clip tells beside its pixels", "[video]") {
  const TempDir folder;
  const Bytes video = test_video(folder);
  Clips clips(
      "{ op = \"decode-video\", frames = 5, stride = 20, pick = \"start\", times = \"times\", valid = \"valid\" }, "
      "{ op = \"resize\", size = [8, 8] }");
  clips.clip(video);
  std::vector<double> times(5);
  std::memcpy(times.data(), clips.further(0).data(), sizeof(double) * 5);
  int64_t valid = 0;
  std::memcpy(&valid, clips.further(1).data(), sizeof valid);
  CHECK(valid == 3);
  for (size_t i = 0; i < 5; ++i) CHECK(times[i] == Approx(static_cast<double>(std::min<size_t>(20 * i, 59)) / 15));
}

// Values of [frames, channels, pixels] as [channels, frames, pixels].
Bytes channels_first(const Bytes& clip, size_t frames, size_t channels) {
  const size_t plane = clip.size() / frames / channels;
  Bytes turned;
  for (size_t channel = 0; channel < channels; ++channel) {
    for (size_t frame = 0; frame < frames; ++frame) {
      const auto from = clip.begin() + static_cast<ptrdiff_t>((frame * channels + channel) * plane);
      turned.insert(turned.end(), from, from + static_cast<ptrdiff_t>(plane));
    }
  }
  return turned;
}

TEST_CASE("a clip whose channels come before its frames", "[video]") {
  const TempDir folder;
  const Bytes video = test_video(folder);
  const std::string conversion =
      GENERATE("op = \"convert\", dtype = \"uint8\"", "op = \"convert\", dtype = \"float32\"",
               "op = \"normalize\", mean = [0.4, 0.5, 0.6], std = [0.2, 0.3, 0.4], dtype = \"float16\"");
  const std::string size = GENERATE("[8, 8]", "[40, 56]", "[256, 256]"), colours = GENERATE("rgb", "grey");
  if (colours == "grey" && conversion.find("normalize") != std::string::npos) return;  // which has three numbers
  INFO(conversion << " " << size << " " << colours);
  const auto ops = [&](const std::string& layout) {
    return "{ op = \"decode-video\", frames = 3, stride = 2, colours = \"" + colours +
           "\" }, { op = \"resize\", size = " + size + " }, { " + conversion + ", layout = \"" + layout + "\" }";
  };
  Clips apart(ops("NCTHW")), plain(ops("NCHW"));
  CHECK(apart.clip(video) == channels_first(plain.clip(video), 3, colours == "grey" ? 1 : 3));
}

TEST_CASE("several clips of a video lie one behind the other, with one geometry", "[video]") {
  const TempDir folder;
  const Bytes video = test_video(folder);
  const std::string layout = GENERATE("NHWC", "NCHW", "NCTHW");
  const auto ops = [&](const std::string& words) {
    return "{ op = \"decode-video\", pick = \"start\", times = \"times\", valid = \"valid\", " + words +
           " }, { op = \"random-resized-crop\", size = [32, 32] }, { op = \"convert\", layout = \"" + layout + "\" }";
  };
  Clips clips(ops("frames = 4, stride = 5, clips = 4")), first(ops("frames = 4, stride = 5"));
  const Bytes all = clips.clip(video, 2), one = first.clip(video, 2);
  REQUIRE(all.size() == 4 * one.size());
  CHECK(std::equal(one.begin(), one.end(), all.begin()));
  Clips row(ops("frames = 16, stride = 5"));
  const Bytes frames = row.clip(video, 2);
  if (layout == "NCTHW") {
    Bytes behind_one_another;
    const size_t plane = one.size() / 3;
    for (size_t clip = 0; clip < 4; ++clip) {
      for (size_t channel = 0; channel < 3; ++channel) {
        const auto from = frames.begin() + static_cast<ptrdiff_t>((channel * 4 + clip) * plane);
        behind_one_another.insert(behind_one_another.end(), from, from + static_cast<ptrdiff_t>(plane));
      }
    }
    CHECK(all == behind_one_another);
  } else {
    CHECK(all == frames);
  }
  CHECK(clips.further(0) == row.further(0));
  std::vector<int64_t> valid(4);
  REQUIRE(clips.further(1).size() == 4 * sizeof(int64_t));
  std::memcpy(valid.data(), clips.further(1).data(), 4 * sizeof(int64_t));
  CHECK(valid == std::vector<int64_t>{4, 4, 4, 0});  // of 60 frames
}

TEST_CASE("key frames alone are decoded without any other frame", "[video]") {
  const TempDir folder;
  const auto path = folder.path() / "keys.mp4";
  make_video(path, "176x112", "15", 4, "-c:v libx264 -x264-params keyint=15:scenecut=0:bframes=2 -pix_fmt yuv420p");
  const Bytes video = bytes_of(path);
  const std::string resize = ", times = \"times\" }, { op = \"resize\", size = [32, 32] }";
  Clips keys("{ op = \"decode-video\", frames = 4, pick = \"start\", key_frames = true" + resize),
      whole("{ op = \"decode-video\", frames = 4, stride = 15, pick = \"start\"" + resize);
  CHECK(keys.clip(video) == whole.clip(video));
  CHECK(keys.further(0) == whole.further(0));
  CHECK(keys.packets_sent() == 4);
}

TEST_CASE("grey clips are the video's luma", "[video]") {
  const TempDir folder;
  const Bytes video = coloured(folder, "yuv420p", "bt709", "tv");
  Clips clips(
      "{ op = \"decode-video\", frames = 4, pick = \"start\", colours = \"grey\" }, { op = \"center-crop\", size = "
      "[96, 160] }, "
      "{ op = \"convert\", dtype = \"uint8\" }");
  const auto path = folder.write("v.mkv", std::string_view(reinterpret_cast<const char*>(video.data()), video.size()));
  const Bytes wanted =
      run_ffmpeg(words_of("-i " + std::string(path) + " -vf scale=out_range=pc,format=gray -f rawvideo -"));
  CHECK(psnr(clips.clip(video), wanted) > 45);
}

TEST_CASE("what is no video is bad content, with a reason", "[video]") {
  const TempDir folder;
  Clips clips("{ op = \"decode-video\", frames = 4 }, { op = \"resize\", size = [8, 8] }");
  const auto reason = [&](const Bytes& bytes) {
    const Status done = clips.run(bytes);
    REQUIRE_FALSE(done);
    CHECK(done.error().trouble == Trouble::kContent);
    return done.error().message;
  };
  CHECK_THAT(reason({}), Contains("no file of video or sound"));
  CHECK_THAT(reason(Bytes(10'000, 'x')), Contains("no file of video or sound"));
  const auto sound = folder.path() / "sound.wav";
  run_ffmpeg(words_of("-f lavfi -i sine=duration=1 " + sound.string()));
  CHECK_THAT(reason(bytes_of(sound)), Contains("the file holds no video"));
}

// Flipped bits, cut files and lying sizes: each gives frames or a reason, within its limits.
}  // namespace
}  // namespace spdld::video_chain_test
