// decode-video: its tensors, and what may stand beside it.
#include "config/checks/load.h"
#include "config/operation.h"
#include "config/views.h"
#include "tests/config/expect.h"

namespace spdld::config::video_test {
namespace {

std::string decode(const std::string& more = "") { return "{ op = \"decode-video\", frames = 4" + more + " }, "; }
const std::string kCrop = "{ op = \"center-crop\", size = [6, 9] }";

}  // namespace

TEST_CASE("a clip's frames are the first dimension of its tensor", "[config]") {
  const auto loaded = load_with_ops(decode(", colours = \"grey\"") + kCrop);
  INFO(loaded.sentences());
  REQUIRE(loaded);
  const OutputSpec& output = loaded.value->outputs.front();
  CHECK(follow(output.ops, start_of(output.ops), output.varying.form).end().shape() ==
        std::vector<int64_t>{4, 6, 9, 1});
}

TEST_CASE("several clips, and channels before frames", "[config]") {
  const auto shape_of = [](const std::string& ops) {
    const auto loaded = load_with_ops(ops);
    INFO(loaded.sentences());
    REQUIRE(loaded);
    const OutputSpec& output = loaded.value->outputs.front();
    return follow(output.ops, start_of(output.ops), output.varying.form).end().shape();
  };
  const std::string convert = ", { op = \"convert\", layout = \"NCTHW\" }";
  CHECK(shape_of(decode() + kCrop + convert) == std::vector<int64_t>{3, 4, 6, 9});
  CHECK(shape_of(decode(", clips = 2") + kCrop) == std::vector<int64_t>{2, 4, 6, 9, 3});
  CHECK(shape_of(decode(", clips = 2") + kCrop + convert) == std::vector<int64_t>{2, 3, 4, 6, 9});
  CHECK(shape_of("{ op = \"decode-image\", frames = 5 }, " + kCrop + convert) == std::vector<int64_t>{3, 5, 6, 9});
  expect_complaints(load_with_ops("{ op = \"decode-image\" }, " + kCrop + convert),
                    {{11, "output[0].ops[2]", "has one picture, and layout = \"NCTHW\" is for the frames of a clip"}});
  const auto extras =
      extras_of(load_with_ops(decode(", clips = 2, valid = \"v\", times = \"t\"") + kCrop).value->outputs.front().ops);
  CHECK(extras[0].shape == std::vector<int64_t>{2, 4});
  CHECK(extras[1].shape == std::vector<int64_t>{2});
}

TEST_CASE("a clip tells times and valid frames in tensors of their own", "[config]") {
  const auto loaded = load_with_ops(decode(", valid = \"v\", times = \"t\"") + kCrop);
  REQUIRE(loaded);
  const auto extras = extras_of(loaded.value->outputs.front().ops);
  REQUIRE(extras.size() == 2);
  CHECK(extras[0].name == "t");
  CHECK(extras[0].dtype == DType::kFloat64);
  CHECK(extras[0].shape == std::vector<int64_t>{4});
  CHECK(extras[1].name == "v");
  CHECK(extras[1].dtype == DType::kInt64);
  CHECK(extras[1].shape == std::vector<int64_t>{1});
}

TEST_CASE("what can't stand beside a clip is complained about", "[config]") {
  expect_complaints(load_with_ops("{ op = \"decode-video\" }, " + kCrop),
                    {{11, "output[0].ops[0].frames", "an integer from 1 to 1024"}});
  expect_complaints(load_with_ops(decode(", stride = 2, fps = 5") + kCrop),
                    {{11, "output[0].ops[0].fps", "can't stand beside stride"}});
  for (const char* pick : {"uniform", "segments"}) {
    const std::string spread = std::string(", pick = \"") + pick + "\"";
    expect_complaints(load_with_ops(decode(spread + ", stride = 2") + kCrop),
                      {{11, "output[0].ops[0].stride", "spreads the frames over the whole video"}});
    expect_complaints(load_with_ops(decode(spread + ", fps = 5") + kCrop),
                      {{11, "output[0].ops[0].fps", "spreads the frames over the whole video"}});
  }
  expect_complaints(load_with_ops(decode(", key_frames = true, fps = 5") + kCrop),
                    {{11, "output[0].ops[0].fps", "can't stand beside key_frames"}});
  expect_complaints(load_with_ops(decode(", clips = 2, pick = \"uniform\"") + kCrop),
                    {{11, "output[0].ops[0].clips", "spreads the frames of one clip"}});
  expect_complaints(load_with_ops(decode(", clips = 65") + kCrop), {{11, "output[0].ops[0].clips", "from 1 to 64"}});
  expect_complaints(load_with_ops(decode(", draw = \"a b\"") + kCrop), {{11, "output[0].ops[0].draw", "64 letters"}});
  for (const char* cutting : {"five-crop", "ten-crop", "grid"})
    expect_complaints(load_with_ops(decode() + "{ op = \"" + cutting + "\", size = 6 }"),
                      {{11, "output[0].ops[1]", "can't follow several frames"}});
}

TEST_CASE("the part of a video is told by outputs that begin with parse-float", "[config]") {
  const auto load = [](const std::string& names, const std::string& told) {
    return load_with_ops(decode(names) + kCrop + "]\n[[output]]\nname = \"s\"\nfrom = \"image\"\nops = [" + told);
  };
  CHECK(load(", start = \"s\"", "{ op = \"parse-float\" }"));
  const auto views = views_of(load(", end = \"s\"", "{ op = \"parse-float\" }").value->outputs);
  CHECK(views.asked == std::vector<size_t>{1});
  CHECK(views_of(load("", "{ op = \"parse-float\" }").value->outputs).asked.empty());
  expect_complaints(load(", start = \"t\"", "{ op = \"parse-float\" }"),
                    {{11, "output[0].ops[0]", "must ask for an output that begins with parse-float: \"t\" is none"}});
  expect_complaints(load(", end = \"s\"", "{ op = \"parse-int\" }"),
                    {{11, "output[0].ops[0]", "must ask for an output that begins with parse-float: \"s\" is none"}});
}

TEST_CASE("the sound of a clip asks for an output with one clip", "[config]") {
  const auto load = [](const std::string& clips, const std::string& sound) {
    return load_with_ops(decode(clips) + kCrop + "]\n[[output]]\nname = \"w\"\nfrom = \"image\"\nops = [{ op = " +
                         "\"decode-audio\", rate = 8000, " + sound + " }");
  };
  const auto good = load("", "samples = 800, clip = \"image\"");
  INFO(good.sentences());
  REQUIRE(good);
  CHECK(views_of(good.value->outputs).asked == std::vector<size_t>{0});
  expect_complaints(load("", "samples = 800, clip = \"w\""),
                    {{15, "output[1].ops[0]", "must ask for an output that begins with decode-video: \"w\" is none"}});
  expect_complaints(load(", clips = 2", "samples = 800, clip = \"image\""),
                    {{15, "output[1].ops[0]", "\"image\" has several clips, and the sound is of one"}});
  expect_complaints(load("", "clip = \"image\", pad = \"zeros\""),
                    {{15, "output[1].ops[0].clip", "needs seconds or samples"},
                     {15, "output[1].ops", "gives samples that differ in length"}});
  expect_complaints(load("", "samples = 800, clip = \"image\", pick = \"center\""),
                    {{15, "output[1].ops[0].pick", "begins with the clip"}});
  expect_complaints(load("", "samples = 800, clip = \"image\", start = \"s\""),
                    {{15, "output[1].ops[0].start", "can't stand beside clip"},
                     {15, "output[1].ops[0]", "must ask for an output that begins with parse-float"}});
}

TEST_CASE("a video may be kept decoded", "[config]") { CHECK(find_operation("decode-video")->hindrance == nullptr); }

}  // namespace spdld::config::video_test
