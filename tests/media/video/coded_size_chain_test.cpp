// decode-video on videos whose container tells another size than the coded one, and on videos that change on the way.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <fstream>

#include "tests/media/video/clips.h"
#include "tests/support/makers/video_maker.h"
#include "tests/support/temp_dir.h"

namespace spdld::coded_size_chain_test {
namespace {

using namespace spdld::test;

const std::string kConvert = ", { op = \"convert\", dtype = \"uint8\" }";

// The size in the first sample entry of MP4: behind the name, the version and the count of its box, its own length and
// name, and 24 bytes.
Bytes with_other_size(Bytes file) {
  constexpr std::string_view kBox = "stsd";
  const auto at = std::search(file.begin(), file.end(), kBox.begin(), kBox.end());
  REQUIRE(at != file.end());
  const auto size = at + 12 + 32;
  size[0] = 0, size[1] = 200, size[2] = 0, size[3] = 90;
  return file;
}

Bytes joined(const TempDir& folder, const std::vector<std::string>& encodings) {
  std::ofstream list(folder.path() / "list.txt");
  for (size_t i = 0; i < encodings.size(); ++i) {
    const std::string name = "part" + std::to_string(i) + ".ts";
    run_ffmpeg(words_of("-f lavfi -i testsrc2=size=160x96:rate=25:duration=0.8 " + encodings[i] + " " +
                        (folder.path() / name).string()));
    list << "file " << name << "\n";
  }
  list.close();
  const auto path = folder.path() / "joined.ts";
  run_ffmpeg(words_of("-f concat -safe 0 -i " + (folder.path() / "list.txt").string() + " -c copy " + path.string()));
  return bytes_of(path);
}

// Each frame of random clips is that of the clip of all frames.
void check_random_clips(const Bytes& video, const std::string& decode, const std::string& operations) {
  constexpr size_t kFrames = 40;
  Clips all("{ op = \"decode-video\", frames = 40, pick = \"start\", beyond = \"bad\"" + decode + " }, " + operations);
  Clips some("{ op = \"decode-video\", frames = 3, stride = 2, times = \"times\"" + decode + " }, " + operations);
  const Bytes whole = all.clip(video);
  const auto bytes = static_cast<ptrdiff_t>(whole.size() / kFrames);
  int behind = 0;
  for (uint64_t sample = 0; sample < 20; ++sample) {
    const Bytes clip = some.clip(video, sample);
    std::array<double, 3> times;
    std::memcpy(times.data(), some.further(0).data(), sizeof times);
    behind += times.front() > 0.79 ? 1 : 0;  // where the second part begins
    for (size_t i = 0; i < times.size(); ++i) {
      const auto frame = static_cast<ptrdiff_t>(std::lround(25 * times[i]));
      INFO("sample " << sample << ", frame " << frame);
      const auto own = clip.begin() + static_cast<ptrdiff_t>(i) * bytes;
      CHECK(std::equal(own, own + bytes, whole.begin() + frame * bytes));
    }
  }
  CHECK(behind > 0);
}

const std::string kX264 = "-c:v libx264 -g 8 -bf 2 -pix_fmt ";

TEST_CASE("clips behind a change of size or pixels have the frames of the whole video", "[video]") {
  const TempDir folder;
  const std::string resize = "{ op = \"resize\", size = [96, 160] }" + kConvert;
  check_random_clips(joined(folder, {kX264 + "yuv420p", kX264 + "yuv420p -s 96x64"}), "", resize);
  check_random_clips(joined(folder, {kX264 + "yuv420p", kX264 + "yuv444p"}), "", resize);
  check_random_clips(joined(folder, {kX264 + "yuv422p10le", kX264 + "yuv420p -s 200x120"}), "", resize);
}

TEST_CASE("clips behind a change have the first frame's shape of samples", "[video]") {
  const TempDir folder;
  const Bytes video = joined(folder, {kX264 + "yuv420p -vf setsar=6/5", kX264 + "yuv420p -vf scale=96:64,setsar=1"});
  check_random_clips(video, "", "{ op = \"center-crop\", size = [96, 192] }" + kConvert);
}

// The first part has no fields, and the second part's are as the decoder flags them.
TEST_CASE("interlaced frames behind a change are deinterlaced in any clip", "[video]") {
  const TempDir folder;
  const std::string mpeg2 = "-c:v mpeg2video -g 8 -bf 0 -q:v 3";
  const Bytes video = joined(folder, {mpeg2, mpeg2 + " -s 160x48 -flags +ildct+ilme -top 1"});
  const std::string resize = "{ op = \"resize\", size = [96, 160] }" + kConvert;
  for (const std::string way : {"deinterlace", "keep"})
    check_random_clips(video, ", interlaced = \"" + way + "\"", resize);
  Clips parted("{ op = \"decode-video\", frames = 40, pick = \"start\" }, " + resize),
      woven("{ op = \"decode-video\", frames = 40, pick = \"start\", interlaced = \"keep\" }, " + resize);
  const Bytes a = parted.clip(video), b = woven.clip(video);
  const auto half = static_cast<ptrdiff_t>(a.size() / 2);
  CHECK(std::equal(a.begin(), a.begin() + half, b.begin()));
  CHECK_FALSE(std::equal(a.begin() + half, a.end(), b.begin() + half));
}

TEST_CASE("a video has its coded size, whatever its container says, also where it is turned", "[video]") {
  const TempDir folder;
  const auto straight = folder.path() / "v.mp4", turned = folder.path() / "turned.mp4";
  make_video(straight, "160x96", "25", 1, kX264 + "yuv420p");
  run_ffmpeg(words_of("-i " + straight.string() + " -c copy -metadata:s:v:0 rotate=90 " + turned.string()));
  const std::string decode = "{ op = \"decode-video\", frames = 4, stride = 5, pick = \"start\" }, ";
  for (const auto& [path, size] : {std::pair{straight, "[96, 160]"}, std::pair{turned, "[160, 96]"}}) {
    Clips clips(decode + "{ op = \"center-crop\", size = " + size + " }" + kConvert);
    const Bytes wanted = clips.clip(bytes_of(path));
    CHECK(clips.clip(with_other_size(bytes_of(path))) == wanted);
    Clips drawn(decode + "{ op = \"random-resized-crop\", size = [32, 32], box = \"box\" }" + kConvert);
    const Bytes own = drawn.clip(bytes_of(path), 3), box = drawn.further(0);
    CHECK(drawn.clip(with_other_size(bytes_of(path)), 3) == own);
    CHECK(drawn.further(0) == box);
  }
}

// The index needs the first frame, so that it is read where the clip lies elsewhere.
TEST_CASE("a clip of parts of a video whose container tells another size is that of the file", "[video]") {
  const TempDir folder;
  const auto path = folder.path() / "v.mp4";
  make_video(path, "160x96", "25", 4, kX264 + "yuv420p -vf noise=alls=60:allf=t");
  const Bytes file = with_other_size(bytes_of(path));
  Clips clips("{ op = \"decode-video\", frames = 2, pick = \"center\" }, { op = \"center-crop\", size = [96, 160] }" +
              kConvert);
  const Bytes wanted = clips.clip(file);
  std::vector<ByteRange> ranges;
  Bytes bytes;
  media::Workspace workspace;
  for (int round = 0;; ++round) {
    REQUIRE(round < 6);
    media::Field field{.bytes = {}};
    field.parts.emplace(file.size(), ranges, bytes);
    const Status done = clips.run(field, workspace, 0);
    if (done) break;
    REQUIRE(done.error().trouble == Trouble::kUnread);
    ranges = field.wanted;
    join_ranges(ranges, 0);
    bytes.clear();
    for (const ByteRange& range : ranges)
      bytes.insert(bytes.end(), file.begin() + static_cast<ptrdiff_t>(range.offset),
                   file.begin() + static_cast<ptrdiff_t>(range.end()));
  }
  CHECK(clips.tensor() == wanted);
}

}  // namespace
}  // namespace spdld::coded_size_chain_test
