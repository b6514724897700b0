// Videos whose samples are not square are shown as players show them, and crops of them lie where they are shown.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "daemon/media/image/geometry/geometry.h"
#include "daemon/media/video/shown_size.h"
#include "tests/media/video/clips.h"
#include "tests/support/makers/video_maker.h"
#include "tests/support/temp_dir.h"

namespace spdld::sample_aspect_test {
namespace {

using namespace spdld::test;

constexpr char kScaling[] = ":flags=bilinear+accurate_rnd+full_chroma_int+full_chroma_inp,format=rgb24";

// Slowly changing colours, coded without loss, with samples of this aspect.
Bytes stretched(const TempDir& folder, const std::string& name, const std::string& aspect,
                const std::string& encoding = "-c:v ffv1 -level 3", const std::string& pixels = "yuv444p") {
  const auto path = folder.path() / name;
  run_ffmpeg(
      words_of("-f lavfi -i gradients=size=160x96:rate=10:duration=0.4:n=6:seed=7:speed=0.1:x0=10:y0=5:x1=150:y1=90:c0="
               "0xe02020:c1=0x20c040:c2=0x2040e0:c3=0xe0d030:c4=0x30d0d0:c5=0xc030c0 -vf format=" +
               pixels + ",setsar=" + aspect + " " + encoding + " " + path.string()));
  return bytes_of(path);
}

Bytes shown_by_ffmpeg(const std::filesystem::path& video, const std::string& filter) {
  return run_ffmpeg(words_of("-i " + video.string() + " -vf " + filter +
                             " -sws_flags accurate_rnd+full_chroma_int+full_chroma_inp -f rawvideo -pix_fmt rgb24 -"));
}

const std::string kDecode = "{ op = \"decode-video\", frames = 4, pick = \"start\" }, ";
const std::string kConvert = ", { op = \"convert\", dtype = \"uint8\" }";

}  // namespace

// The bounds hold beside FFmpeg's bilinear scaler. Its default, bicubic, has other weights. Chroma of half the size is
// widened here as libjpeg widens it before it is resampled, and in one step there: the bound is lower with it.
TEST_CASE("samples that are not square are shown as FFmpeg's scale=iw*sar:ih shows them", "[video]") {
  const TempDir folder;
  for (const auto& [aspect, size] : {std::pair{"6/5", "[96, 192]"}, std::pair{"4/5", "[96, 128]"}}) {
    for (const auto& [pixels, bound] : {std::pair{"yuv420p", 44.0}, std::pair{"yuv444p", 50.0}}) {
      const Bytes video = stretched(folder, "v.mkv", aspect, "-c:v ffv1 -level 3", pixels);
      const Bytes wanted = shown_by_ffmpeg(folder.path() / "v.mkv", std::string("scale=iw*sar:ih") + kScaling);
      for (const std::string op : {"center-crop", "resize"}) {
        INFO(aspect << ' ' << op << ' ' << pixels);
        Clips clips(kDecode + "{ op = \"" + op + "\", size = " + size + " }" + kConvert);
        CHECK(psnr(clips.clip(video), wanted) > bound);
      }
    }
    const Bytes video = bytes_of(folder.path() / "v.mkv");
    Clips rows(kDecode + "{ op = \"resize\", filter = \"bicubic\", size = " + size + " }" + kConvert);
    const Bytes bicubic =
        shown_by_ffmpeg(folder.path() / "v.mkv",
                        "scale=iw*sar:ih:flags=bicubic+accurate_rnd+full_chroma_int+full_chroma_inp,format=rgb24");
    CHECK(psnr(rows.clip(video), bicubic) > 45);
  }
}

TEST_CASE("each video is shown by its own aspect, whatever the thread has shown before", "[video]") {
  const TempDir folder;
  std::vector<Bytes> videos;
  for (const std::string aspect : {"6/5", "1/1", "4/5"}) {
    videos.push_back(stretched(folder, "v.mkv", aspect));
    videos.push_back(stretched(folder, "v.ts", aspect, "-c:v libx264 -qp 1 -bf 0"));  // frames alone tell it
  }
  const std::string chain = kDecode + "{ op = \"center-crop\", size = [96, 128] }" + kConvert;
  Clips one(chain);
  for (const size_t second : {0, 3, 1, 2, 5, 4, 3, 0}) {
    Clips alone(chain);
    CHECK((one.clip(videos[second]) == alone.clip(videos[second])));
  }
}

TEST_CASE("a crop with nothing resized behind it lies where it is shown", "[video]") {
  const TempDir folder;
  const Bytes video = stretched(folder, "v.mkv", "6/5");
  const Bytes wanted =
      shown_by_ffmpeg(folder.path() / "v.mkv", std::string("scale=iw*sar:ih") + kScaling + ",crop=52:40:70:28");
  Clips clips(kDecode + "{ op = \"center-crop\", size = [40, 52] }" + kConvert);
  CHECK(psnr(clips.clip(video), wanted) > 45);
  // The part that is outside of the picture is black.
  Clips wide(kDecode + "{ op = \"center-crop\", size = [100, 200] }" + kConvert);
  const Bytes all =
      shown_by_ffmpeg(folder.path() / "v.mkv", std::string("scale=iw*sar:ih") + kScaling + ",pad=200:100:4:2");
  CHECK(psnr(wide.clip(video), all) > 45);
}

TEST_CASE("random crops of samples that are not square are those of the shown picture", "[video]") {
  const TempDir folder;
  const Bytes video = stretched(folder, "v.mkv", "6/5");
  run_ffmpeg(words_of("-i " + (folder.path() / "v.mkv").string() +
                      " -vf scale=iw*sar:ih:flags=bilinear+accurate_rnd,setsar=1 -c:v ffv1 " +
                      (folder.path() / "square.mkv").string()));
  const Bytes square = bytes_of(folder.path() / "square.mkv");
  const std::string crop =
      "{ op = \"random-resized-crop\", size = [32, 40], box = \"box\" }, "
      "{ op = \"horizontal-flip\" }" +
      kConvert;
  Clips clips(kDecode + crop), same(kDecode + crop);
  for (uint64_t sample = 0; sample < 20; ++sample) {
    INFO(sample);
    CHECK(psnr(clips.clip(video, sample), same.clip(square, sample)) > 40);
    CHECK(clips.further(0) == same.further(0));
  }
}

TEST_CASE("frames tell the aspect of their samples where the container does not", "[video]") {
  const TempDir folder;
  const Bytes video = stretched(folder, "v.ts", "6/5", "-c:v libx264 -qp 1 -bf 0", "yuv420p");
  const Bytes wanted = shown_by_ffmpeg(folder.path() / "v.ts", std::string("scale=iw*sar:ih") + kScaling);
  Clips clips(kDecode + "{ op = \"center-crop\", size = [96, 192] }" + kConvert);
  CHECK(psnr(clips.clip(video), wanted) > 44);
}

TEST_CASE("a turned video whose samples are not square is upright, and shown as players show it", "[video]") {
  const TempDir folder;
  stretched(folder, "v.mp4", "6/5", "-c:v libx264 -qp 1 -bf 0", "yuv420p");
  const auto turned = folder.path() / "turned.mp4";
  run_ffmpeg(
      words_of("-i " + (folder.path() / "v.mp4").string() + " -c copy -metadata:s:v:0 rotate=90 " + turned.string()));
  // FFmpeg turns the picture before the filter, and its aspect with it.
  const Bytes wanted = shown_by_ffmpeg(turned, std::string("scale=iw:ih/sar") + kScaling);
  Clips clips(kDecode + "{ op = \"center-crop\", size = [192, 96] }" + kConvert);
  CHECK(psnr(clips.clip(bytes_of(turned)), wanted) > 38);
}

TEST_CASE("square_pixels = false takes the samples as they are stored", "[video]") {
  const TempDir folder;
  const Bytes video = stretched(folder, "v.mkv", "6/5");
  const Bytes wanted = shown_by_ffmpeg(folder.path() / "v.mkv", "null");
  Clips clips(
      "{ op = \"decode-video\", frames = 4, pick = \"start\", square_pixels = false }, "
      "{ op = \"center-crop\", size = [96, 160] }" +
      kConvert);
  CHECK(psnr(clips.clip(video), wanted) > 45);
}

TEST_CASE("the size that is shown is bounded, whatever the aspect claims", "[video]") {
  using video::shown_size;
  CHECK(shown_size({720, 576}, {16, 15}) == Size{768, 576});
  CHECK(shown_size({720, 480}, {8, 9}) == Size{640, 480});
  CHECK(shown_size({720, 480}, {40, 33}) == Size{873, 480});
  CHECK(shown_size({720, 576}, {8, 1}) == Size{5760, 576});
  CHECK(shown_size({3, 3}, {1, 8}) == Size{1, 3});
  for (const auto& [across, down] :
       {std::pair{0, 0}, std::pair{0, 1}, std::pair{1, 0}, std::pair{-4, 3}, std::pair{4, -3}, std::pair{81, 10},
        std::pair{10, 81}, std::pair{INT_MAX, 1}, std::pair{1, INT_MAX}, std::pair{INT_MAX, INT_MAX}}) {
    INFO(across << ':' << down);
    CHECK(shown_size({720, 576}, {across, down}) == Size{720, 576});
  }
  CHECK(shown_size({16384, 4}, {2, 1}) == Size{32768, 4});
  CHECK(shown_size({16385, 4}, {2, 1}) == Size{16385, 4});
  CHECK(shown_size({16000, 8000}, {2, 1}) == Size{16000, 8000});
}

TEST_CASE("a resized part is taken from the nearest stored samples", "[video]") {
  using namespace image;
  Geometry geometry;
  resolve({}, {192, 96}, {}, geometry);
  resize_box({6, 0, 12, 96}, {10, 10}, {}, geometry);
  take_stored({192, 96}, {160, 96}, geometry);
  CHECK(geometry.passes.front().box == Box{5, 0, 10, 96});
  CHECK(geometry.passes.front().size == Size{10, 10});
  // A part that is narrower than a sample still has one.
  resolve({}, {192, 96}, {}, geometry);
  resize_box({191, 0, 1, 96}, {10, 10}, {}, geometry);
  take_stored({192, 96}, {16, 96}, geometry);
  CHECK(geometry.passes.front().box == Box{15, 0, 1, 96});
}

}  // namespace spdld::sample_aspect_test
