// Operations that hold operations: what may stand inside, where a mistake is said to be, and how random numbers are
// named.
#include "config/operation.h"
#include "config/text/json.h"
#include "tests/config/expect.h"

namespace spdld::config::holding_test {
namespace {

// Operations stand from line 11 on, behind a center-crop.
std::string file(const std::string& ops, const std::string& further = "") {
  return "name = \"t\"\n[source]\ntype = \"image-folder\"\nuri = \"/data\"\n[batch]\nsize = 8\n[[output]]\n" + further +
         "name = \"image\"\nfrom = \"image\"\nops = [{ op = \"decode-image\" }, { op = \"center-crop\", size = 32 "
         "},\n" +
         ops + "]\n";
}

Loaded<PipelineSpec> load(const std::string& ops, const std::string& further = "") {
  return load_pipeline_toml(file(ops, further), "test.toml");
}

std::string held(const std::string& op, const std::string& ops) {
  return "{ op = \"" + op + "\", ops = [\n" + ops + "\n] }";
}

std::vector<OperationSpec> ops_of(const std::string& ops) {
  const auto loaded = load(ops);
  INFO(loaded.sentences());
  REQUIRE(loaded);
  return loaded.value->outputs.front().ops;
}

const std::string kInvert = "{ op = \"invert\" }", kFlip = "{ op = \"horizontal-flip\" }";

}  // namespace

TEST_CASE("operations that are held arrive in order with their defaults", "[config]") {
  const auto ops = ops_of(held("random-apply", kInvert + ",\n" + held("random-choice", kFlip + ", " + kInvert)));
  REQUIRE(ops.size() == 4);
  CHECK(ops[2].op == "random-apply");
  CHECK(ops[2].number("p") == 0.5);
  REQUIRE(ops[2].ops.size() == 2);
  CHECK(ops[2].ops[0].op == "invert");
  CHECK(ops[2].ops[0].number("p") == 0.5);
  CHECK(ops[2].ops[0].where.line == 12);
  REQUIRE(ops[2].ops[1].ops.size() == 2);
  CHECK(ops[2].ops[1].ops[0].op == "horizontal-flip");
  CHECK(ops[2].ops[1].ops[0].where.line == 14);
  CHECK(ops[2].ops[1].numbers("weights").empty());
}

TEST_CASE("a spec with held operations is the same from TOML and from its JSON", "[config]") {
  const auto loaded =
      load(held("random-order", kInvert + ", " + held("random-choice", kInvert + ", " + kFlip) + ", " + kInvert));
  REQUIRE(loaded);
  const std::string json = full_json(*loaded.value);
  const auto again = load_pipeline_json(json, "spec");
  INFO(again.sentences());
  REQUIRE(again);
  CHECK(full_json(*again.value) == json);
  CHECK(canonical_json(*again.value) == canonical_json(*loaded.value));
  CHECK(json.find("random-order.1.1") != std::string::npos);
}

TEST_CASE("no two held operations draw alike unless their `draw` says so", "[config]") {
  const std::string pair = kInvert + ", " + kInvert;
  const auto ops = ops_of(held("random-apply", pair) + ",\n" + held("random-apply", pair) + ",\n" +
                          "{ op = \"random-order\", draw = \"mine\", ops = [ " + kInvert +
                          ", { op = \"invert\", draw = \"other\" }, { op = \"center-crop\", size = 32 } ] }");
  const auto draw = [](const OperationSpec& op) { return op.text("draw"); };
  CHECK(draw(ops[2]) == "random-apply");
  CHECK(draw(ops[2].ops[0]) == "random-apply.0");
  CHECK(draw(ops[2].ops[1]) == "random-apply.1");
  CHECK(draw(ops[3]) == "random-apply_2");
  CHECK(draw(ops[3].ops[1]) == "random-apply_2.1");
  CHECK(draw(ops[4].ops[0]) == "mine.0");
  CHECK(draw(ops[4].ops[1]) == "other");
  const auto copied = load(held("random-apply", kInvert), "copies = 2\n");
  REQUIRE(copied);
  REQUIRE(copied.value->outputs.size() == 2);
  const OperationSpec& holder = copied.value->outputs[1].ops[2];
  CHECK(draw(holder) == "random-apply-2");
  CHECK(draw(holder.ops[0]) == "random-apply.0-2");
  expect_complaints(load("{ op = \"random-apply\", draw = \"" + std::string(63, 'd') + "\", ops = [" + kInvert + "] }"),
                    {{10, "output[0].ops", "too long"}});
}

TEST_CASE("a mistake in a held operation is told with its own line and key", "[config]") {
  expect_complaints(load(held("random-apply", kInvert + ",\n{ op = \"posterize\", bits = 9 }")),
                    {{13, "output[0].ops[2].ops[1].bits", "from 0 to 8"}});
  expect_complaints(load(held("random-apply", kInvert + ",\n{ op = \"posterise\" }")),
                    {{13, "output[0].ops[2].ops[1].op", "did you mean \"posterize\"?"}});
  expect_complaints(load(held("random-apply", kInvert + ",\n" + held("random-order", "{ op = \"hue\", facto = 1 }"))),
                    {{14, "output[0].ops[2].ops[1].ops[0].facto", "known here"},
                     {14, "output[0].ops[2].ops[1].ops[0].factor", "is missing"}});
  const std::string deep = held("random-order", kInvert + ",\n{ op = \"grayscale\", channels = 1 }");
  expect_complaints(load(held("random-apply", deep)),
                    {{14, "output[0].ops[2].ops[0].ops[1]", "must leave size and channels as they are"}});
}

TEST_CASE("what a chain gives depends on no draw", "[config]") {
  const std::string small = "{ op = \"random-resized-crop\", size = 16 }", crop = "{ op = \"center-crop\", size = 16 }";
  const std::string back = "{ op = \"resize\", size = [32, 32] }";
  CHECK(load(held("random-choice", small + ", " + crop)));
  CHECK(load(held("random-apply", crop + ", " + back)));
  expect_complaints(load(held("random-choice", small + ", " + kInvert)),
                    {{12, "output[0].ops[2].ops[1]", "that the first operation gives"}});
  expect_complaints(load(held("random-apply", kInvert + ",\n" + small)),
                    {{13, "output[0].ops[2].ops[1]", "as they were before random-apply"}});
  expect_complaints(load(held("random-order", back + ",\n" + crop)),
                    {{13, "output[0].ops[2].ops[1]", "come in any order"}});
}

TEST_CASE("only changes of a picture are held", "[config]") {
  expect_complaints(load(held("random-apply", "{ op = \"convert\" }")),
                    {{12, "output[0].ops[2].ops[0]", "can't be convert"}});
  expect_complaints(load(held("random-apply", "{ op = \"tile\", size = 8 }")),
                    {{12, "output[0].ops[2].ops[0]", "can't be tile"}});
  expect_complaints(load(held("random-apply", "{ op = \"random-resized-crop\", size = 32, box = \"crop\" }")),
                    {{12, "output[0].ops[2].ops[0].box", "can't name a tensor inside random-apply"}});
}

TEST_CASE("lists of held operations have bounds", "[config]") {
  expect_complaints(load("{ op = \"random-apply\" }"), {{11, "output[0].ops[2].ops", "is missing"}});
  expect_complaints(load("{ op = \"random-apply\", ops = 3 }"), {{11, "output[0].ops[2].ops", "one to 16 operations"}});
  expect_complaints(load("{ op = \"random-apply\", ops = [] }"), {{11, "output[0].ops[2].ops", "not 0"}});
  std::string many = kInvert;
  for (int i = 0; i < 16; ++i) many += ", " + kInvert;
  expect_complaints(load(held("random-apply", many)), {{11, "output[0].ops[2].ops", "not 17"}});
  many.resize(many.size() - 2 - kInvert.size());
  CHECK(load(held("random-apply", many)));
  std::string nested = kInvert;
  for (int i = 0; i < 3; ++i) nested = held("random-apply", nested);
  CHECK(load(nested));
  expect_complaints(load(held("random-apply", nested)), {{14, "output[0].ops[2].ops[0].ops[0].ops[0].ops", "4 deep"}});
  const std::string wide = held("random-apply", held("random-apply", many) + ", " + many.substr(0, many.rfind(", ")));
  std::string all = wide;
  for (int i = 0; i < 7; ++i) all += ",\n" + wide;
  expect_complaints(load(all), {{10, "output[0].ops", "at most 256 operations"}});
}

TEST_CASE("weights belong to the operations of a choice", "[config]") {
  const auto choice = [](const std::string& weights) {
    return load("{ op = \"random-choice\", weights = " + weights + ", ops = [" + kInvert + ", " + kFlip + "] }");
  };
  CHECK(choice("[0, 3]"));
  expect_complaints(choice("[1, 2, 3]"), {{11, "output[0].ops[2].weights", "each of the 2 operations, not 3"}});
  expect_complaints(choice("[0, 0]"), {{11, "output[0].ops[2].weights", "above 0"}});
  expect_complaints(choice("[-1, 2]"), {{11, "output[0].ops[2].weights", "from 0"}});
}

}  // namespace spdld::config::holding_test
