// Which frames a clip has: a pure function of the video's times and of the sample's draws.
#include "daemon/media/video/clip_rule.h"

#include <catch2/catch.hpp>
#include <set>

#include "config/checks/load.h"
#include "config/operation.h"

namespace spdld::clip_rule_test {
namespace {

using Catch::Contains;
using Frames = std::vector<uint32_t>;
using Valid = std::vector<size_t>;

config::OperationSpec clip_of(const std::string& words) {
  const auto spec = config::load_pipeline_toml(
      "name = \"t\"\n[source]\ntype = \"image-folder\"\nuri = \"/\"\n[batch]\nsize = 1\n[[output]]\nname = \"clip\"\n"
      "from = \"image\"\nops = [{ op = \"decode-video\", " +
          words + " }, { op = \"resize\", size = [8, 8] }]\n",
      "test.toml");
  INFO(spec.sentences());
  REQUIRE(spec);
  return spec.value->outputs.front().ops.front();
}

// Of rows that are clips.
config::OperationSpec clip_rule_of_row(const std::string& words) {
  config::OperationSpec spec = clip_of(words);
  spec.parameters.insert_or_assign("pick", std::string("row"));
  return spec;
}

// A video whose frames are shown at these moments, in hundredths of a second, and the last of them for 10 of these.
ffmpeg::VideoIndex video_of(const std::vector<int64_t>& times) {
  ffmpeg::VideoIndex index;
  index.tick_s = 0.01;
  for (const int64_t time : times) index.frames.push_back({time, 10, 0});
  return index;
}

ffmpeg::VideoIndex video_of(size_t frames) {
  std::vector<int64_t> times;
  for (size_t i = 0; i < frames; ++i) times.push_back(500 + 10 * static_cast<int64_t>(i));
  return video_of(times);
}

video::Clip clip_in(const ffmpeg::VideoIndex& index, const std::string& words, uint64_t sample = 0) {
  video::Clip clip;
  const Status chosen = video::ClipRule(clip_of(words)).choose(index, {}, {17, 0, sample}, clip);
  INFO((chosen ? "" : chosen.error().message));
  REQUIRE(chosen);
  return clip;
}

TEST_CASE("a clip at the start, and in the middle", "[video]") {
  const auto index = video_of(11);
  CHECK(clip_in(index, "frames = 3, stride = 2, pick = \"start\"").frames == Frames{0, 2, 4});
  CHECK(clip_in(index, "frames = 3, stride = 2, pick = \"center\"").frames == Frames{3, 5, 7});
  CHECK(clip_in(index, "frames = 11, pick = \"center\"").frames == Frames{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
}

TEST_CASE("random clips begin at each frame at which they fit, and nowhere else", "[video]") {
  const auto index = video_of(9);
  std::set<uint32_t> starts;
  for (uint64_t sample = 0; sample < 200; ++sample) {
    const video::Clip clip = clip_in(index, "frames = 3, stride = 2", sample);
    CHECK(clip.valid == Valid{3});
    CHECK(clip.frames[1] == clip.frames[0] + 2);
    CHECK(clip.frames[2] == clip.frames[0] + 4);
    starts.insert(clip.frames[0]);
  }
  CHECK(starts == std::set<uint32_t>{0, 1, 2, 3, 4});
}

TEST_CASE("outputs that name one draw have one clip", "[video]") {
  const auto index = video_of(1000);
  const Frames one = clip_in(index, "frames = 2, draw = \"a\"").frames;
  CHECK(clip_in(index, "frames = 2, draw = \"a\"").frames == one);
  CHECK(clip_in(index, "frames = 2, draw = \"b\"").frames != one);
}

TEST_CASE("a clip that is longer than its video", "[video]") {
  const auto index = video_of(4);
  const video::Clip repeated = clip_in(index, "frames = 4, stride = 2");
  CHECK(repeated.frames == Frames{0, 2, 3, 3});
  CHECK(repeated.valid == Valid{2});
  CHECK(clip_in(index, "frames = 4, stride = 2, beyond = \"wrap\"").frames == Frames{0, 2, 0, 2});
  video::Clip clip;
  const Status refused =
      video::ClipRule(clip_of("frames = 4, stride = 2, beyond = \"bad\"")).choose(index, {}, {}, clip);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().trouble == Trouble::kContent);
  CHECK_THAT(refused.error().message, Contains("the video has 4 frames, and the clip takes 7"));
}

TEST_CASE("frames of the whole video", "[video]") {
  CHECK(clip_in(video_of(9), "frames = 3, pick = \"uniform\"").frames == Frames{0, 4, 8});
  CHECK(clip_in(video_of(2), "frames = 3, pick = \"uniform\"").frames == Frames{0, 0, 1});
  std::set<uint32_t> firsts, seconds;
  for (uint64_t sample = 0; sample < 200; ++sample) {
    const Frames frames = clip_in(video_of(9), "frames = 2, pick = \"segments\"", sample).frames;
    firsts.insert(frames[0]), seconds.insert(frames[1]);
  }
  CHECK(firsts == std::set<uint32_t>{0, 1, 2, 3});
  CHECK(seconds == std::set<uint32_t>{4, 5, 6, 7, 8});
  CHECK(clip_in(video_of(1), "frames = 3, pick = \"segments\"").frames == Frames{0, 0, 0});
}

// Each frame is shown until the next one begins.
TEST_CASE("frames by the moments at which they are shown", "[video]") {
  const auto even = video_of(10);  // 10 frames a second
  CHECK(clip_in(even, "frames = 3, fps = 5, pick = \"start\"").frames == Frames{0, 2, 4});
  CHECK(clip_in(even, "frames = 5, fps = 20, pick = \"start\"").frames == Frames{0, 0, 1, 1, 2});
  CHECK(clip_in(even, "frames = 2, fps = 4, pick = \"center\"").frames == Frames{2, 5});  // at 0.25 s and 0.5 s
  const auto varying = video_of({0, 10, 50, 60, 90});
  CHECK(clip_in(varying, "frames = 5, fps = 5, pick = \"start\"").frames == Frames{0, 1, 1, 3, 3});
}

TEST_CASE("moments behind the end of the video", "[video]") {
  const auto index = video_of(4);  // 0.4 s
  const video::Clip repeated = clip_in(index, "frames = 4, fps = 5");
  CHECK(repeated.frames == Frames{0, 2, 3, 3});
  CHECK(repeated.valid == Valid{2});
  CHECK(clip_in(index, "frames = 4, fps = 5, beyond = \"wrap\"").frames == Frames{0, 2, 0, 2});
  video::Clip clip;
  const Status refused = video::ClipRule(clip_of("frames = 4, fps = 5, beyond = \"bad\"")).choose(index, {}, {}, clip);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().message, Contains("the video has 0.40 s, and the clip takes more than 0.60 s"));
}

TEST_CASE("several clips of a video", "[video]") {
  const auto index = video_of(11);
  const video::Clip start = clip_in(index, "frames = 2, stride = 2, clips = 3, pick = \"start\"");
  CHECK(start.frames == Frames{0, 2, 4, 6, 8, 10});
  CHECK(start.valid == Valid{2, 2, 2});
  const video::Clip beyond = clip_in(index, "frames = 2, stride = 3, clips = 3, pick = \"start\"");
  CHECK(beyond.frames == Frames{0, 3, 6, 9, 10, 10});
  CHECK(beyond.valid == Valid{2, 2, 0});
  CHECK(clip_in(index, "frames = 2, stride = 2, clips = 2, pick = \"center\"").frames == Frames{2, 4, 6, 8});
  CHECK(clip_in(index, "frames = 2, fps = 5, clips = 2, pick = \"start\"").frames == Frames{0, 2, 4, 6});
  CHECK(clip_in(index, "frames = 2, fps = 10, clips = 3, pick = \"center\"").frames == Frames{1, 2, 4, 5, 7, 8});
  video::Clip clip;
  const video::ClipRule rule(clip_of("frames = 2, stride = 3, clips = 3, pick = \"start\", beyond = \"bad\""));
  const Status refused = rule.choose(index, {}, {}, clip);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().message, Contains("the video has 11 frames, and the clip takes 16"));
}

TEST_CASE("several clips at random have draws of their own", "[video]") {
  const auto index = video_of(1000);
  const Frames one = clip_in(index, "frames = 1").frames, all = clip_in(index, "frames = 1, clips = 4").frames;
  REQUIRE(all.size() == 4);
  CHECK(all[0] == one[0]);
  CHECK(std::set<uint32_t>(all.begin(), all.end()).size() == 4);
  const Frames moments = clip_in(index, "frames = 1, fps = 5, clips = 4").frames;
  CHECK(std::set<uint32_t>(moments.begin(), moments.end()).size() == 4);
}

TEST_CASE("key frames alone", "[video]") {
  auto index = video_of(12);
  for (uint32_t i = 0; i < 12; ++i) {
    index.packets.push_back({.frame = i, .is_key = i % 4 == 0});
    index.frames[i].packet = i;
  }
  CHECK(clip_in(index, "frames = 3, pick = \"start\", key_frames = true").frames == Frames{0, 4, 8});
  CHECK(clip_in(index, "frames = 2, stride = 2, pick = \"center\", key_frames = true").frames == Frames{0, 8});
  CHECK(clip_in(index, "frames = 5, pick = \"uniform\", key_frames = true").frames == Frames{0, 0, 4, 8, 8});
  const video::Clip beyond = clip_in(index, "frames = 4, pick = \"start\", key_frames = true");
  CHECK(beyond.frames == Frames{0, 4, 8, 8});
  CHECK(beyond.valid == Valid{3});
  video::Clip clip;
  const video::ClipRule rule(clip_of("frames = 4, key_frames = true, beyond = \"bad\""));
  CHECK_THAT(rule.choose(index, {}, {}, clip).error().message, Contains("the video has 3 key frames, and"));
  for (ffmpeg::VideoPacket& packet : index.packets) packet.is_key = false;
  CHECK(clip_in(index, "frames = 2, key_frames = true").frames == Frames{0, 0});
}

video::Clip clip_in_part(const ffmpeg::VideoIndex& index, const media::TimePart& part, const std::string& words,
                         uint64_t sample = 0) {
  video::Clip clip;
  const Status chosen = video::ClipRule(clip_of(words)).choose(index, part, {17, 0, sample}, clip);
  INFO((chosen ? "" : chosen.error().message));
  REQUIRE(chosen);
  return clip;
}

TEST_CASE("the clip of a row begins where the row says, and the last one may be short", "[video]") {
  const auto index = video_of(11);  // of 1.1 s
  const auto clip_at = [&](const std::string& words, const RowPart& row) {
    video::Clip clip;
    const Status chosen = video::ClipRule(clip_rule_of_row(words)).choose(index, {}, {}, clip, row);
    INFO((chosen ? "" : chosen.error().message));
    REQUIRE(chosen);
    return clip;
  };
  const RowPart frames{.start = 6, .length = 11};
  CHECK(clip_at("frames = 3, stride = 2", frames).frames == Frames{6, 8, 10});
  const video::Clip shorter = clip_at("frames = 4, stride = 2", frames);
  CHECK(shorter.frames == Frames{6, 8, 10, 10});
  CHECK(shorter.valid == Valid{3});
  CHECK(clip_at("frames = 4, stride = 2, beyond = \"wrap\"", frames).frames == Frames{6, 8, 10, 1});
  const RowPart moments{.start = 0.8, .length = 1'100'000'000};
  const video::Clip by_rate = clip_at("frames = 3, fps = 5", moments);
  CHECK(by_rate.frames == Frames{8, 10, 10});
  CHECK(by_rate.valid == Valid{2});
}

TEST_CASE("a video whose clips were counted at another length is bad content", "[video]") {
  const auto index = video_of(11);
  video::Clip clip;
  for (const std::string words : {"frames = 2", "frames = 2, fps = 5"}) {
    const Status refused =
        video::ClipRule(clip_rule_of_row(words)).choose(index, {}, {}, clip, {.start = 0, .length = 12});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().trouble == Trouble::kContent);
    CHECK_THAT(refused.error().message, Contains("for which its clips were counted"));
  }
}

// Its first frame is shown at 5 s by the container, which is its moment 0.
TEST_CASE("clips of a part of a video", "[video]") {
  auto index = video_of(20);  // 2 s
  for (uint32_t i = 0; i < 20; ++i) {
    index.packets.push_back({.frame = i, .is_key = i % 5 == 0});
    index.frames[i].packet = i;
  }
  const media::TimePart part{0.45, 1.2};  // frames 5 to 11
  CHECK(clip_in_part(index, part, "frames = 3, stride = 2, pick = \"start\"").frames == Frames{5, 7, 9});
  CHECK(clip_in_part(index, part, "frames = 3, stride = 2, pick = \"center\"").frames == Frames{6, 8, 10});
  CHECK(clip_in_part(index, part, "frames = 3, pick = \"uniform\"").frames == Frames{5, 8, 11});
  CHECK(clip_in_part(index, part, "frames = 3, pick = \"start\", key_frames = true").frames == Frames{5, 10, 10});
  const video::Clip repeated = clip_in_part(index, part, "frames = 4, stride = 3, pick = \"start\"");
  CHECK(repeated.frames == Frames{5, 8, 11, 11});
  CHECK(repeated.valid == Valid{3});
  CHECK(clip_in_part(index, part, "frames = 4, stride = 3, beyond = \"wrap\"").frames == Frames{5, 8, 11, 7});
  std::set<uint32_t> starts;
  for (uint64_t sample = 0; sample < 200; ++sample)
    starts.insert(clip_in_part(index, part, "frames = 3, stride = 2", sample).frames[0]);
  CHECK(starts == std::set<uint32_t>{5, 6, 7});
  CHECK(clip_in_part(index, {1.9}, "frames = 2, pick = \"start\"").frames == Frames{19, 19});
  CHECK(clip_in_part(index, {0, 0.1}, "frames = 2").frames == Frames{0, 0});
}

// The frame that is shown at the part's start has begun before it.
TEST_CASE("moments of a part of a video", "[video]") {
  const auto index = video_of(20);
  const media::TimePart part{0.45, 1.2};
  CHECK(clip_in_part(index, part, "frames = 3, fps = 5, pick = \"start\"").frames == Frames{4, 6, 8});
  CHECK(clip_in_part(index, part, "frames = 2, fps = 4, pick = \"center\"").frames == Frames{5, 8});  // from 0.575 s on
  const video::Clip repeated = clip_in_part(index, part, "frames = 4, fps = 4, pick = \"start\"");
  CHECK(repeated.frames == Frames{4, 7, 9, 11});
  CHECK(repeated.valid == Valid{3});
  for (uint64_t sample = 0; sample < 50; ++sample) {
    const Frames frames = clip_in_part(index, part, "frames = 2, fps = 4", sample).frames;
    CHECK(frames[0] >= 4);
    CHECK(frames[1] <= 11);
  }
}

TEST_CASE("a part without frames is bad content", "[video]") {
  const auto index = video_of(20);
  video::Clip clip;
  for (const media::TimePart& part : {media::TimePart{2.5, 3}, media::TimePart{0.41, 0.49}}) {
    const Status refused = video::ClipRule(clip_of("frames = 2")).choose(index, part, {}, clip);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().trouble == Trouble::kContent);
    CHECK_THAT(refused.error().message, Contains("no frame of the video's 2.00 s begins from"));
  }
}

}  // namespace
}  // namespace spdld::clip_rule_test
