// The keys of a run's fingerprint: what is among them, and under which names.
#include "config/run_keys.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/config/expect.h"

namespace spdld::config::run_keys_test {
namespace {

PipelineSpec spec_of(const std::string& order, const std::string& outputs = "", const std::string& source = "") {
  const auto loaded = load_pipeline_toml(
      "name = \"p\"\nseed = 3\n[source]\ntype = \"image-folder\"\nuri = \"/d\"\n" + source + "\n[order]\n" + order +
          "\n[[output]]\nname = \"image\"\nfrom = \"image\"\nops = [{ op = \"decode-image\" }, { op = \"resize\", size "
          "= 8 }, "
          "{ op = \"center-crop\", size = 8 }, { op = \"random-apply\", p = 0.5, ops = [{ op = \"invert\" }] }, "
          "{ op = \"random-apply\", p = 0.25, ops = [{ op = \"grayscale\" }] }]\n" +
          outputs + "\n[batch]\nsize = 4\n",
      "p.toml", "/");
  INFO(loaded.sentences());
  REQUIRE(loaded);
  return *loaded.value;
}

std::map<std::string, std::string> keys_of(const PipelineSpec& spec) {
  std::map<std::string, std::string> keys;
  for (const RunKey& key : run_keys(spec)) {
    INFO(key.path);
    CHECK(keys.emplace(key.path, key.value).second);
  }
  return keys;
}

}  // namespace

TEST_CASE("a run's keys have the names of outputs and operations in their paths", "[config]") {
  const auto keys = keys_of(spec_of(""));
  CHECK(keys.at("seed") == "3");
  CHECK(keys.at("output") == "[\"image\"]");
  CHECK(keys.at("output/image/from") == "\"image\"");
  CHECK(keys.at("output/image/ops")
            .find("[\"decode-image\",\"resize\",\"center-crop\",\"random-apply\",\"random-apply\"") == 0);
  CHECK(keys.at("output/image/ops/random-apply/p") == "0.5");
  CHECK(keys.at("output/image/ops/random-apply[2]/p") == "0.25");
  CHECK(keys.at("output/image/ops/random-apply[2]/ops") == "[\"grayscale\"]");
  CHECK(keys.contains("output/image/ops/center-crop/size"));
  CHECK(keys.contains("batch/last"));
  CHECK(keys.contains("source/type"));
}

TEST_CASE("a run's keys have what chooses samples, and no path and no key that decides nothing", "[config]") {
  const auto plain = keys_of(spec_of(""));
  CHECK(keys_of(spec_of("epochs = 7\ninclude = \"/lists/a\"\nexclude = [3]")) == plain);
  const auto part = keys_of(spec_of("first = 9\npart = { of = 3, index = 1, groups = \"/g.csv\" }"));
  CHECK(part.at("order/first") == "9");
  CHECK(part.at("order/part/of") == "3");
  CHECK_FALSE(part.contains("order/part/groups"));
  CHECK(keys_of(spec_of("part = { of = 3, index = 1, groups = \"folder\" }")).at("order/part/groups") == "\"folder\"");
  CHECK(keys_of(spec_of("weights = \"class\"")).at("order/weights") == "\"class\"");
  CHECK_FALSE(keys_of(spec_of("weights = \"/w.csv\"")).contains("order/weights"));
  const auto mix = load_pipeline_json(
      R"({"name": "p", "sources": [{"name": "a", "type": "image-folder", "uri": "/a", "first": 5}, {"name": "b", "type": )"
      R"("image-folder", "uri": "/b"}], "output": [{"name": "y", "from": "class"}], "batch": {"size": 1}})",
      "p");
  INFO(mix.sentences());
  REQUIRE(mix);
  const auto mixed = keys_of(*mix.value);
  CHECK(mixed.at("sources") == "[\"a\",\"b\"]");
  CHECK(mixed.at("sources/a/first") == "5");
  CHECK(mixed.contains("sources/b/type"));
}

TEST_CASE("pipelines differ in a key exactly where their specs differ", "[config]") {
  std::vector<std::pair<std::string, std::map<std::string, std::string>>> seen;
  for (const auto& entry : std::filesystem::directory_iterator(SPDLD_EXAMPLES)) {
    if (entry.path().extension() != ".toml") continue;
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    const auto loaded = load_pipeline_toml(text.str(), entry.path().string(), "/d");
    if (!loaded) continue;  // the daemon's own file
    PipelineSpec spec = *loaded.value;
    for (const bool is_seeded : {false, true}) {
      if (is_seeded) ++spec.seed;
      const auto keys = keys_of(spec);
      for (const auto& [json, others] : seen)
        if (json != canonical_json(spec)) CHECK(others != keys);
      seen.emplace_back(canonical_json(spec), keys);
    }
  }
  CHECK(seen.size() > 60);
}

}  // namespace spdld::config::run_keys_test
