// Batches that are bounded by their cost.
#include <random>

#include "tests/config/expect.h"

namespace spdld::config::cost_test {

namespace {

// The batch's lines stand in the place of line 13.
Loaded<PipelineSpec> load_batch(const std::string& text) { return load_with_line(13, text); }

}  // namespace

TEST_CASE("a batch bounded by cost has its defaults written out", "[config]") {
  const auto loaded = load_batch("cost_max = 65536");
  INFO(loaded.sentences());
  REQUIRE(loaded);
  const auto& cost = loaded.value->batch.cost;
  REQUIRE(cost);
  CHECK(loaded.value->batch.size == 0);
  CHECK(cost->cost_max == 65536);
  CHECK(cost->cost == Cost::kBytes);
  CHECK(cost->from == "image");
  CHECK(cost->over == CostOver::kRefuse);
  CHECK(cost->size_max == 1024);
  CHECK(cost->buckets == 16);
  CHECK(cost->edges.empty());
}

TEST_CASE("the keys of a cost are checked, and stand beside cost_max alone", "[config]") {
  struct Case {
    std::string text;
    Expected expected;
  };
  const std::vector<Case> cases = {
      {"cost_max = 0", {13, "batch.cost_max", "from 1 to 1000000000000000"}},
      {"cost_max = 5\nsize = 4", {14, "batch.size", "must not stand beside cost_max"}},
      {"cost_max = 5\nglobal_size = 4", {14, "batch.global_size", "must not stand beside cost_max"}},
      {"size = 4\ncost = \"bytes\"", {14, "batch.cost", "may only stand beside cost_max"}},
      {"size = 4\nbuckets = 4", {14, "batch.buckets", "may only stand beside cost_max"}},
      {"size = 4\nbucket_edges = [4]", {14, "batch.bucket_edges", "may only stand beside cost_max"}},
      {"cost_max = 5\ncost = \"tokens\"", {14, "batch.cost", "\"bytes\" or \"pixels\""}},
      {"cost_max = 5\ncost_from = \"path\"", {14, "batch.cost_from", "none has \"path\""}},
      {"cost_max = 5\ncost_over = \"cut\"", {14, "batch.cost_over", "\"refuse\" or \"leave-out\""}},
      {"cost_max = 5\nbuckets = 65", {14, "batch.buckets", "from 1 to 64"}},
      {"cost_max = 5\nsize_max = 65537", {14, "batch.size_max", "from 1 to 65536"}},
      {"cost_max = 5\nbucket_edges = [3, 3]", {14, "batch.bucket_edges", "must rise"}},
      {"cost_max = 5\nbucket_edges = [3, 2]", {14, "batch.bucket_edges", "must rise"}},
      {"cost_max = 5\nbucket_edges = [1.5]", {14, "batch.bucket_edges", "whole"}},
      {"cost_max = 5\nbucket_edges = [3, 4]\nbuckets = 2", {15, "batch.buckets", "must not stand beside bucket_edges"}},
  };
  for (const auto& [text, expected] : cases) {
    INFO(text);
    expect_complaints(load_batch(text), {expected});
  }
}

TEST_CASE("an order by cost is shuffled as a whole, or not at all", "[config]") {
  const auto with_order = [](const std::string& order) {
    return load_pipeline_toml(
        "name = \"a\"\n[source]\ntype = \"image-folder\"\nuri = \"/d\"\n[[output]]\nname = "
        "\"label\"\nfrom = \"class\"\n[[output]]\nname = \"x\"\nfrom = \"image\"\nops = [{ op = "
        "\"pad-bytes\", length = 9 }]\n[batch]\ncost_max = 9\ncost_from = \"image\"\n[order]\n" +
            order,
        "a.toml");
  };
  CHECK(with_order("shuffle = false"));
  for (const char* order :
       {"shuffle = \"window\"", "shuffle = \"client\"", "epoch_samples = 4", "repeats = 2", "weights = \"class\""}) {
    INFO(order);
    const auto loaded = with_order(order);
    REQUIRE_FALSE(loaded);
    CHECK_THAT(loaded.sentences(), Catch::Contains("beside batch.cost_max"));
  }
}

TEST_CASE("pixels are those of a picture that is decoded", "[config]") {
  CHECK(load_batch("cost_max = 65536\ncost = \"pixels\""));
  const auto loaded = load_pipeline_toml(
      "name = \"a\"\n[source]\ntype = \"webdataset\"\nuri = \"/d.tar\"\n[[output]]\nname = \"x\"\nfrom = \"txt\"\n"
      "ops = [{ op = \"pad-bytes\", length = 9 }]\n[batch]\ncost_max = 9\ncost = \"pixels\"\n",
      "a.toml");
  REQUIRE_FALSE(loaded);
  CHECK_THAT(loaded.sentences(), Catch::Contains("decode-image"));
}

TEST_CASE("what bounds a batch decides the bytes, and is written only where it is given", "[config]") {
  CHECK(canonical_json(*load_batch("size = 8").value).find("cost") == std::string::npos);
  CHECK(canonical_json(*load_batch("size = 8").value).find("bucket") == std::string::npos);
  std::mt19937_64 random(5);
  std::vector<std::string> seen;
  for (int i = 0; i < 200; ++i) {
    std::string text = "cost_max = " + std::to_string(1 + random() % 1000);
    if (random() % 2) text += "\ncost = \"pixels\"";
    if (random() % 2) text += "\ncost_over = \"leave-out\"";
    if (random() % 2) text += "\nsize_max = " + std::to_string(1 + random() % 100);
    if (random() % 2)
      text += "\nbuckets = " + std::to_string(1 + random() % 64);
    else if (random() % 2)
      text += "\nbucket_edges = [" + std::to_string(random() % 9) + ", " + std::to_string(9 + random() % 9) + "]";
    INFO(text);
    const auto first = load_batch(text);
    REQUIRE(first);
    const auto again = load_pipeline_json(full_json(*first.value), "again");
    INFO(again.sentences());
    REQUIRE(again);
    CHECK(full_json(*again.value) == full_json(*first.value));
    CHECK(canonical_json(*again.value) == canonical_json(*first.value));
  }
  const auto of = [](const std::string& text) { return canonical_json(*load_batch("cost_max = 50\n" + text).value); };
  for (const char* text : {"cost = \"pixels\"", "cost_over = \"leave-out\"", "size_max = 7", "buckets = 7",
                           "bucket_edges = [7]", "bucket_edges = [8]"})
    seen.push_back(of(text));
  seen.push_back(of(""));
  for (size_t i = 0; i < seen.size(); ++i)
    for (size_t j = 0; j < i; ++j) CHECK(seen[i] != seen[j]);
  CHECK(of("buckets = 16\nsize_max = 1024\ncost = \"bytes\"") == of(""));
}

}  // namespace spdld::config::cost_test
