// Operations that make several pieces of a picture: their tensors, and what may stand beside them.
#include "config/operation.h"
#include "config/operations/image/picture_grid.h"
#include "config/varying.h"
#include "tests/config/expect.h"

namespace spdld::config::pieces_test {
namespace {

const std::string kDecode = "{ op = \"decode-image\" }, ", kFive = "{ op = \"five-crop\", size = [6, 9] }";

Signature end_of(const std::string& ops) {
  const auto loaded = load_with_ops(kDecode + ops);
  INFO(loaded.sentences());
  REQUIRE(loaded);
  const OutputSpec& output = loaded.value->outputs.front();
  return follow(output.ops, start_of(output.ops), output.varying.form).end();
}

}  // namespace

TEST_CASE("pieces are the first dimension of a tensor", "[config]") {
  const Signature five = end_of(kFive);
  CHECK(five.shape() == std::vector<int64_t>{5, 6, 9, 3});
  CHECK_FALSE(layout_of(five));
  CHECK(end_of("{ op = \"ten-crop\", size = 6 }, { op = \"convert\", layout = \"NCHW\" }").shape() ==
        std::vector<int64_t>{10, 3, 6, 6});
}

TEST_CASE("nothing but the tensor's operation stands behind pieces", "[config]") {
  const std::string then = kDecode + kFive + ", ", pieces = "several pieces of a picture";
  expect_complaints(load_with_ops(then + "{ op = \"horizontal-flip\" }"), {{11, "output[0].ops[2]", pieces}});
  expect_complaints(load_with_ops(then + kFive), {{11, "output[0].ops[2]", pieces}});
  expect_complaints(load_with_ops(then + "{ op = \"random-apply\", ops = [{ op = \"invert\" }] }"),
                    {{11, "output[0].ops[2]", pieces}});
  expect_complaints(load_with_ops(then + "{ op = \"convert\" }, { op = \"random-erasing\" }"),
                    {{11, "output[0].ops[3]", "tensor of one picture"}});
  expect_complaints(load_with_ops(kDecode + "{ op = \"random-apply\", ops = [" + kFive + "] }"),
                    {{11, "output[0].ops[1].ops[0]", "can't be five-crop"}});
}

TEST_CASE("pieces must fit into a picture whose size is known", "[config]") {
  const std::string crop = kDecode + "{ op = \"center-crop\", size = [6, 9] }, ";
  CHECK(load_with_ops(crop + kFive));
  for (const char* size : {"[7, 9]", "[6, 10]"})
    expect_complaints(load_with_ops(crop + "{ op = \"ten-crop\", size = " + size + " }"),
                      {{11, "output[0].ops[2]", "larger than the picture"}});
}

TEST_CASE("no view and no batch operation has pieces", "[config]") {
  const std::string ops = "ops = [" + kDecode + kFive + "]";
  expect_complaints(load_with_line(11, ops + "\nview = \"a\""),
                    {{11, "output[0].ops[1]", "five-crop makes several pieces"}});
  const std::string cutmix = "\n[batch]\nsize = 8\nops = [{ op = \"cutmix\", images = [\"image\"] }]";
  const auto loaded = load_pipeline_toml(
      "name = \"t\"\n[source]\ntype = \"image-folder\"\nuri = \"/\"\n[[output]]\nname = \"image\"\nfrom = "
      "\"image\"\n" +
          ops + cutmix,
      "p.toml");
  REQUIRE_FALSE(loaded);
  CHECK_THAT(loaded.sentences(), Catch::Contains("is no picture"));
}

TEST_CASE("the tiles of a grid differ in number, unless all grids have as many", "[config]") {
  const auto pieces = [](const std::string& parameters, const std::string& form = "\nragged = true") {
    const auto loaded =
        load_with_line(11, "ops = [" + kDecode + "{ op = \"grid\", size = [4, 6], " + parameters + " }]" + form);
    INFO(loaded.sentences());
    REQUIRE(loaded);
    const OutputSpec& output = loaded.value->outputs.front();
    const Signature end = follow(output.ops, start_of(output.ops), output.varying.form).end();
    CHECK(std::vector<Dimension>(end.dimensions.begin() + 1, end.dimensions.end()) == std::vector<Dimension>{4, 6, 3});
    return end.dimensions.front();
  };
  CHECK(pieces("tiles_max = 6") == Dimension::bounded(6));
  CHECK(pieces("tiles_max = 6, thumbnail = \"last\"") == Dimension::bounded(7));
  CHECK(pieces("grids = [\"1x2\", \"3x3\"], thumbnail = \"first\"") == Dimension::bounded(10));
  CHECK(pieces("tiles_max = 1", "") == Dimension(1));
  CHECK(pieces("tiles_max = 1, thumbnail = \"first\"", "") == Dimension(1));
  CHECK(pieces("tiles_max = 1, thumbnail = \"first\", rule = \"resolution\"", "") == Dimension(2));
  CHECK(pieces("grids = \"2x3,6x1\", thumbnail = \"last\"", "") == Dimension(7));
  expect_complaints(load_with_ops(kDecode + "{ op = \"grid\", size = 4 }"),
                    {{11, "output[0].ops", "add pad = \"longest\" or ragged = true"}});
}

TEST_CASE("the parameters of a grid", "[config]") {
  const auto wrong = [](const std::string& parameters, const std::string& key, const std::string& fragment) {
    const auto loaded =
        load_with_line(11, "ops = [" + kDecode + "{ op = \"grid\", size = 32, " + parameters + " }]\nragged = true");
    expect_complaints(loaded, {{11, "output[0].ops[1]" + key, fragment}});
  };
  wrong("tiles_min = 4, tiles_max = 3", ".tiles_min", "at most tiles_max, which is 3");
  wrong("tiles_max = 65", ".tiles_max", "from 1 to 64");
  for (const char* grids : {"2", "2x", "x2", "2x0", "-1x2", "2x2x2", "2 x 2", "65x1", "1x65", "9x8", "a", "2X2"})
    wrong("grids = [\"" + std::string(grids) + "\"]", ".grids", "such as \"2x3\"");
  wrong("grids = [\"2x2\", \"1x2\"], tiles_max = 4", ".grids", "in the place of tiles_min and tiles_max");
  wrong("grids = [\"2x2\", \"1x2\"], tiles_min = 2", ".grids", "in the place of tiles_min and tiles_max");
  const std::string large = "{ op = \"grid\", size = [1, 16384], grids = [\"1x4\", \"1x1\"] }]\nragged = true";
  expect_complaints(load_with_line(11, "ops = [" + kDecode + large),
                    {{11, "output[0].ops[1].size", "longer than 65500 pixels"}});
  wrong("rule = \"other\"", ".rule", "\"aspect\" or \"resolution\"");
  wrong("filter = \"lanczos\", antialias = false", ".antialias", "must be true");
}

TEST_CASE("a grid's further tensor is its shape", "[config]") {
  const auto loaded =
      load_with_line(11, "ops = [" + kDecode + "{ op = \"grid\", size = 32, shape = \"tiles\" }]\nragged = true");
  REQUIRE(loaded);
  CHECK(tensor_names(loaded.value->outputs.front()) == std::vector<std::string>{"image", "tiles", "image.offsets"});
  const auto extras = extras_of(loaded.value->outputs.front().ops);
  REQUIRE(extras.size() == 1);
  CHECK(extras.front().dtype == DType::kInt32);
  CHECK(extras.front().shape == std::vector<int64_t>{4});
}

GridRule rule_of(const std::string& parameters) {
  const auto loaded =
      load_with_line(11, "ops = [" + kDecode + "{ op = \"grid\", size = 100, " + parameters + " }]\nragged = true");
  INFO(loaded.sentences());
  REQUIRE(loaded);
  return GridRule(loaded.value->outputs.front().ops[1]);
}

TEST_CASE("the grid with the closest proportions is taken", "[config]") {
  const GridRule rule = rule_of("tiles_max = 4, thumbnail = \"last\"");
  CHECK(rule.grids() == std::vector<PictureGrid>{{1, 1}, {2, 1}, {1, 2}, {3, 1}, {1, 3}, {4, 1}, {2, 2}, {1, 4}});
  CHECK(rule.choose({100, 100}) == PictureGrid{1, 1});
  CHECK(rule.choose({100, 260}) == PictureGrid{1, 3});
  CHECK(rule.choose({900, 100}) == PictureGrid{4, 1});
  // 1 x 1 and 2 x 2 tiles are equally close: the picture decides by more than half of the pixels of the latter.
  CHECK(rule.choose({141, 141}) == PictureGrid{1, 1});
  CHECK(rule.choose({142, 142}) == PictureGrid{2, 2});
  CHECK_FALSE(rule.has_thumbnail({1, 1}));
  CHECK(rule.pieces({2, 2}) == 5);
}

TEST_CASE("the grid that keeps most of a picture is taken", "[config]") {
  const GridRule rule = rule_of("grids = \"2x2,1x2,3x1\", rule = \"resolution\", thumbnail = \"first\"");
  CHECK(rule.choose({50, 90}) == PictureGrid{1, 2});    // all of them keep it whole, and this one wastes least
  CHECK(rule.choose({150, 190}) == PictureGrid{2, 2});  // which alone keeps it whole
  CHECK(rule.choose({900, 200}) == PictureGrid{3, 1});
  CHECK(rule.choose({1, 40'000}) == PictureGrid{1, 2});  // nothing of it would be left: the smallest one
  const PictureSize within = rule.size_within({2, 2}, {100, 401});
  CHECK((within.height == 50 && within.width == 200));
  const PictureSize thin = rule.size_within({2, 2}, {40'000, 1});
  CHECK((thin.height == 200 && thin.width == 1));
  CHECK(rule.has_thumbnail({1, 1}));
}

}  // namespace spdld::config::pieces_test
