// Frames of two fields: the first field in time with lines between its own, the frames as they are, or a reason.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "daemon/media/ffmpeg/packets/deinterlace.h"
#include "daemon/media/ffmpeg/packets/h264_fields.h"
#include "tests/media/video/clips.h"
#include "tests/support/makers/video_maker.h"
#include "tests/support/temp_dir.h"

namespace spdld::interlaced_test {
namespace {

using namespace spdld::test;
using Catch::Contains;

constexpr int kWidth = 160, kHeight = 100;

// A moving test picture whose frames are woven of two pictures, or are not (`weave` is empty).
Bytes made(const TempDir& folder, const std::string& name, const std::string& weave, const std::string& encoding) {
  const auto path = folder.path() / name;
  run_ffmpeg(words_of("-f lavfi -i testsrc2=size=160x100:rate=20:duration=2 -vf " +
                      (weave.empty() ? "" : "tinterlace=" + weave + ",") + "format=yuv420p " + encoding + " " +
                      path.string()));
  return bytes_of(path);
}

std::string decode(const std::string& words, int frames = 4) {
  return "{ op = \"decode-video\", pick = \"start\", frames = " + std::to_string(frames) +
         (words.empty() ? "" : ", " + words) + " }, ";
}
const std::string kWhole = "{ op = \"center-crop\", size = [100, 160] }, { op = \"convert\", dtype = \"uint8\" }";
const std::string kByRows =
    "{ op = \"resize\", size = [50, 60], filter = \"bicubic\" }, { op = \"convert\", dtype = \"uint8\" }";

// One plane as the header of deinterlace.h says, in other words: line by line, and in floats.
void interpolate(uint8_t* plane, int width, int height, int kept) {
  const auto at = [&](int x, int y) -> double {
    if (y < kept) y = kept;
    while (y >= height) y -= 2;
    return plane[y * width + x];
  };
  for (int y = 1 - kept; y < height; y += 2) {
    for (int x = 0; x < width; ++x) {
      const double value = (5077 * (at(x, y - 1) + at(x, y + 1)) - 981 * (at(x, y - 3) + at(x, y + 3))) / 8192;
      plane[y * width + x] = static_cast<uint8_t>(std::clamp(std::floor(value + 0.5), 0.0, 255.0));
    }
  }
}

// The same video with one field's lines and interpolated ones, coded without loss, and as a video of whole frames.
Bytes interpolated(const TempDir& folder, const std::string& name, int kept, const std::string& pixels = "yuv420p") {
  const bool is_narrow = pixels == "yuv411p";
  Bytes planes =
      run_ffmpeg(words_of("-i " + (folder.path() / name).string() + " -f rawvideo -pix_fmt " + pixels + " -"));
  const int width = is_narrow ? kWidth / 4 : kWidth / 2, height = is_narrow ? kHeight : kHeight / 2;
  const size_t luma = size_t{kWidth} * kHeight, chroma = static_cast<size_t>(width * height);
  for (size_t frame = 0; frame < planes.size(); frame += luma + 2 * chroma) {
    interpolate(&planes[frame], kWidth, kHeight, kept);
    interpolate(&planes[frame + luma], width, height, kept);
    interpolate(&planes[frame + luma + chroma], width, height, kept);
  }
  const auto raw =
      folder.write("raw.yuv", std::string_view(reinterpret_cast<const char*>(planes.data()), planes.size()));
  const auto path = folder.path() / "whole.mkv";
  run_ffmpeg(words_of("-f rawvideo -video_size 160x100 -pix_fmt " + pixels + " -framerate 10 -i " + std::string(raw) +
                      " -c:v ffv1 -level 3 " + path.string()));
  return bytes_of(path);
}

}  // namespace

TEST_CASE("a line between those of a field is interpolated, and bounded", "[video]") {
  using namespace ffmpeg;
  const Bytes column = {10, 0, 20, 0, 200, 0, 40};
  Bytes out(7);
  fill_field({column.data(), 1, 1, 7}, {}, true, out.data(), 1);
  // (5077 * (20 + 200) - 981 * (10 + 40)) / 8192 = 130.4
  CHECK(out == Bytes{10, 0, 20, 130, 200, 142, 40});
  const Bytes sharp = {0, 7, 255, 7, 255, 7, 0, 7};
  out.resize(8);
  fill_field({sharp.data(), 1, 1, 8}, {}, true, out.data(), 1);
  CHECK(out[3] == 255);
  fill_field({sharp.data(), 1, 1, 8}, {}, false, out.data(), 1);
  CHECK(out == Bytes(8, 7));
  fill_field({sharp.data(), 1, 1, 1}, {}, false, out.data(), 1);
  CHECK(out[0] == 0);
  // Samples of 10 bits.
  const std::vector<uint16_t> words = {0, 1, 1023, 1, 1023, 1, 0};
  std::vector<uint16_t> made(7);
  fill_field({reinterpret_cast<const uint8_t*>(words.data()), 2, 2, 7}, {2, 1023}, true,
             reinterpret_cast<uint8_t*>(made.data()), 2);
  CHECK(made[3] == 1023);
  CHECK(made[1] == (5077 * 1023 - 981 * 1023 + 4096) / 8192);
}

TEST_CASE("frames of two fields have the first field's lines, and interpolated ones", "[video]") {
  const TempDir folder;
  for (const auto& [weave, kept] : {std::pair{"interleave_top", 0}, std::pair{"interleave_bottom", 1}}) {
    const Bytes video = made(folder, "v.mkv", weave, "-c:v ffv1 -level 3");
    const Bytes wanted = interpolated(folder, "v.mkv", kept);
    for (const std::string& ops : {kWhole, kByRows}) {
      INFO(weave << ' ' << ops);
      Clips clips(decode("") + ops), same(decode("") + ops), kept_ones(decode("interlaced = \"keep\"") + ops);
      CHECK(clips.clip(video) == same.clip(wanted));
      CHECK(kept_ones.clip(video) != clips.clip(video));
    }
  }
}

TEST_CASE("chroma that is narrower by four is interpolated line by line as well", "[video]") {
  const TempDir folder;
  const auto path = folder.path() / "v.mkv";
  run_ffmpeg(
      words_of("-f lavfi -i testsrc2=size=160x100:rate=20:duration=1 -vf format=yuv444p,tinterlace=interleave_top,"
               "format=yuv411p -c:v ffv1 -level 3 " +
               path.string()));
  Clips clips(decode("") + kWhole), same(decode("") + kWhole);
  CHECK(clips.clip(bytes_of(path)) == same.clip(interpolated(folder, "v.mkv", 0, "yuv411p")));
}

TEST_CASE("packed pixels and samples of more bits are interpolated as well", "[video]") {
  const TempDir folder;
  const Bytes packed = made(folder, "v.mkv", "interleave_top", "-c:v ffv1 -level 3 -pix_fmt bgr0");
  Bytes wanted =
      run_ffmpeg(words_of("-i " + (folder.path() / "v.mkv").string() + " -frames:v 4 -f rawvideo -pix_fmt rgb24 -"));
  constexpr size_t kFrame = size_t{3} * kWidth * kHeight;
  REQUIRE(wanted.size() == 4 * kFrame);
  for (size_t frame = 0; frame < wanted.size(); frame += kFrame) interpolate(&wanted[frame], 3 * kWidth, kHeight, 0);
  CHECK(Clips(decode("") + kWhole).clip(packed) == wanted);

  const Bytes fine = made(folder, "v.mkv", "interleave_top", "-c:v ffv1 -level 3 -pix_fmt yuv420p10le");
  const Bytes rounded = interpolated(folder, "v.mkv", 0);
  for (const std::string& ops : {kWhole, kByRows}) {
    INFO(ops);
    CHECK(psnr(Clips(decode("") + ops).clip(fine), Clips(decode("") + ops).clip(rounded)) > 45);
  }
}

TEST_CASE("interlaced pixels of a palette are bad content, unless they are kept", "[video]") {
  const TempDir folder;
  const Bytes video = made(folder, "v.mov", "interleave_top", "-c:v rawvideo -pix_fmt pal8");
  const Status done = Clips(decode("") + kWhole).run(video);
  REQUIRE_FALSE(done);
  CHECK(done.error().trouble == Trouble::kContent);
  CHECK_THAT(done.error().message, Contains("pal8, whose lines can't be interpolated"));
  CHECK(Clips(decode("interlaced = \"keep\"") + kWhole).run(video));
}

TEST_CASE("MPEG-2 and H.264 flag their frames, and each frame is the same wherever the decoder starts", "[video]") {
  const TempDir folder;
  for (const std::string encoding : {"-c:v mpeg2video -q:v 2 -g 6 -bf 2 -flags +ildct+ilme",
                                     "-c:v libx264 -qp 8 -g 6 -bf 2 -flags +ildct+ilme -x264opts tff=1"}) {
    const Bytes video = made(folder, "v.mkv", "interleave_top", encoding);
    INFO(encoding);
    Clips all(decode("", 18) + kWhole);
    const Bytes clip = all.clip(video);
    const Bytes wanted = interpolated(folder, "v.mkv", 0);
    Clips same(decode("", 18) + kWhole);
    CHECK(clip == same.clip(wanted));
    Clips some(decode("stride = 8", 3) + kWhole);
    const Bytes three = some.clip(video);
    const size_t bytes = three.size() / 3;
    for (size_t i = 0; i < 3; ++i)
      CHECK(std::memcmp(three.data() + i * bytes, clip.data() + 8 * i * bytes, bytes) == 0);
  }
}

TEST_CASE("frames that are not flagged stay as they are", "[video]") {
  const TempDir folder;
  for (const std::string encoding : {"-c:v mpeg2video -q:v 2", "-c:v libx264 -qp 8"}) {
    const Bytes video = made(folder, "v.mkv", "", encoding);
    INFO(encoding);
    Clips plain(decode("") + kWhole), kept(decode("interlaced = \"keep\"") + kWhole),
        refused(decode("interlaced = \"refuse\"") + kWhole);
    CHECK(plain.clip(video) == kept.clip(video));
    CHECK(refused.clip(video) == kept.clip(video));
  }
}

TEST_CASE("H.264 says beforehand whether its pictures may be fields", "[video]") {
  const TempDir folder;
  for (const std::string name : {"v.mkv", "v.ts"}) {
    for (const std::string profile : {"baseline", "main", "high", "high422", "high444"}) {
      for (const bool is_woven : {false, true}) {
        if (profile == "baseline" && is_woven) continue;
        const std::string pixels = profile == "high444" ? "yuv444p" : profile == "high422" ? "yuv422p10le" : "yuv420p";
        const Bytes video =
            made(folder, name, is_woven ? "interleave_top" : "",
                 "-c:v libx264 -profile:v " + profile + " -pix_fmt " + pixels +
                     (profile == "high" ? " -x264opts cqm=jvt" : "") + (is_woven ? " -flags +ildct+ilme" : ""));
        const auto index = ffmpeg::index_video(video, {});
        REQUIRE(index);
        INFO(name << ' ' << profile << ' ' << is_woven);
        CHECK(index->may_be_interlaced == is_woven);
      }
    }
  }
}

TEST_CASE("a header of H.264 that was cut may have fields", "[video]") {
  CHECK(ffmpeg::h264_may_have_fields({}));
  // profile 66, level 30, and numbers of one bit up to the flag, which is 1
  const Bytes set = {0, 0, 1, 0x67, 66, 0, 30, 0xff, 0xff};
  CHECK_FALSE(ffmpeg::h264_may_have_fields(set));
  for (size_t size = 0; size < set.size(); ++size) CHECK(ffmpeg::h264_may_have_fields(std::span(set).first(size)));
  const Bytes box = {1, 66, 0, 30, 0xff, 0xe1, 0, 6, 0x67, 66, 0, 30, 0xff, 0xff};
  CHECK_FALSE(ffmpeg::h264_may_have_fields(box));
  for (size_t size = 0; size < box.size(); ++size) CHECK(ffmpeg::h264_may_have_fields(std::span(box).first(size)));
}

TEST_CASE("frames that are kept are FFmpeg's own", "[video]") {
  const TempDir folder;
  const Bytes video = made(folder, "v.mkv", "interleave_top", "-c:v mpeg2video -q:v 2 -flags +ildct+ilme");
  const Bytes wanted = run_ffmpeg(words_of("-i " + (folder.path() / "v.mkv").string() +
                                           " -frames:v 4 -vf scale=out_range=pc,format=gray -f rawvideo -"));
  Clips kept(decode("interlaced = \"keep\", colours = \"grey\"") + kWhole);
  CHECK(psnr(kept.clip(video), wanted) > 45);
}

TEST_CASE("a video that is interlaced is bad content where it is refused", "[video]") {
  const TempDir folder;
  const Bytes video = made(folder, "v.mkv", "interleave_top", "-c:v mpeg2video -q:v 2 -flags +ildct+ilme");
  Clips clips(decode("interlaced = \"refuse\"") + kWhole);
  const Status done = clips.run(video);
  REQUIRE_FALSE(done);
  CHECK(done.error().trouble == Trouble::kContent);
  CHECK_THAT(done.error().message, Contains("frame 0 of the video is interlaced"));
}

}  // namespace spdld::interlaced_test
