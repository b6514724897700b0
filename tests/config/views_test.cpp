// Outputs that share one geometry: who leads, who follows, and what is refused.
#include "config/views.h"

#include "config/operation.h"
#include "config/spec.h"
#include "tests/config/expect.h"

namespace spdld::config::views_test {
namespace {

const std::string kHead =
    "name = \"t\"\n[source]\ntype = \"webdataset\"\nuri = \"/d/a.tar\"\n[batch]\nsize = 1\n";  // 6 lines

// An output takes 5 lines: [[output]], name, from, view, ops.
std::string output(const std::string& name, const std::string& view, const std::string& ops) {
  return "[[output]]\nname = \"" + name + "\"\nfrom = \"" + name + "\"\n" +
         (view.empty() ? "" : "view = \"" + view + "\"") + "\nops = [" + ops + "]\n";
}
Loaded<PipelineSpec> load(const std::string& outputs) {
  return load_pipeline_toml(kHead + outputs, "p.toml", "/files");
}

const std::string kDecode = "{ op = \"decode-image\" }";
const std::string kPicture =
    kDecode + ", { op = \"random-resized-crop\", size = [24, 32] }, { op = \"horizontal-flip\" }";
const std::string kMask = "{ op = \"decode-mask\" }";

TEST_CASE("a mask has the size of its view's picture, whichever of them is written first", "[config]") {
  for (const bool mask_first : {false, true}) {
    const std::string picture = output("jpg", "a", kPicture), mask = output("png", "a", kMask);
    const auto loaded = load(mask_first ? mask + picture : picture + mask);
    INFO(loaded.sentences());
    REQUIRE(loaded);
    const auto& outputs = loaded.value->outputs;
    const OutputSpec& follower = outputs[mask_first ? 0 : 1];
    const auto frame = frame_of(outputs, follower);
    REQUIRE(frame);
    CHECK(frame->height == Dimension(24));
    CHECK(frame->width == Dimension(32));
    CHECK_FALSE(frame_of(outputs, outputs[mask_first ? 1 : 0]));
    Signature start = start_of(follower.ops);
    set_frame(start, frame);
    CHECK(follow(follower.ops, start).end() == tensor(DType::kUint8, {24, 32}));
    CHECK(views_of(outputs).order == (mask_first ? std::vector<size_t>{1, 0} : std::vector<size_t>{0, 1}));
  }
}

TEST_CASE("views are numbered, and outputs without one keep their order", "[config]") {
  const auto loaded = load(output("m", "b", kMask) + output("cls", "", "{ op = \"parse-int\" }") +
                           output("x", "a", kPicture) + output("y", "b", kPicture) + output("n", "a", kMask));
  INFO(loaded.sentences());
  REQUIRE(loaded);
  const Views views = views_of(loaded.value->outputs);
  using Number = std::optional<size_t>;
  CHECK(views.number == std::vector<Number>{0, std::nullopt, 1, 0, 1});
  CHECK(views.order == std::vector<size_t>{1, 2, 3, 0, 4});
  CHECK(views.faults.empty());
}

TEST_CASE("a view has exactly one leader", "[config]") {
  expect_complaints(load(output("m", "a", kMask) + output("n", "a", kMask)),
                    {{10, "output[0].view", "a view without a leader"}});
  expect_complaints(load(output("x", "a", kPicture) + output("y", "a", kPicture)),
                    {{15, "output[1].view", "has a leader already: output \"x\""}});
  expect_complaints(load(output("x", "b", kPicture) + output("m", "a", kMask)),
                    {{15, "output[1].view", "begin with decode-image"}});
}

TEST_CASE("a follower has no geometry of its own", "[config]") {
  expect_complaints(load(output("x", "a", kPicture) + output("m", "a", kMask + ", { op = \"horizontal-flip\" }")),
                    {{16, "output[1].ops[1]", "takes the geometry of the leader of view \"a\""},
                     {16, "output[1].ops[1]", "can't follow"}});
  expect_complaints(load(output("x", "a", kPicture) + output("cls", "a", "{ op = \"parse-int\" }")),
                    {{15, "output[1].view", "does nothing for this output"}});
  expect_complaints(load(output("x", "", kPicture) + output("m", "", kMask)),
                    {{16, "output[1].ops[0]", "decode-mask takes the geometry of a view's leader"}});
  expect_complaints(load(output("x", "a", kPicture) + output("m", "a b", kMask)),
                    {{15, "output[1].view", "must be 1 to 64 letters"}, {15, "output[1].view", "without a leader"}});
}

TEST_CASE("a leader without a fixed size is complained about, and its mask is not", "[config]") {
  expect_complaints(load(output("x", "a", kDecode + ", { op = \"resize\", size = 9 }") + output("m", "a", kMask)),
                    {{11, "output[0].ops", "whose size is not fixed"}});
  expect_complaints(load(output("x", "a", kDecode + ", { op = \"center-crop\", size = 0 }") + output("m", "a", kMask)),
                    {{11, "output[0].ops[1].size", "from 1"}});
}

TEST_CASE("a list keeps the rows of boxes or points of its own view", "[config]") {
  const std::string ragged = "ragged = true\nlength_max = 9\n";  // 2 more lines
  const std::string leader = output("x", "a", kPicture), boxes = output("b", "a", "{ op = \"boxes\" }") + ragged;
  const auto keep = [&](const std::string& of, const std::string& name = "c", const std::string& view = "a") {
    return output(name, view, "{ op = \"keep-with\", of = \"" + of + "\" }") + ragged;
  };
  const auto good = load(keep("b") + boxes + leader);
  INFO(good.sentences());
  REQUIRE(good);
  CHECK(views_of(good.value->outputs).order == std::vector<size_t>{2, 1, 0});
  const std::string none = "must keep the rows of an output of the same view with boxes or points";
  for (const char* of : {"x", "c", "nobody"})
    expect_complaints(load(leader + boxes + keep(of)), {{23, "output[2].ops[0]", none}});
  expect_complaints(load(leader + boxes + keep("b") + keep("c", "d")), {{30, "output[3].ops[0]", none}});
  expect_complaints(load(leader + boxes + output("y", "z", kPicture) + keep("b", "c", "z")),
                    {{28, "output[3].ops[0]", none}});
  expect_complaints(load(leader + boxes + keep("")), {{23, "output[2].ops[0].of", "must be the name of an output"}});
}

TEST_CASE("a crop by boxes asks for the boxes of its own view", "[config]") {
  const std::string ragged = "ragged = true\nlength_max = 9\n";  // 2 more lines
  const auto leader = [](const std::string& crops, const std::string& view = "a") {
    return output("x", view, kDecode + crops + ", { op = \"resize\", size = [8, 9] }");
  };
  const auto crop = [](const std::string& boxes) {
    return ", { op = \"random-iou-crop\", boxes = \"" + boxes + "\" }";
  };
  const std::string boxes = output("b", "a", "{ op = \"boxes\" }") + ragged,
                    others = output("o", "a", "{ op = \"boxes\" }") + ragged,
                    points = output("p", "a", "{ op = \"points\" }") + ragged;
  const auto good = load(boxes + leader(crop("b") + ", { op = \"horizontal-flip\" }" + crop("b")) + others);
  INFO(good.sentences());
  REQUIRE(good);
  CHECK(views_of(good.value->outputs).asked == std::vector<size_t>{0});
  CHECK(views_of(good.value->outputs).order == std::vector<size_t>{1, 0, 2});
  CHECK(views_of(load(leader("") + boxes).value->outputs).asked.empty());
  const std::string none = "must ask for an output of the same view with boxes";
  for (const char* of : {"x", "p", "nobody"})
    expect_complaints(load(leader(crop(of)) + boxes + points), {{11, "output[0].ops[1]", none}});
  expect_complaints(load(leader(crop("b"), "z") + boxes + output("y", "a", kPicture)),
                    {{11, "output[0].ops[1]", none}});
  expect_complaints(load(leader(crop("b") + crop("o")) + boxes + others),
                    {{11, "output[0].ops[2]", "of output \"b\", not \"o\""}});
  expect_complaints(load(leader(crop("b"), "") + output("y", "a", kPicture) + boxes),
                    {{11, "output[0].ops[1]", "random-iou-crop takes the boxes of a view"}});
  const std::string held =
      ", { op = \"random-apply\", ops = [{ op = \"invert\" }" + crop("p") + ", { op = \"resize\", size = [8, 9] }] }";
  CHECK_THAT(load(leader(", { op = \"resize\", size = [8, 9] }" + held) + boxes + points).sentences(),
             Catch::Contains(none));
}

TEST_CASE("the parameters of a crop by boxes", "[config]") {
  const auto with = [](const std::string& parameters) {
    return load(
        output("x", "a",
               kDecode + ", { op = \"random-iou-crop\"" + parameters + " }, " + "{ op = \"resize\", size = [8, 9] }") +
        output("b", "a", "{ op = \"boxes\" }") + "ragged = true\nlength_max = 9\n");
  };
  CHECK(with(", boxes = \"b\", min_scale = 0.5, max_scale = 0.5, sampler_options = 0.5"));
  expect_complaints(with(", boxes = \"b\", min_scale = 0.8, max_scale = 0.5"),
                    {{11, "output[0].ops[1].min_scale", "at most max_scale"}});
  expect_complaints(with(", boxes = \"b\", min_aspect_ratio = 3"),
                    {{11, "output[0].ops[1].min_aspect_ratio", "at most max_aspect_ratio"}});
  expect_complaints(with(", boxes = \"b\", min_scale = 0"), {{11, "output[0].ops[1].min_scale", "above 0"}});
  expect_complaints(with(", boxes = \"b\", sampler_options = [0, 1.5]"),
                    {{11, "output[0].ops[1].sampler_options", "from 0 to 1"}});
}

TEST_CASE("no view has an operation that blends geometries", "[config]") {
  const std::string mix = "{ op = \"aug-mix\" }";
  const auto with = [](const std::string& view, const std::string& op) {
    return load(output("x", view, std::string(kPicture) + ", " + op));
  };
  CHECK(with("", mix));
  CHECK(with("a", "{ op = \"rand-augment\" }"));
  const std::string held = "{ op = \"random-apply\", ops = [{ op = \"invert\" }, " + mix + "] }";
  for (const std::string& op : {mix, held}) {
    const auto loaded = with("a", op);
    REQUIRE_FALSE(loaded);
    CHECK_THAT(loaded.sentences(), Catch::Contains("aug-mix blends pictures"));
  }
}

TEST_CASE("the parameters of a mask", "[config]") {
  const auto with = [](const std::string& parameters) {
    return load(output("x", "a", kPicture) + output("m", "a", "{ op = \"decode-mask\", " + parameters + " }"));
  };
  CHECK(with("fill = 255"));
  CHECK(with("dtype = \"int64\", fill = 65535"));
  expect_complaints(with("fill = 256"), {{16, "output[1].ops[0].fill", "at most 255 with dtype \"uint8\""}});
  expect_complaints(with("dtype = \"float32\""), {{16, "output[1].ops[0].dtype", "\"uint16\""}});
  const std::string colours = "colours = [\"#000000\", \"#80FF00\"]";
  CHECK(with(colours));
  CHECK(with(colours + ", other = 255"));
  CHECK(with("colours_file = \"classes.txt\""));
  CHECK(canonical_json(*with("fill = 3").value) == canonical_json(*with("fill = 3, other = -1, colours = []").value));
  expect_complaints(with("colours = [\"#000000\", \"red\"]"),
                    {{16, "output[1].ops[0].colours", "must be texts such as \"#800000\", not \"red\""}});
  expect_complaints(with(colours + ", colours_file = \"classes.txt\""),
                    {{16, "output[1].ops[0].colours_file", "can't stand beside colours"}});
  expect_complaints(with("other = 1"), {{16, "output[1].ops[0].other", "is for masks in colours"}});
  expect_complaints(with(colours + ", other = 256"),
                    {{16, "output[1].ops[0].other", "at most 255 with dtype \"uint8\""}});
}

TEST_CASE("a view is a part of the fingerprint, and a spec without one has its old text", "[config]") {
  const auto with = load(output("x", "a", kPicture)), without = load(output("x", "", kPicture));
  REQUIRE(with);
  REQUIRE(without);
  CHECK_THAT(canonical_json(*with.value), Catch::Contains("\"view\":\"a\""));
  CHECK_THAT(canonical_json(*without.value), !Catch::Contains("view"));
  const auto again = load_pipeline_json(full_json(*with.value), "j");
  REQUIRE(again);
  CHECK(canonical_json(*again.value) == canonical_json(*with.value));
}

}  // namespace
}  // namespace spdld::config::views_test
