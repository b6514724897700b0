// What the coded data say goes before what the container says of sizes;
// palettes and shapes of samples that come with packets or frames; and reasons
// in words where a video is refused.
#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>

#include "tests/media/ffmpeg/raw_frames.h"
#include "tests/support/temp_dir.h"

namespace spdld::coded_size_test {
namespace {

using namespace spdld::test;
using Catch::Contains;

constexpr Size kSize = {176, 144};

// The first sample entry of MP4, behind the name, the version and the count of
// its box; its size stands behind its own length and name, and 24 bytes.
Bytes::iterator entry_in(Bytes& file) {
  constexpr std::string_view kBox = "stsd";
  const auto at = std::search(file.begin(), file.end(), kBox.begin(), kBox.end());
  REQUIRE(at != file.end());
  return at + 12;
}

Bytes with_size_in_entry(Bytes file, int width, int height) {
  const auto size = entry_in(file) + 32;
  size[0] = static_cast<uint8_t>(width >> 8), size[1] = static_cast<uint8_t>(width);
  size[2] = static_cast<uint8_t>(height >> 8), size[3] = static_cast<uint8_t>(height);
  return file;
}

// PixelWidth and PixelHeight of Matroska, which are one byte each for 176 x
// 144.
Bytes with_size_in_matroska(Bytes file, int width, int height) {
  for (const auto& [id, own, other] : {std::tuple{0xB0, 176, width}, std::tuple{0xBA, 144, height}}) {
    const Bytes element = {static_cast<uint8_t>(id), 0x81, static_cast<uint8_t>(own)};
    const auto at = std::search(file.begin(), file.end(), element.begin(), element.end());
    REQUIRE(at != file.end());
    at[2] = static_cast<uint8_t>(other);
  }
  return file;
}

// The header of a stream of AVI: its bytes, its width, its height.
Bytes with_size_in_avi(Bytes file, uint32_t width, uint32_t height) {
  constexpr std::string_view kHeader = "strf";
  const auto at = std::search(file.begin(), file.end(), kHeader.begin(), kHeader.end());
  REQUIRE(at != file.end());
  std::memcpy(&*at + 12, &width, 4);
  std::memcpy(&*at + 16, &height, 4);
  return file;
}

struct CodedFile {
  std::string name, encoding;
  Raw raw = {kSize, "yuv420p"};
};

const std::vector<CodedFile> kKinds = {
    {"h264.mp4", "-c:v libx264 -g 8 -bf 2 -pix_fmt yuv420p"},
    {"h264-10.mp4", "-c:v libx264 -g 8 -pix_fmt yuv420p10le", {kSize, "yuv420p10le"}},
    {"hevc.mp4", "-c:v libx265 -x265-params keyint=8:log-level=none -pix_fmt yuv420p"},
    {"mpeg4.mp4", "-c:v mpeg4 -g 8"},
    {"vp9.mp4", "-c:v libvpx-vp9 -g 8 -deadline realtime -cpu-used 8 -pix_fmt yuv420p"},
    {"av1.mp4", "-c:v libaom-av1 -g 8 -cpu-used 8 -usage realtime -pix_fmt yuv420p"},
    {"mjpeg.mov", "-c:v mjpeg -q:v 3 -pix_fmt yuvj420p", {kSize, "yuvj420p"}},
    {"png.mov", "-c:v png -pix_fmt rgb24", {kSize, "rgb24"}},
    {"h264.mkv", "-c:v libx264 -g 8 -bf 2 -pix_fmt yuv420p"},
    {"vp8.mkv", "-c:v libvpx -g 8 -b:v 300k"},
    {"mpeg2.mkv", "-c:v mpeg2video -g 8"},
    {"mjpeg.avi", "-c:v mjpeg -q:v 3 -pix_fmt yuvj420p", {kSize, "yuvj420p"}},
    {"mpeg4.avi", "-c:v mpeg4 -g 8"},
};

Bytes with_size(const CodedFile& kind, const Bytes& file, int width, int height) {
  if (kind.name.ends_with(".mkv")) return with_size_in_matroska(file, width, height);
  if (kind.name.ends_with(".avi"))
    return with_size_in_avi(file, static_cast<uint32_t>(width), static_cast<uint32_t>(height));
  return with_size_in_entry(file, width, height);
}

TEST_CASE("the coded size counts where the container tells another one", "[changes]") {
  const TempDir folder;
  for (const CodedFile& kind : kKinds) {
    DYNAMIC_SECTION(kind.name) {
      const auto path = folder.path() / kind.name;
      make_video(path, "176x144", "25", 1, kind.encoding);
      const std::vector<Bytes> whole = frames_by_ffmpeg(path, kind.raw);
      REQUIRE(whole.size() == 25);
      for (const auto& [width, height] : {std::pair{180, 144}, std::pair{176, 164}, std::pair{200, 120}}) {
        INFO(width << " x " << height);
        const Bytes file = with_size(kind, bytes_of(path), width, height);
        REQUIRE((file != bytes_of(path)));
        check_video(file, whole, kind.raw, rounds(12));
        CHECK(check_kept_frames(*ffmpeg::index_video(file), file, whole));
      }
    }
  }
}

TEST_CASE("a container may tell a size beyond all bounds, or none", "[changes]") {
  const TempDir folder;
  const CodedFile& kind = kKinds.front();
  const auto path = folder.path() / kind.name;
  make_video(path, "176x144", "25", 1, kind.encoding);
  const std::vector<Bytes> whole = frames_by_ffmpeg(path, kind.raw);
  for (const auto& [width, height] : {std::pair{0, 0}, std::pair{65'535, 65'535}, std::pair{16, 16}}) {
    INFO(width << " x " << height);
    check_video(with_size(kind, bytes_of(path), width, height), whole, kind.raw, rounds(6));
  }
}

TEST_CASE("a video whose frames can't be decoded has the container's size", "[changes]") {
  const TempDir folder;
  const auto path = folder.path() / "v.mp4";
  make_video(path, "176x144", "25", 1, "-c:v libx264 -g 8 -bf 0 -pix_fmt yuv420p");
  Bytes file = bytes_of(path);
  const auto packets = ffmpeg::index_packets(file);
  REQUIRE(packets);
  for (const ffmpeg::VideoPacket& packet : packets->packets) {
    REQUIRE_FALSE(packet.is_copied);
    std::fill_n(file.begin() + static_cast<ptrdiff_t>(packet.offset), packet.bytes, uint8_t{0x10});
  }
  const auto index = ffmpeg::index_video(file);
  REQUIRE(index);
  CHECK(index->picture == kSize);
  CHECK(index->pixels == ffmpeg::kUnknownPixels);
  ffmpeg::VideoDecoder decoder({});
  const std::vector<uint32_t> wanted = {3};
  const Status decoded =
      decoder.decode(*index, file, wanted, [](uint32_t, ffmpeg::VideoFrame&) { return Status(Done{}); });
  REQUIRE_FALSE(decoded);
  CHECK_THAT(decoded.error().message, Contains("frame 3 of the video") && Contains("its data is damaged"));
  const auto sizeless = ffmpeg::index_video(with_size_in_entry(file, 65'535, 65'535));
  REQUIRE_FALSE(sizeless);
  CHECK_THAT(sizeless.error().message, Contains("its container tells no size that can be meant"));
}

// Palettes come beside the packets. Without them such pictures are black.
TEST_CASE(
    "videos with palettes have their colours, also where each frame has "
    "a palette of its own",
    "[changes]") {
  const TempDir folder;
  const std::string other =
      " -filter_complex "
      "split[a][b];[a]palettegen=stats_mode=single[p];[b][p]paletteuse=new=1";
  for (const auto& [name, encoding] : {std::pair{std::string("smc.mov"), std::string("-c:v smc")},
                                       std::pair{std::string("raw.mov"), std::string("-pix_fmt pal8 -c:v rawvideo")},
                                       std::pair{std::string("raw.avi"), std::string("-pix_fmt pal8 -c:v rawvideo")},
                                       std::pair{std::string("changing.avi"), "-pix_fmt pal8 -c:v rawvideo" + other}}) {
    DYNAMIC_SECTION(name) {
      const auto path = folder.path() / name;
      make_video(path, "176x144", "25", 1, encoding);
      const Raw raw = {kSize, "rgb24"};
      const std::vector<Bytes> whole = frames_by_ffmpeg(path, raw);
      REQUIRE(whole.size() == 25);
      const Bytes file = bytes_of(path);
      check_video(file, whole, raw, rounds(30));
      CHECK(check_kept_frames(*ffmpeg::index_video(file), file, whole));
    }
  }
}

TEST_CASE(
    "the shape of samples is the first frame's where the container does "
    "not tell it",
    "[changes]") {
  const TempDir folder;
  const std::string encoding = "-c:v libx264 -g 6 -pix_fmt yuv420p -vf setsar=";
  make_video(folder.path() / "a.ts", "176x144", "25", 0.4, encoding + "6/5");
  make_video(folder.path() / "b.ts", "176x144", "25", 0.4, encoding + "4/5");
  std::ofstream(folder.path() / "list.txt") << "file a.ts\nfile b.ts\n";
  run_ffmpeg(words_of("-f concat -safe 0 -i " + (folder.path() / "list.txt").string() + " -c copy " +
                      (folder.path() / "ab.ts").string()));
  const auto index = ffmpeg::index_video(bytes_of(folder.path() / "ab.ts"));
  REQUIRE(index);
  CHECK(index->sample_aspect.across == 6);
  CHECK(index->sample_aspect.down == 5);
}

std::string refusal(const Bytes& file) {
  const auto index = ffmpeg::index_video(file);
  REQUIRE_FALSE(index);
  CHECK(index.error().trouble == Trouble::kContent);
  CHECK_THAT(index.error().message, !Contains("damaged"));
  return index.error().message;
}

TEST_CASE("a video that is encrypted or coded in an unknown way is refused in words", "[changes]") {
  const TempDir folder;
  const auto path = folder.path() / "v.mp4";
  const std::string encoding = "-c:v libx264 -g 8 -pix_fmt yuv420p";
  make_video(path, "176x144", "25", 1,
             encoding +
                 " -encryption_scheme cenc-aes-ctr -encryption_key "
                 "76a6c65c5ea762046bd749a2e632ccbb -encryption_kid "
                 "a7e61c373e219033c21091fa607bf3b8");
  CHECK_THAT(refusal(bytes_of(path)), Contains("encrypted"));
  make_video(path, "176x144", "25", 1, encoding);
  Bytes file = bytes_of(path);
  constexpr std::string_view kEntry = "avc1", kUnknown = "qqq1";
  const auto name = entry_in(file) + 4;
  REQUIRE(std::equal(kEntry.begin(), kEntry.end(), name));
  std::copy(kUnknown.begin(), kUnknown.end(), name);
  CHECK_THAT(refusal(file), Contains("coded as \"qqq1\""));
}

std::string reason_of(const Bytes& file, uint32_t frame) {
  const auto index = ffmpeg::index_video(file);
  if (!index) return index.error().message;
  ffmpeg::VideoDecoder decoder({});
  const std::vector<uint32_t> wanted = {frame};
  const Status done =
      decoder.decode(*index, file, wanted, [](uint32_t, ffmpeg::VideoFrame&) { return Status(Done{}); });
  return done ? "" : done.error().message;
}

// A sampling of luma that the decoder does not have: three samples across and down for one of chroma.
TEST_CASE("a feature that the decoder does not know is told as such", "[changes]") {
  const TempDir folder;
  const auto path = folder.path() / "v.avi";
  make_video(path, "176x144", "25", 0.2, "-c:v mjpeg -pix_fmt yuvj420p");
  Bytes file = bytes_of(path);
  const Bytes start = {0xff, 0xc0, 0, 17, 8, 0, 144, 0, 176, 3, 1, 0x22};  // of a frame (ITU-T T.81, B.2.2)
  int changed = 0;
  for (auto at = file.begin(); (at = std::search(at, file.end(), start.begin(), start.end())) != file.end(); ++changed)
    at[11] = 0x33;
  REQUIRE(changed == 5);
  CHECK_THAT(reason_of(file, 1), Contains("uses a feature of Motion JPEG") && !Contains("damaged"));
}

TEST_CASE("a frame that refers to what the file does not have is not called damaged", "[changes]") {
  const TempDir folder;
  const auto path = folder.path() / "v.ts", cut = folder.path() / "cut.ts";
  make_video(path, "176x144", "25", 1.2, "-c:v libx264 -x264-params keyint=15:open-gop=1:bframes=3:scenecut=0");
  const Bytes whole = bytes_of(path);
  // Without the first group of pictures, the frames before the next key frame are shown first.
  const auto index = ffmpeg::index_video(whole);
  REQUIRE(index);
  size_t key = 1;
  while (!index->packets[key].is_key) ++key;
  REQUIRE(index->packets[key].frame > index->packets[key + 1].frame);
  run_ffmpeg(words_of("-i " + path.string() + " -c copy -bsf:v noise=drop=lt(n\\," + std::to_string(key) + ") " +
                      cut.string()));
  CHECK_THAT(reason_of(bytes_of(cut), 0), Contains("frames that the file does not have") && !Contains("damaged"));
}

}  // namespace
}  // namespace spdld::coded_size_test
