// The digests of a run's keys: bounded for every pipeline, and different where the pipelines are.
#include "proto/key_digests.h"

#include <catch2/catch.hpp>
#include <string>

#include "config/checks/load.h"
#include "daemon/pipeline/pipeline.h"

namespace spdld::key_digests_test {

using namespace spdld;

namespace {

// Some outputs with some operations each; the first output's last operation has this factor.
config::PipelineSpec spec_of(int outputs, int operations, const std::string& seed = "3",
                             const std::string& last = "0.5") {
  std::string text =
      "name = \"p\"\nseed = " + seed + "\n[source]\ntype = \"image-folder\"\nuri = \"/d\"\n[batch]\nsize = 4\n";
  for (int i = 0; i < outputs; ++i) {
    text += "[[output]]\nname = \"image-with-a-long-name-" + std::to_string(i) +
            "\"\nfrom = \"image\"\nops = [{ op = "
            "\"decode-image\" }, { op = \"resize\", size = [8, 8] }";
    for (int k = 0; k < operations; ++k)
      text += ", { op = \"brightness\", factor = [" + (i == 0 && k + 1 == operations ? last : "0.5") + ", 1] }";
    text += "]\n";
  }
  const auto loaded = config::load_pipeline_toml(text, "p.toml", "/");
  INFO(loaded.sentences());
  REQUIRE(loaded);
  return *loaded.value;
}

std::string note(const config::PipelineSpec& mine, const config::PipelineSpec& other) {
  return proto::key_note({"the pipeline's spec", 1, false}, pipeline::key_digests_of(mine),
                         pipeline::key_digests_of(other));
}

}  // namespace

TEST_CASE("the keys of a small pipeline are told one by one") {
  CHECK(note(spec_of(1, 2, "4"), spec_of(1, 2)) == " (seed has another value)");
  CHECK(note(spec_of(2, 2, "3", "0.25"), spec_of(2, 2)) ==
        " (output.image-with-a-long-name-0.ops.brightness[2].factor has another value)");
  CHECK(note(spec_of(2, 2), spec_of(1, 2)) == " (output has another value; output.image-with-a-long-name-1 is new)");
  CHECK(pipeline::key_digests_of(spec_of(1, 2)) == pipeline::key_digests_of(spec_of(1, 2)));
}

TEST_CASE("the keys of a large pipeline are told together, down to what has room") {
  for (const auto& [outputs, operations] : {std::pair{12, 6}, {24, 20}, {60, 2}}) {
    const std::string text = pipeline::key_digests_of(spec_of(outputs, operations));
    const auto keys = proto::read_key_digests(text);
    REQUIRE(keys);
    CHECK(keys->size() > 4);
    CHECK(note(spec_of(outputs, operations, "4"), spec_of(outputs, operations)) == " (seed has another value)");
    const std::string changed = note(spec_of(outputs, operations, "3", "0.25"), spec_of(outputs, operations));
    INFO(changed);
    CHECK(changed.find(" (output") == 0);
    CHECK(changed.find(" has another value)") != std::string::npos);
  }
}

}  // namespace spdld::key_digests_test
