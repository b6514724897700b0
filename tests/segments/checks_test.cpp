// How chains with operations of another executor are cut into segments and checked.
#include <catch2/catch.hpp>

#include "config/checks/load.h"
#include "config/segments.h"
#include "tests/config/expect.h"
#include "tests/support/workshop.h"

namespace spdld::config::segments_checks_test {
namespace {

OperationSpec op(std::string_view name) { return {std::string(name), {}, {}}; }

PipelineSpec loaded(const std::string& ops) {
  const auto spec = load_with_ops(ops);
  INFO(spec.sentences());
  REQUIRE(spec);
  return *spec.value;
}

std::vector<std::string> names(const std::vector<OperationSpec>& ops) {
  std::vector<std::string> all;
  for (const OperationSpec& one : ops) all.push_back(one.op);
  return all;
}

}  // namespace

TEST_CASE("a chain is cut where the executor changes, and decode threads begin and end it") {
  test::open_workshop();
  using Segments = std::vector<Segment>;
  CHECK(segments_of({}) == Segments{{"", 0, 0}});
  CHECK(segments_of(std::vector{op("decode-image"), op("convert")}) == Segments{{"", 0, 2}});
  CHECK(segments_of(std::vector{op("reverse")}) == Segments{{"", 0, 0}, {"workshop", 0, 1}, {"", 1, 0}});
  CHECK(segments_of(std::vector{op("decode-image"), op("convert"), op("negate"), op("negate"), op("random-erasing"),
                                op("negate")}) ==
        Segments{{"", 0, 2}, {"workshop", 2, 2}, {"", 4, 1}, {"workshop", 5, 1}, {"", 6, 0}});
}

TEST_CASE("two executors in a row have nothing between them to do for decode threads, and a segment for it") {
  test::open_workshop();
  static const bool is_added = [] {
    OperationType type = *find_operation("negate");
    type.name = "polish", type.executor = "polishers";
    add_operation(type);
    return true;
  }();
  REQUIRE(is_added);
  CHECK(segments_of(std::vector{op("reverse"), op("polish")}) ==
        std::vector<Segment>{{"", 0, 0}, {"workshop", 0, 1}, {"", 1, 0}, {"polishers", 1, 1}, {"", 2, 0}});
}

TEST_CASE("only an executor's operation is added, under a name of its own, and only so many are") {
  test::open_workshop();
  OperationType type = *find_operation("negate");
  CHECK_THROWS_AS(add_operation(type), std::logic_error);
  type.name = "no-executor", type.executor = {};
  CHECK_THROWS_AS(add_operation(type), std::logic_error);
  CHECK(find_operation("no-executor") == nullptr);
  const OperationType* const first = operations().data();
  static const std::vector<std::string> more = [] {
    std::vector<std::string> all;
    for (size_t i = 0; i < kAddedMax; i++) all.push_back("more-" + std::to_string(i));
    return all;
  }();
  type.executor = "nobody";
  size_t added = 0;
  try {
    for (const std::string& name : more) {
      type.name = name;
      add_operation(type);
      added++;
    }
  } catch (const std::logic_error&) {
  }
  CHECK(added > 0);
  CHECK(added < kAddedMax);  // the workshop's are among them
  CHECK(operations().data() == first);
}

TEST_CASE("a picture is handed on as a tensor, of its own size, without a word in the file") {
  test::open_workshop();
  const auto written = loaded(R"({ op = "decode-image" }, { op = "cut" })").outputs[0];
  CHECK(names(written.ops) == std::vector<std::string>{"decode-image", "convert", "cut"});
  const auto whole = loaded(R"({ op = "decode-image" }, { op = "convert" }, { op = "cut" })").outputs[0];
  CHECK(names(whole.ops) == names(written.ops));
  const auto resized =
      loaded(R"({ op = "decode-image" }, { op = "resize", size = [32, 48] }, { op = "negate" })").outputs[0];
  CHECK(names(resized.ops) == std::vector<std::string>{"decode-image", "resize", "convert", "negate"});
}

TEST_CASE("an error is told at the place where its operation was written") {
  test::open_workshop();
  expect_complaints(load_with_ops(R"({ op = "decode-image" }, { op = "cut" }, { op = "decode-image" })"),
                    {{11, "output[0].ops[2]", "can't follow"}});
  expect_complaints(load_with_ops(R"({ op = "decode-image" }, { op = "negate" })"), {{11, "output[0].ops", "differ"}});
  expect_complaints(load_with_ops(R"({ op = "decode-image" }, { op = "convert" })"),
                    {{11, "output[0].ops[1]", "size is not fixed"}});
  expect_complaints(load_with_ops(R"({ op = "decode-image" }, { op = "negate" }, { op = "random-erasing" })"),
                    {{11, "output[0].ops[2]", "one picture of one size"}});
  expect_complaints(load_with_ops(R"({ op = "reverse" })"), {{11, "output[0].ops", "bytes of any length"}});
}

TEST_CASE("nothing can follow in a view what another executor gives") {
  test::open_workshop();
  const std::string picture = R"({ op = "decode-image" }, { op = "resize", size = [8, 8] })";
  const auto load = [](const std::string& ops) { return load_with_line(11, "view = \"v\"\nops = [" + ops + "]"); };
  expect_complaints(load(R"({ op = "reverse" }, )" + picture),
                    {{12, "output[0].ops[1]", "decode-image can't stand behind reverse in a view"},
                     {12, "output[0].ops[2]", "resize can't stand behind reverse in a view"}});
  CHECK(load(picture + R"(, { op = "negate" }, { op = "random-erasing" })"));
  CHECK(load_with_ops(R"({ op = "reverse" }, )" + picture));
}

TEST_CASE("the leader of a view is followed where another executor takes its picture, wherever it stands") {
  test::open_workshop();
  const std::string leads = R"([[output]]
name = "image"
from = "image"
view = "v"
ops = [{ op = "decode-image" }, { op = "resize", size = [8, 8] }, { op = "negate" }]
)";
  const auto follower = [](const std::string& ops) {
    return "[[output]]\nname = \"boxes\"\nfrom = \"image\"\nview = \"v\"\nops = [" + ops + "]\n" +
           "pad = \"longest\"\nlength_max = 9\n";
  };
  const auto load = [](const std::string& outputs) {
    return load_pipeline_toml(
        "name = \"p\"\n[source]\ntype = \"image-folder\"\nuri = \"/d\"\n" + outputs + "[batch]\nsize = 4\n", "p.toml");
  };
  const std::string right = follower(R"({ op = "boxes" }, { op = "double" })");
  for (const std::string& outputs : {leads + right, right + leads}) {
    const auto loaded = load(outputs);
    INFO(loaded.sentences());
    CHECK(loaded);
  }
  for (const std::string& outputs : {leads + follower(R"({ op = "boxes" }, { op = "one-hot", classes = 3 })"),
                                     follower(R"({ op = "boxes" }, { op = "one-hot", classes = 3 })") + leads}) {
    const auto loaded = load(outputs);
    CHECK_FALSE(loaded);
    CHECK_THAT(loaded.sentences(), Catch::Contains("one-hot can't follow"));
  }
}

}  // namespace spdld::config::segments_checks_test
