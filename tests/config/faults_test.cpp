// The keys that say what becomes of data with faults, and means on the wrong scale.
#include <catch2/catch.hpp>
#include <string>

#include "tests/config/expect.h"

namespace spdld::config::faults_test {
namespace {

Loaded<PipelineSpec> load_with(int line, const std::string& text) {
  return load_pipeline_toml(with_line(line, text), "train.toml", "/");
}

const std::vector<double>& numbers(const Loaded<PipelineSpec>& loaded, std::string_view name) {
  return loaded.value->outputs.front().ops.back().numbers(name);
}

std::string normalizing(const std::string& parameters) {
  return "ops = [{ op = \"decode-image\" }, { op = \"center-crop\", size = 8 }, { op = \"normalize\", " + parameters +
         " }]";
}

// Of a spec that comes back from its own text.
PipelineSpec read_back(const PipelineSpec& spec) {
  const auto again = load_pipeline_json(full_json(spec), "again");
  INFO(again.sentences());
  REQUIRE(again);
  CHECK(full_json(*again.value) == full_json(spec));
  return *again.value;
}

TEST_CASE("a listing that misses something is refused, unless the source says to go on", "[config]") {
  CHECK(load_with(2, "").value->sources.front().on_missing == OnMissing::kRefuse);
  CHECK(load_with(5, "uri = \"/d\"\non_missing = \"refuse\"").value->sources.front().on_missing == OnMissing::kRefuse);
  const auto warned = load_with(5, "uri = \"/data/train\"\non_missing = \"warn\"");
  REQUIRE(warned);
  CHECK(warned.value->sources.front().on_missing == OnMissing::kWarn);
  CHECK(read_back(*warned.value).sources.front().on_missing == OnMissing::kWarn);
  // What it lists the listing's own fingerprint tells.
  CHECK(canonical_json(*warned.value) == canonical_json(*load_with(5, "uri = \"/data/train\"").value));
  expect_complaints(load_with(5, "uri = \"/d\"\non_missing = \"ignore\""),
                    {{6, "source.on_missing", "\"refuse\" or \"warn\", not \"ignore\""}});
}

TEST_CASE("each of several sources says for itself what becomes of it", "[config]") {
  const std::string two =
      "name = \"a\"\n[[sources]]\nname = \"x\"\ntype = \"image-folder\"\nuri = \"/x\"\non_missing = "
      "\"warn\"\n[[sources]]\n"
      "name = \"y\"\ntype = \"image-folder\"\nuri = \"/y\"\n[[output]]\nname = \"l\"\nfrom = \"class\"\n[batch]\nsize "
      "= 1\n";
  const auto loaded = load_pipeline_toml(two, "mix.toml", "/");
  INFO(loaded.sentences());
  REQUIRE(loaded);
  const PipelineSpec again = read_back(*loaded.value);
  CHECK(again.sources[0].on_missing == OnMissing::kWarn);
  CHECK(again.sources[1].on_missing == OnMissing::kRefuse);
}

TEST_CASE("bad_max is a part of an epoch, a number of samples, or auto", "[config]") {
  CHECK_FALSE(load_with(2, "").value->bad_max.has_value());
  CHECK_FALSE(load_with(2, "bad_max = \"auto\"").value->bad_max.has_value());
  CHECK(load_with(2, "bad_max = 0").value->bad_max == 0);
  CHECK(load_with(2, "bad_max = 0.25").value->bad_max == 0.25);
  CHECK(load_with(2, "bad_max = 500\non_bad = \"mask\"").value->bad_max == 500);
  CHECK(read_back(*load_with(2, "bad_max = 0.25").value).bad_max == 0.25);
  CHECK(canonical_json(*load_with(2, "bad_max = 3").value) == canonical_json(*load_with(2, "").value));
  expect_complaints(load_with(2, "bad_max = -1"), {{2, "bad_max", "\"auto\" or a number from 0 to"}});
  expect_complaints(load_with(2, "bad_max = 1.5"), {{2, "bad_max", "a whole number of samples"}});
  expect_complaints(load_with(2, "bad_max = \"1 %\""), {{2, "bad_max", "\"auto\" or a number"}});
  expect_complaints(load_with(2, "on_bad = \"fail\"\nbad_max = 5"), {{3, "bad_max", "on_bad = \"fail\""}});
}

TEST_CASE("means above 1 are refused with what to write, unless scale = 255 says so", "[config]") {
  const std::string mean = "mean = [123.675, 116.28, 103.53], ", std = "std = [58.395, 57.12, 57.375]";
  expect_complaints(load_with(11, normalizing(mean + std)),
                    {{11, "output[0].ops[2].mean", "divide mean and std by 255, or write scale = 255"}});
  expect_complaints(load_with(11, normalizing("mean = [0.5, 1.0001, 0], std = [1, 1, 1]")),
                    {{11, "output[0].ops[2].mean", "white is 1"}});
  CHECK(load_with(11, normalizing("mean = [1, 0, -3], std = [1, 1, 300]")));
  const auto scaled = load_with(11, normalizing(mean + std + ", scale = 255"));
  INFO(scaled.sentences());
  REQUIRE(scaled);
  const std::vector<double> means = {0.485, 0.456, 0.406}, stds = {0.229, 0.224, 0.225};
  for (size_t i = 0; i < 3; ++i) {
    CHECK(static_cast<float>(numbers(scaled, "mean")[i]) == static_cast<float>(means[i]));
    CHECK(static_cast<float>(numbers(scaled, "std")[i]) == static_cast<float>(stds[i]));
  }
  CHECK(numbers(load_pipeline_json(full_json(*scaled.value), "again"), "mean") == numbers(scaled, "mean"));
  // Pipelines that are as they were keep their fingerprint.
  const auto plain = load_with(11, normalizing("mean = [0, 0, 0], std = [1, 1, 1]"));
  const auto one = load_with(11, normalizing("mean = [0, 0, 0], std = [1, 1, 1], scale = 1"));
  CHECK(canonical_json(*plain.value) == canonical_json(*one.value));
  CHECK(canonical_json(*plain.value).find("scale") == std::string::npos);
  expect_complaints(load_with(11, normalizing("mean = [0, 256, 0], std = [1, 1, 1], scale = 255")),
                    {{11, "output[0].ops[2].mean", "at most 255"}});
  expect_complaints(load_with(11, normalizing("mean = [0, 0, 0], std = [1, 1, 1], scale = 2")),
                    {{11, "output[0].ops[2].scale", "1, 255 or 65535, not 2"}});
  expect_complaints(load_with(11, normalizing("mean = [0, 0], std = [1, 1, 1]")),
                    {{11, "output[0].ops[2]", "its `mean` has 2 numbers: write one for each"}});
  expect_complaints(load_with(11, normalizing("mean = [0, 0, 0, 0, 0], std = [1, 1, 1]")),
                    {{11, "output[0].ops[2].mean", "one to four numbers"}});  // and nothing of its count
}

}  // namespace
}  // namespace spdld::config::faults_test
