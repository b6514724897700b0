// [[sources]]: several of them, and what of [order] goes with them.
#include <cmath>

#include "config/catalogue.h"
#include "tests/config/expect.h"

namespace spdld::config::mix_test {
namespace {

// Lines 1 to 11 are the two sources; `first` and `second` end their tables, `order` begins on line 13.
std::string text_of(const std::string& first, const std::string& second, const std::string& order = "") {
  return "name = \"mixed\"\n"
         "[[sources]]\n"
         "name = \"web\"\n"
         "type = \"image-folder\"\n"
         "uri = \"web\"\n" +
         first +
         "\n[[sources]]\n"
         "name = \"books\"\n"
         "type = \"image-folder\"\n"
         "uri = \"/data/books\"\n" +
         second + "\n[order]\n" + order +
         "\n[[output]]\n"
         "name = \"label\"\n"
         "from = \"class\"\n"
         "[[output]]\n"
         "name = \"origin\"\n"
         "from = \"source\"\n"
         "[batch]\n"
         "size = 8\n";
}

Loaded<PipelineSpec> load(const std::string& first, const std::string& second, const std::string& order = "") {
  return load_pipeline_toml(text_of(first, second, order), "p.toml", "/files");
}

std::string canonical_of(const std::string& first, const std::string& second, const std::string& order = "") {
  const auto loaded = load(first, second, order);
  INFO(loaded.sentences());
  REQUIRE(loaded);
  return canonical_json(*loaded.value);
}

}  // namespace

TEST_CASE("several sources, with what each has of its own", "[config]") {
  const auto loaded = load("weight = 0.7\ninclude = \"some.txt\"", "weight = 3\nexclude = \"/bad.txt\"\nfirst = 9",
                           "epoch_samples = 500");
  INFO(loaded.sentences());
  REQUIRE(loaded);
  const auto& spec = *loaded.value;
  CHECK(spec.is_mix());
  REQUIRE(spec.sources.size() == 2);
  CHECK(spec.sources[0].name == "web");
  CHECK(spec.sources[0].uris.at(0) == "/files/web");
  CHECK(spec.sources[0].weight == 0.7);
  CHECK(spec.sources[0].include == "/files/some.txt");
  CHECK(spec.sources[0].where.line == 2);
  CHECK(std::get<std::string>(spec.sources[0].parameters.at("extensions")) == "jpg,jpeg");
  CHECK(spec.sources[1].weight == 3);
  CHECK(spec.sources[1].exclude == "/bad.txt");
  CHECK(spec.sources[1].first == 9);
  CHECK(spec.order.mix == MixRule::kRandom);
  CHECK(spec.order.epoch_samples == 500);
  CHECK(spec.outputs[1].from == kSourceField);
  const auto again = load_pipeline_json(full_json(spec), "again");
  INFO(again.sentences());
  REQUIRE(again);
  CHECK(full_json(*again.value) == full_json(spec));
  CHECK(canonical_json(*again.value) == canonical_json(spec));
  CHECK(guess_kind("name = \n[[sources]]\n") == FileKind::kPipeline);
  CHECK(guess_kind(text_of("", "")) == FileKind::kPipeline);
}

TEST_CASE("without weights a source has none, and exact is a word", "[config]") {
  const auto loaded = load("", "", "mix = \"exact\"");
  REQUIRE(loaded);
  CHECK(loaded.value->sources[0].weight == 0);
  CHECK(loaded.value->order.mix == MixRule::kExact);
  CHECK(loaded.value->order.epoch_samples == 0);
}

TEST_CASE("what decides a mix is in its canonical text, and one source's text is as it was", "[config]") {
  const std::string plain = canonical_of("weight = 1", "weight = 1");
  CHECK(plain == canonical_of("weight = 1.0", "weight = 1", "mix = \"random\""));
  CHECK(plain != canonical_of("weight = 2", "weight = 1"));
  CHECK(plain != canonical_of("", ""));
  CHECK(plain != canonical_of("weight = 1", "weight = 1", "mix = \"exact\""));
  CHECK(plain != canonical_of("weight = 1", "weight = 1", "epoch_samples = 7"));
  // What is taken of a source the fingerprint's other part tells.
  CHECK(plain == canonical_of("weight = 1\nfirst = 1", "weight = 1"));
  CHECK(plain == canonical_of("weight = 1\ninclude = \"x\"", "weight = 1"));
  CHECK(plain == canonical_of("weight = 1", "weight = 1\nexclude = \"x\""));
  for (const char* key :
       {"weights = \"class\"", "weights = \"w.csv\"\nreplacement = false", "shuffle = \"client\"", "include = \"x\""}) {
    INFO(key);
    CHECK_FALSE(load("weight = 1", "weight = 1", key));
  }
  const std::string one = canonical_json(*load_with_line(0, "").value);
  for (const char* word : {"sources", "weight", "mix", "epoch_samples"}) CHECK(one.find(word) == std::string::npos);
}

TEST_CASE("one error in [[sources]] or beside it is found at its key and line", "[config]") {
  struct Case {
    std::string first, second, order;
    Expected expected;
  };
  const std::vector<Case> cases = {
      {"weight = 1", "", "", {7, "sources[1].weight", "give every source a weight, or none"}},
      {"weight = 0", "weight = 1", "", {6, "sources[0].weight", "above 0"}},
      {"weight = -1", "weight = 1", "", {6, "sources[0].weight", "above 0"}},
      {"weight = \"1\"", "weight = 1", "", {6, "sources[0].weight", "must be a number"}},
      {"weight = 0.5", "weight = 1", "mix = \"exact\"", {6, "sources[0].weight", "a whole number beside mix"}},
      {"wieght = 1", "", "", {6, "sources[0].wieght", "did you mean \"weight\"?"}},
      {"first = 0", "", "", {6, "sources[0].first", "an integer from 1 to"}},
      {"include = \"~/x\"", "", "", {6, "sources[0].include", "which is not expanded"}},
      {"", "", "mix = \"exakt\"", {13, "order.mix", "did you mean \"exact\"?"}},
      {"", "", "epoch_samples = 0", {13, "order.epoch_samples", "an integer from 1 to"}},
      {"", "", "first = 3", {13, "order.first", "must not stand beside [[sources]]"}},
      {"", "", "include = \"/x\"", {13, "order.include", "in the table of the source that it is meant for"}},
      {"", "", "exclude = \"/x\"", {13, "order.exclude", "must not stand beside [[sources]]"}},
  };
  for (const auto& one : cases) {
    INFO(one.first << one.second << one.order);
    expect_complaints(load(one.first, one.second, one.order), {one.expected});
  }
}

TEST_CASE("sources are two or more, and each has a name of its own", "[config]") {
  const auto with = [](const std::string& tables) {
    return load_pipeline_toml("name = \"m\"\n" + tables + "\n[[output]]\nname = \"p\"\nfrom = \"path\"\n" +
                                  "ops = [{ op = \"pad-bytes\", length = 4 }]\n[batch]\nsize = 1\n",
                              "p.toml", "/files");
  };
  const auto source = [](const std::string& name) {
    return "[[sources]]\n" + (name.empty() ? std::string() : "name = \"" + name + "\"\n") +
           "type = \"image-folder\"\nuri = \"x\"\n";
  };
  expect_complaints(with(source("a")), {{2, "sources", "must be two or more: write a single one as [source]"}});
  expect_complaints(with("sources = 3"), {{2, "sources", "must be a list of two or more tables"}});
  std::string many;
  for (int i = 0; i < 65; ++i) many += source("a" + std::to_string(i));
  expect_complaints(with(many), {{2, "sources", "at most 64 times"}});
  expect_complaints(with(source("a") + source("")), {{6, "sources[1].name", "is missing"}});
  expect_complaints(with(source("a") + source("a")), {{7, "sources[1].name", "is the name of sources[0] already"}});
  expect_complaints(with(source("a") + source("1a")), {{7, "sources[1].name", "begin with a letter or \"_\""}});
  expect_complaints(with(source("a") + source("-a")), {{7, "sources[1].name", "begin with a letter or \"_\""}});
  expect_complaints(with(source("a/b") + source("b")), {{3, "sources[0].name", "letters, digits"}});
  expect_complaints(with(source("a") + source("b") + "[source]\ntype = \"image-folder\"\nuri = \"x\"\n"),
                    {{2, "sources", "must not stand beside [source]"}});
  CHECK(with(source("a") + source("_b-2")));
}

TEST_CASE("`from` must be a field of every source", "[config]") {
  const auto with = [](const std::string& second, const std::string& from, const std::string& op) {
    return load_pipeline_toml(
        "name = \"m\"\n[[sources]]\nname = \"a\"\ntype = \"image-folder\"\nuri = \"x\"\n"
        "[[sources]]\nname = \"b\"\ntype = \"" +
            second +
            "\"\nuri = \"y\"\n[[output]]\nname = \"o\"\n"
            "from = \"" +
            from + "\"\n" + op + "\n[batch]\nsize = 1\n",
        "p.toml", "/files");
  };
  const std::string bytes = "ops = [{ op = \"pad-bytes\", length = 4 }]";
  CHECK(with("webdataset", "path", bytes));
  CHECK(with("webdataset", "source", ""));
  expect_complaints(with("webdataset", "jpg", bytes), {{12, "output[0].from", "is not a field of image-folder"}});
  expect_complaints(with("webdataset", "class", ""),
                    {{12, "output[0].from", "gives integer in one source and bytes in another"}});
  expect_complaints(load_with_line(10, "from = \"source\""),
                    {{10, "output[0].from", "is not a field of image-folder"}});
  expect_complaints(load_with_line(7, "mix = \"exact\""), {{7, "order.mix", "may only stand beside [[sources]]"}});
  CHECK(load_with_line(7, "epoch_samples = 5").value->order.epoch_samples == 5);
}

}  // namespace spdld::config::mix_test
