// Batches of several sizes, by aspect-bucket and by epoch: their sizes, the rule that sorts pictures, and what may
// stand beside them.
#include "config/batch_shapes.h"

#include <map>

#include "config/operation.h"
#include "config/size_schedule.h"
#include "config/spec.h"
#include "tests/config/expect.h"

namespace spdld::config::shapes_test {
namespace {

const std::string kDecode = "{ op = \"decode-image\" }, ";
const std::string kBucket = "{ op = \"aspect-bucket\", sizes = [\"64x64\", \"48x80\", \"80x48\"] }";
const std::string kHead = "name = \"t\"\n[source]\ntype = \"image-folder\"\nuri = \"/data\"\n";  // lines 1 to 4

std::string output(const std::string& name, const std::string& ops, const std::string& from = "image") {
  return "[[output]]\nname = \"" + name + "\"\nfrom = \"" + from + "\"\nops = [" + ops + "]\n";
}

Loaded<PipelineSpec> load(const std::string& text) { return load_pipeline_toml(kHead + text, "t.toml", "/files"); }

}  // namespace

TEST_CASE("the samples of a batch have one of several shapes", "[config]") {
  const auto loaded = load_with_ops(kDecode + kBucket + ", { op = \"horizontal-flip\" }, { op = \"invert\" }");
  INFO(loaded.sentences());
  REQUIRE(loaded);
  const OutputSpec& output = loaded.value->outputs.front();
  const Signature end = follow(output.ops, start_of(output.ops)).end();
  CHECK(end.tensor().shapes == std::vector<std::vector<int64_t>>{{64, 64, 3}, {48, 80, 3}, {80, 48, 3}});
  CHECK(end.dimensions == std::vector<Dimension>{Dimension::bounded(80), Dimension::bounded(80), Dimension(3)});
  CHECK_FALSE(layout_of(end));
  const auto shapes = batch_shapes_of(loaded.value->outputs);
  REQUIRE(shapes);
  CHECK(shapes->from == "image");
  CHECK(shapes->is_upright);
  CHECK(shapes->sizes == std::vector<PictureSize>{{64, 64}, {48, 80}, {80, 48}});
  const auto planar = load_with_ops("{ op = \"decode-image\", exif = false, colours = \"grey\" }, " + kBucket +
                                    ", { op = \"convert\", layout = \"NCHW\" }");
  REQUIRE(planar);
  CHECK_FALSE(batch_shapes_of(planar.value->outputs)->is_upright);
  const OutputSpec& grey = planar.value->outputs.front();
  CHECK(follow(grey.ops, start_of(grey.ops)).end().tensor().shapes ==
        std::vector<std::vector<int64_t>>{{1, 64, 64}, {1, 48, 80}, {1, 80, 48}});
  CHECK_FALSE(batch_shapes_of(load_with_line(13, "size = 8").value->outputs));
}

TEST_CASE("a picture has the size with the closest proportions", "[config]") {
  const std::vector<PictureSize> sizes = {{64, 64}, {48, 80}, {80, 48}, {40, 40}, {480, 800}};
  CHECK(closest_size({100, 110}, sizes) == 0);
  CHECK(closest_size({100, 160}, sizes) == 1);
  CHECK(closest_size({1000, 100}, sizes) == 2);
  CHECK(closest_size({40, 40}, sizes) == 3);  // the size itself, behind another one of the same proportions
  CHECK(closest_size({41, 41}, sizes) == 0);
  CHECK(closest_size({480, 800}, sizes) == 4);
}

TEST_CASE("the parameters of aspect-bucket", "[config]") {
  const auto wrong = [](const std::string& parameters, const std::string& key, const std::string& fragment) {
    expect_complaints(load_with_ops(kDecode + "{ op = \"aspect-bucket\", " + parameters + " }"),
                      {{11, "output[0].ops[1]" + key, fragment}});
  };
  for (const char* sizes : {"", "64", "64x", "0x64", "64x0", "-1x64", "64x64x3", "64 x 64", "64X64"})
    wrong("sizes = [\"" + std::string(sizes) + "\"]", ".sizes",
          std::string(sizes).empty() ? "" : "such as \"448x576\"");
  wrong("sizes = \"64x64,16385x64\"", ".sizes", "at most 16384");
  wrong("sizes = \"64x64,32x32,64x064\"", ".sizes", "twice");
  wrong("crop = \"random\"", ".sizes", "1 to 64 sizes");
  wrong("sizes = \"64x64\", crop = \"left\"", ".crop", "\"center\" or \"random\"");
  std::string many = "1x1";
  for (int i = 2; i <= 65; ++i) many += "," + std::to_string(i) + "x1";
  wrong("sizes = \"" + many + "\"", ".sizes", "1 to 64 sizes");
}

TEST_CASE("sizes by epoch", "[config]") {
  const std::string crop = "{ op = \"random-resized-crop\", size = [20, 30], by_epoch = [\"2:40\", \"7:10x50\"] }";
  const auto loaded =
      load_with_ops(kDecode + crop + ", { op = \"horizontal-flip\" }, { op = \"convert\", layout = \"NCHW\" }");
  INFO(loaded.sentences());
  REQUIRE(loaded);
  const OutputSpec& output = loaded.value->outputs.front();
  CHECK(follow(output.ops, start_of(output.ops)).end().tensor().shapes ==
        std::vector<std::vector<int64_t>>{{3, 20, 30}, {3, 40, 40}, {3, 10, 50}});
  const auto schedule = schedule_of(loaded.value->outputs);
  CHECK(schedule == std::vector<ScheduledSize>{{0, {20, 30}}, {2, {40, 40}}, {7, {10, 50}}});
  for (const auto& [epoch, number] : std::map<uint64_t, uint32_t>{{0, 0}, {1, 0}, {2, 1}, {6, 1}, {7, 2}, {1000, 2}})
    CHECK(scheduled_at(schedule, epoch) == number);
  CHECK(schedule_of(load_with_line(13, "size = 8").value->outputs).empty());
  // Without it a pipeline is the same run as before there was such a parameter.
  const auto plain = load_with_ops(kDecode + "{ op = \"random-resized-crop\", size = 8 }");
  CHECK(canonical_json(*plain.value).find("by_epoch") == std::string::npos);
}

TEST_CASE("what sizes by epoch must be, and what may not stand beside them", "[config]") {
  const auto crop = [](const std::string& by_epoch) {
    return "{ op = \"random-resized-crop\", size = 20, by_epoch = [" + by_epoch + "] }";
  };
  for (const char* wrong : {"\"12\"", "\"12:\"", "\":192\"", "\"0:192\"", "\"3:5\", \"3:6\"", "\"4:5\", \"3:6\"",
                            "\"1:0\"", "\"1:-5\"", "\"1:5x\"", "\"x:5\"", "\"1:2:3\"", "\"99999999999999999999:5\""})
    expect_complaints(load_with_ops(kDecode + crop(wrong)), {{11, "output[0].ops[1].by_epoch", "\"12:192x256\""}});
  expect_complaints(load_with_ops(kDecode + crop("\"1:16385\"")), {{11, "output[0].ops[1].by_epoch", "at most 16384"}});
  const std::string sound = crop("\"2:40\"");
  expect_complaints(load_with_ops(kDecode + sound + ", { op = \"center-crop\", size = 8 }"),
                    {{11, "output[0].ops[2]", "changes the size of pictures"}});
  expect_complaints(load_with_line(11, "ops = [" + kDecode + sound + "]\nview = \"a\""),
                    {{11, "output[0].ops[1]", "has by_epoch"}});
  const std::string a = output("a", kDecode + sound), batch = "[batch]\nsize = 4\n";
  expect_complaints(load(a + output("b", kDecode + crop("\"3:40\"")) + batch),
                    {{12, "output[1].ops", "the same epochs"}});
  CHECK(load(a + output("b", kDecode + crop("\"2:90\"")) + batch));
  expect_complaints(load(a + output("b", kDecode + kBucket) + batch), {{8, "output[0].ops", "beside aspect-bucket"}});
  expect_complaints(load(a + batch + "ops = [{ op = \"mixup\", images = [\"a\"] }]\n"),
                    {{11, "batch.ops", "may not stand beside by_epoch"}});
}

TEST_CASE("nothing behind aspect-bucket changes the size", "[config]") {
  const std::string then = kDecode + kBucket + ", ";
  for (const char* op :
       {"{ op = \"resize\", size = 8 }", "{ op = \"center-crop\", size = 8 }", "{ op = \"five-crop\", size = 8 }",
        "{ op = \"pad\", padding = 3 }", "{ op = \"pad-to\", size = 200 }", "{ op = \"zoom-out\" }",
        "{ op = \"aspect-bucket\", sizes = \"8x8\" }"})
    expect_complaints(load_with_ops(then + op), {{11, "output[0].ops[2]", "changes the size of pictures"}});
  expect_complaints(load_with_ops(then + "{ op = \"random-apply\", ops = [{ op = \"resize\", size = [8, 8] }] }"),
                    {{11, "output[0].ops[2].ops[0]", "changes the size of pictures"}});
  expect_complaints(load_with_ops(kDecode + "{ op = \"random-apply\", ops = [" + kBucket + "] }"),
                    {{11, "output[0].ops[1].ops[0]", "can't be aspect-bucket"}});
  expect_complaints(load_with_ops(then + "{ op = \"convert\" }, { op = \"random-erasing\" }"),
                    {{11, "output[0].ops[3]", "of one size"}});
  const std::string ops = "ops = [" + kDecode + kBucket + "]";
  expect_complaints(load_with_line(11, ops + "\nragged = true"), {{11, "output[0].ops", "leave pad and ragged out"}});
  expect_complaints(load_with_line(11, ops + "\nview = \"a\""),
                    {{11, "output[0].ops[1]", "aspect-bucket gives pictures of another size in each batch"}});
}

TEST_CASE("all outputs have the same buckets, of the same picture", "[config]") {
  const std::string batch = "[batch]\nsize = 4\n", first = output("a", kDecode + kBucket);
  CHECK(load(first + output("b", kDecode + "{ op = \"invert\" }, " + kBucket) + batch));
  CHECK(load(first + "[[output]]\ncopies = 3\nname = \"c\"\nfrom = \"image\"\nops = [" + kDecode + kBucket + "]\n" +
             batch));
  expect_complaints(load(first + output("b", kDecode + "{ op = \"aspect-bucket\", sizes = \"64x64\" }") + batch),
                    {{12, "output[1].ops[1].sizes", "output \"a\""}});
  expect_complaints(load(first + output("b", "{ op = \"decode-image\", exif = false }, " + kBucket) + batch),
                    {{12, "output[1].ops[1]", "output \"a\""}});
}

TEST_CASE("what can't stand beside aspect-bucket", "[config]") {
  const std::string image = output("a", kDecode + kBucket), batch = "[batch]\nsize = 4\n";
  CHECK(load(image + "[batch]\nglobal_size = 4\nlast = \"pad\"\n[order]\nshuffle = false\n"));
  struct Case {
    std::string text, key;
  };
  for (const auto& [text, key] : std::vector<Case>{
           {image + "[batch]\ncost_max = 400000\ncost = \"pixels\"\n", "batch.cost_max"},
           {image + batch + "[order]\nshuffle = \"window\"\nwindow = 100\n", "order.shuffle"},
           {image + batch + "[order]\nshuffle = \"client\"\n", "order.shuffle"},
           {image + batch + "[order]\nrepeats = 2\n", "order.repeats"},
           {image + batch + "[order]\nweights = \"class\"\n", "order.weights"},
       }) {
    const auto loaded = load(text);
    INFO(loaded.sentences());
    REQUIRE_FALSE(loaded);
    CHECK(loaded.complaints.front().key == key);
    CHECK_THAT(loaded.complaints.front().text, Catch::Contains("beside aspect-bucket"));
  }
}

}  // namespace spdld::config::shapes_test
