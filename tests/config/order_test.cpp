// [order]: how it is shuffled, and which samples it takes.
#include "tests/config/expect.h"

namespace spdld::config::order_test {
namespace {

Loaded<PipelineSpec> load_with_order(const std::string& lines) { return load_with_line(7, lines); }

OrderSpec order_of(const std::string& lines) {
  const auto loaded = load_with_order(lines);
  INFO(loaded.sentences());
  REQUIRE(loaded);
  const auto again = load_pipeline_json(full_json(*loaded.value), "again");
  INFO(again.sentences());
  REQUIRE(again);
  CHECK(full_json(*again.value) == full_json(*loaded.value));
  CHECK(canonical_json(*again.value) == canonical_json(*loaded.value));
  return loaded.value->order;
}

std::string canonical_of(const std::string& lines) { return canonical_json(*load_with_order(lines).value); }

}  // namespace

TEST_CASE("true and false are words as well, and one spec", "[config]") {
  CHECK(order_of("shuffle = true").shuffle == Shuffle::kGlobal);
  CHECK(order_of("shuffle = \"global\"").shuffle == Shuffle::kGlobal);
  CHECK(order_of("shuffle = false").shuffle == Shuffle::kOff);
  CHECK(order_of("shuffle = \"off\"").shuffle == Shuffle::kOff);
  CHECK(canonical_of("shuffle = \"global\"") == canonical_of(""));
  CHECK(canonical_of("shuffle = \"off\"") == canonical_of("shuffle = false"));
  CHECK(canonical_of("shuffle = \"off\"").find("\"shuffle\":false") != std::string::npos);
  CHECK_THROWS_AS(shuffle_named("true"), std::logic_error);
  CHECK_THROWS_AS(last_batch_named("keep"), std::logic_error);
}

TEST_CASE("a sample comes as often as repeats says", "[config]") {
  CHECK(order_of("").repeats == 1);
  CHECK(order_of("repeats = 3").repeats == 3);
  CHECK(canonical_of("repeats = 1") == canonical_of(""));
  CHECK(canonical_of("repeats = 3") != canonical_of("repeats = 2"));
}

TEST_CASE("a window has a size, by default ten thousand, and is only there where it is used", "[config]") {
  const auto given = order_of("shuffle = \"window\"\nwindow = 77");
  CHECK(given.shuffle == Shuffle::kWindow);
  CHECK(given.window == 77);
  CHECK(order_of("shuffle = \"window\"").window == 10'000);
  CHECK(order_of("").window == 0);
  CHECK(canonical_of("shuffle = \"window\"") == canonical_of("shuffle = \"window\"\nwindow = 10000"));
  CHECK(canonical_of("shuffle = \"window\"") != canonical_of("shuffle = \"window\"\nwindow = 10001"));
  CHECK(canonical_of("").find("window") == std::string::npos);
}

TEST_CASE("a list of samples may stand in the pipeline itself", "[config]") {
  CHECK(order_of("include = [\"a/1.jpg\", 7]").include == "\na/1.jpg\n7");
  CHECK(order_of("exclude = [\"7\"]").exclude == "\n7");
  CHECK(order_of("include = \"a/1.jpg\\nb/2.jpg\\n\"").include == "\na/1.jpg\nb/2.jpg\n");
  CHECK(order_of("include = \"\\na/1.jpg\"").include == "\na/1.jpg");
  CHECK(is_list_path(order_of("include = \"list\"").include));
  CHECK_FALSE(is_list_path(order_of("include = [1]").include));
  CHECK_FALSE(is_list_path(""));
  CHECK(canonical_of("include = [1]") == canonical_of(""));
}

TEST_CASE("a part is one of several, or a fraction, or the rest of it", "[config]") {
  CHECK_FALSE(order_of("").part.is_on());
  const PartSpec fold = order_of("part = { of = 5, index = 0 }").part;
  CHECK(fold.is_on());
  CHECK(fold.of == 5);
  CHECK(fold.index == std::vector<uint64_t>{0});
  CHECK_FALSE(fold.rest);
  CHECK(order_of("part = { of = 10, index = [7, 0, 3] }").part.index == std::vector<uint64_t>{0, 3, 7});
  const PartSpec rest = order_of("part = { fraction = 0.9, rest = true, seed = 7 }").part;
  CHECK(rest.fraction == 0.9);
  CHECK(rest.rest);
  CHECK(rest.seed == 7);
  CHECK(order_of("part = { fraction = 0.3, groups = \"folder\" }").part.groups == "folder");
  CHECK(order_of("part = { fraction = 0.3, groups = \"lists/g.csv\" }").part.groups == "/files/lists/g.csv");
  CHECK(order_of("part = { fraction = 0.3, stratify = \"class\" }").part.by_class);
  CHECK(order_of("[order.part]\nof = 2\nindex = 1").part.index == std::vector<uint64_t>{1});
  // The samples that are taken belong to a run's listing, and not to its spec.
  CHECK(canonical_of("part = { of = 5, index = 0 }") == canonical_of(""));
}

TEST_CASE("a part that says nothing, or too much, is refused", "[config]") {
  const auto refusal = [](const std::string& part) { return load_with_order("part = " + part).sentences(); };
  const auto says = [&](const std::string& part, const std::string& words) {
    CHECK_THAT(refusal(part), Catch::Contains(words));
  };
  says("0.9", "order.part: must be a table");
  says("{}", "order.part: needs either of and index, or fraction");
  says("{ of = 5, index = 0, fraction = 0.5 }", "needs either of and index, or fraction");
  says("{ of = 5 }", "order.part.of: needs index: which of the 5 parts is taken");
  says("{ of = 5, index = 5 }", "order.part.index: must be at most 4");
  says("{ of = 5, index = [1, 1] }", "names a part twice");
  says("{ of = 5, index = [] }", "order.part.index");
  says("{ of = 5, index = -1 }", "order.part.index");
  says("{ of = 5, index = 0.5 }", "order.part.index");
  says("{ of = 1, index = 0 }", "order.part.of: must be an integer from 2 to 1000");
  says("{ fraction = 1 }", "order.part.fraction: must be below 1");
  says("{ fraction = 0 }", "order.part.fraction: must be a number above 0");
  says("{ fraction = 1.5 }", "order.part.fraction");
  says("{ fraction = 0.5, index = 0 }", "may only stand beside of");
  says("{ fraction = 0.5, seed = -1 }", "order.part.seed");
  says("{ fraction = 0.5, stratify = \"size\" }", "order.part.stratify: must be \"class\"");
  says("{ fraction = 0.5, stratify = \"class\", groups = \"folder\" }", "may not stand beside groups");
  says("{ fraction = 0.5, groups = \"column\" }", "needs groups_column");
  says("{ fraction = 0.5, groups = \"folder\", groups_column = \"x\" }", "may only stand beside groups = \"column\"");
  says("{ fraction = 0.5, groups = \"column\", groups_column = \"x\", stratify = \"class\" }", "may not stand beside");
  says("{ fraction = 0.5, groups = \"s3://x/y\" }", "order.part.groups");
  says("{ fractoin = 0.5 }", "did you mean \"fraction\"?");
  CHECK_THAT(load_with_order("fraction = 0.5").sentences(),
             Catch::Contains("does not belong here, but in part of [order]"));
  CHECK_THAT(load_with_order("shuffle = \"client\"\npart = { fraction = 0.5 }").sentences(),
             Catch::Contains("order.part: may not stand beside shuffle = \"client\""));
}

TEST_CASE("lists of samples are taken from the pipeline's folder", "[config]") {
  const auto order = order_of("include = \"lists/some.txt\"\nexclude = \"file:///bad%20ones.txt\"\nfirst = 12");
  CHECK(order.include == "/files/lists/some.txt");
  CHECK(order.exclude == "/bad ones.txt");
  CHECK(order.first == 12);
  CHECK(order_of("include = \"/x//y.txt\"").include == "/x/y.txt");
  CHECK(order_of("").include.empty());
  CHECK(order_of("").first == 0);
  CHECK(canonical_of("") == canonical_of("shuffle = true\nepochs = 1"));
}

TEST_CASE("groups are a column's of a manifest or of Parquet files, also of one of several sources", "[config]") {
  const std::string output = R"("output": [{"name": "x", "from": "__key__", "ops": [{"op": "bytes"}], "ragged": true, )"
                             R"("length_max": 9}], "batch": {"size": 1}})";
  const std::string part = R"("part": {"of": 2, "index": 0, "groups": "column", "groups_column": "patient"})";
  const auto load = [&](const std::string& type) {
    return load_pipeline_json(
        R"({"name": "p", "source": {"type": ")" + type + R"(", "uri": "/m"}, "order": {)" + part + "}, " + output, "p");
  };
  for (const char* type : {"manifest", "parquet"}) {
    const auto loaded = load(type);
    INFO(loaded.sentences());
    REQUIRE(loaded);
    CHECK(loaded.value->order.part.groups == kGroupsByColumn);
    CHECK_FALSE(loaded.value->order.part.has_groups_file());
    CHECK(loaded.value->sources.front().groups_column == "patient");
    const auto again = load_pipeline_json(full_json(*loaded.value), "again");
    REQUIRE(again);
    CHECK(again.value->sources.front().groups_column == "patient");
  }
  CHECK_THAT(load("npy").sentences(), Catch::Contains("order.part.groups: can't be \"column\" here"));
  const auto mixed = [&](const std::string& other) {
    return load_pipeline_json(
        R"({"name": "p", "sources": [{"name": "a", "type": "manifest", "uri": "/a"}, {"name": "b", )"
        R"("type": ")" +
            other + R"(", "uri": "/b", )" + part + "}], " + output,
        "p");
  };
  const auto mix = mixed("parquet");
  INFO(mix.sentences());
  REQUIRE(mix);
  CHECK(mix.value->sources[0].groups_column.empty());
  CHECK(mix.value->sources[1].groups_column == "patient");
  CHECK_THAT(mixed("mds").sentences(), Catch::Contains("sources[1].part.groups: can't be \"column\" here"));
}

TEST_CASE("weights are a column's of a manifest, and of no other source", "[config]") {
  const auto load = [](const std::string& type, const std::string& order) {
    return load_pipeline_json(
        R"({"name": "p", "source": {"type": ")" + type + R"(", "uri": "/m"}, "order": {)" + order +
            R"(}, "output": [{"name": "x", "from": "__key__", "ops": [{"op": "bytes"}], "ragged": )"
            R"(true, "length_max": 9}], "batch": {"size": 1}})",
        "p");
  };
  const auto loaded = load("manifest", R"("weights": "column", "weights_column": "w", "weights_default": 2)");
  INFO(loaded.sentences());
  REQUIRE(loaded);
  CHECK(loaded.value->order.weights == kWeightsByColumn);
  CHECK(loaded.value->sources.front().weights_column == "w");
  CHECK_FALSE(loaded.value->order.has_weights_file());
  const auto again = load_pipeline_json(full_json(*loaded.value), "again");
  REQUIRE(again);
  CHECK(again.value->sources.front().weights_column == "w");
  CHECK_THAT(load("manifest", R"("weights": "column")").sentences(), Catch::Contains("needs weights_column"));
  CHECK_THAT(load("mds", R"("weights": "column", "weights_column": "w")").sentences(),
             Catch::Contains("a source of type \"manifest\" has columns of weights"));
  CHECK(order_of("weights = \"./column\"\nweights_column = \"w\"").weights == "/files/column");
}

TEST_CASE("weights are a file's, with a column's name or without, or the classes'", "[config]") {
  const auto plain = order_of("weights = \"w.tsv\"");
  CHECK(plain.weights == "/files/w.tsv");
  CHECK(plain.weights_column.empty());
  CHECK_FALSE(plain.weights_default);
  CHECK(plain.replacement);
  CHECK(plain.epoch_samples == 0);
  CHECK(plain.shuffle == Shuffle::kGlobal);
  const auto full = order_of(
      "weights = \"/w.csv\"\nweights_column = \"how often\"\nweights_default = 0.25\nreplacement = false\n"
      "epoch_samples = 70\nshuffle = true");
  CHECK(full.weights == "/w.csv");
  CHECK(full.weights_column == "how often");
  CHECK(full.weights_default == 0.25);
  CHECK_FALSE(full.replacement);
  CHECK(full.epoch_samples == 70);
  CHECK(order_of("weights = \"w\"\nweights_default = 0").weights_default == 0.0);
  CHECK(order_of("weights = \"class\"").weights == kWeightsByClass);
  CHECK(order_of("weights = \"./class\"").weights == "/files/class");
  CHECK(order_of("").weights.empty());
  CHECK(canonical_of("weights = \"a\"") == canonical_of("weights = \"b\"\nweights_default = 3"));
  CHECK(canonical_of("weights = \"a\"") != canonical_of("weights = \"a\"\nreplacement = false"));
  CHECK(canonical_of("weights = \"a\"") != canonical_of("weights = \"a\"\nepoch_samples = 3"));
  CHECK(canonical_of("weights = \"a\"") != canonical_of(""));
}

TEST_CASE("the client's order counts no epochs, and is its own spec", "[config]") {
  const auto order = order_of("shuffle = \"client\"");
  CHECK(order.shuffle == Shuffle::kClient);
  CHECK(order.epochs == 0);
  CHECK(order_of("shuffle = \"client\"\nepochs = 3").epochs == 3);
  CHECK(canonical_of("shuffle = \"client\"").find("\"shuffle\":\"client\"") != std::string::npos);
  CHECK(canonical_of("shuffle = \"client\"") != canonical_of("shuffle = false\nepochs = 0"));
}

TEST_CASE("a stream of the client's order is its own", "[config]") {
  const std::string text = "share = \"stream\"\n" + with_line(7, "shuffle = \"client\"");
  expect_complaints(load_pipeline_toml(text, "p.toml", "/files"),
                    {{1, "share", "beside shuffle = \"client\": each job says its own order"}});
}

TEST_CASE("an end of an epoch that is not the client's is refused beside its order", "[config]") {
  std::string text = with_line(7, "shuffle = \"client\"");
  CHECK(load_pipeline_toml(text + "last = \"short\"", "p.toml", "/files"));
  for (const char* last : {"pad", "drop"})
    expect_complaints(load_pipeline_toml(text + "last = \"" + last + "\"", "p.toml", "/files"),
                      {{14, "batch.last", "a step has the samples that the trainer gives it"}});
}

TEST_CASE("one error in [order] is found at its key and line", "[config]") {
  struct Case {
    std::string text;
    Expected expected;
  };
  const std::vector<Case> cases = {
      {"shuffle = \"windw\"", {7, "order.shuffle", "not \"windw\" (did you mean \"window\"?)"}},
      {"shuffle = [true]", {7, "order.shuffle", "\"off\" or \"client\", not [true]"}},
      {"repeats = 0", {7, "order.repeats", "an integer from 1 to 64, not 0"}},
      {"repeats = 65", {7, "order.repeats", "an integer from 1 to 64, not 65"}},
      {"weights = \"class\"\nrepeats = 2", {8, "order.repeats", "may not stand beside weights"}},
      {"shuffle = \"client\"\nrepeats = 2", {8, "order.repeats", "the trainer says which samples come"}},
      {"window = 5", {7, "order.window", "may only stand beside shuffle = \"window\""}},
      {"shuffle = true\nwindow = 5", {8, "order.window", "may only stand beside shuffle = \"window\""}},
      {"shuffle = \"window\"\nwindow = 0", {8, "order.window", "an integer from 1 to 1000000000000, not 0"}},
      {"shuffle = \"window\"\nwindow = 1.5", {8, "order.window", "an integer"}},
      {"first = 0", {7, "order.first", "an integer from 1 to"}},
      {"frist = 3", {7, "order.frist", "did you mean \"first\"?"}},
      {"include = \"\"", {7, "order.include", "must name a folder or a file"}},
      {"include = []", {7, "order.include", "must name at least one sample"}},
      {"include = [1, -2]", {7, "order.include", "must hold samples' names or numbers alone, not a number below 0"}},
      {"include = [1.5]", {7, "order.include", "must hold samples' names or numbers alone"}},
      {"include = [\"\"]", {7, "order.include", "names or numbers alone, not a text that is empty"}},
      {"include = [[1]]", {7, "order.include", "must hold samples' names or numbers alone, not a list"}},
      {"include = \"\\n\\n\"", {7, "order.include", "must name at least one sample"}},
      {"include = true", {7, "order.include", "must be a text, not true"}},
      {"shuffle = \"client\"\ninclude = [1]", {8, "order.include", "the trainer says which samples come"}},
      {"include = \"https://x/list\"", {7, "order.include", "\"https\" is not supported by this version"}},
      {"shuffle = \"client\"\nwindow = 5", {8, "order.window", "may only stand beside shuffle = \"window\""}},
      {"shuffle = \"client\"\ninclude = \"/a\"", {8, "order.include", "the trainer says which samples come"}},
      {"shuffle = \"client\"\nexclude = \"/a\"", {8, "order.exclude", "the trainer says which samples come"}},
      {"shuffle = \"client\"\nfirst = 5", {8, "order.first", "may not stand beside shuffle = \"client\""}},
      {"exclude = \"~/bad.txt\"", {7, "order.exclude", "which is not expanded"}},
      {"weights = \"\"", {7, "order.weights", "must name a folder or a file"}},
      {"weights = 3", {7, "order.weights", "must be a text, not 3"}},
      {"weights_column = \"w\"", {7, "order.weights_column", "may only stand beside weights"}},
      {"weights_default = 1", {7, "order.weights_default", "may only stand beside weights"}},
      {"replacement = true", {7, "order.replacement", "may only stand beside weights"}},
      {"weights = \"class\"\nweights_column = \"w\"",
       {8, "order.weights_column", "beside a file or column of weights"}},
      {"weights = \"class\"\nweights_default = 1", {8, "order.weights_default", "beside a file or column of weights"}},
      {"weights = \"w\"\nweights_column = \"\"", {8, "order.weights_column", "must name a column"}},
      {"weights = \"w\"\nweights_default = -1",
       {8, "order.weights_default", "a number from 0 to 1000000000000000, not -1"}},
      {"weights = \"w\"\nweights_default = inf", {8, "order.weights_default", "a number from 0 to 1000000000000000"}},
      {"weights = \"w\"\nepoch_samples = 0", {8, "order.epoch_samples", "an integer from 1 to"}},
      {"weights = \"w\"\nreplacement = 1", {8, "order.replacement", "true or false, not 1"}},
      {"weights = \"w\"\nshuffle = false", {8, "order.shuffle", "must be left out beside weights"}},
      {"shuffle = \"window\"\nweights = \"w\"", {7, "order.shuffle", "must be left out beside weights"}},
  };
  for (const auto& one : cases) {
    INFO(one.text);
    expect_complaints(load_with_order(one.text), {one.expected});
  }
  expect_complaints(load_pipeline_toml(with_line(7, "include = \"list\""), "p.toml"),
                    {{7, "order.include", "must be an absolute path"}});
}

}  // namespace spdld::config::order_test
