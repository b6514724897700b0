// `copies` of an output: the spec is that of a file in which each copy is written by itself.
#include "tests/config/expect.h"

namespace spdld::config::copies_test {
namespace {

// The output of plain_lines() with this name, and a crop that draws.
std::string output_of(const std::string& name, const std::string& crop_draw, const std::string& flip_draw) {
  return "name = \"" + name + "\"\nfrom = \"image\"\nops = [{ op = \"decode-image\" }, { op = \"random-crop\", " +
         "size = 32, draw = \"" + crop_draw + "\" }, { op = \"horizontal-flip\", draw = \"" + flip_draw + "\" }]\n";
}

Loaded<PipelineSpec> load_outputs(const std::string& outputs) {
  return load_pipeline_toml(
      "name = \"t\"\n[source]\ntype = \"image-folder\"\nuri = \"/data\"\n[batch]\nsize = 8\n" + outputs, "test.toml");
}

}  // namespace

TEST_CASE("copies of an output are outputs with draws of their own", "[config]") {
  const auto copied = load_outputs("[[output]]\ncopies = 2\n" + output_of("local", "", "turn"));
  INFO(copied.sentences());
  REQUIRE(copied);
  const auto written = load_outputs("[[output]]\n" + output_of("local-1", "random-crop-1", "turn-1") + "[[output]]\n" +
                                    output_of("local-2", "random-crop-2", "turn-2"));
  REQUIRE(written);
  CHECK(full_json(*copied.value) == full_json(*written.value));
  CHECK(canonical_json(*copied.value) == canonical_json(*written.value));
  const auto one = load_outputs("[[output]]\ncopies = 1\n" + output_of("local", "", "turn"));
  REQUIRE(one);
  CHECK(one.value->outputs.size() == 1);
  CHECK(one.value->outputs[0].name == "local");
}

TEST_CASE("copies that can't be made get a sentence", "[config]") {
  const std::string output = output_of("local", "", "");
  expect_complaints(load_outputs("[[output]]\ncopies = 0\n" + output), {{8, "output[0].copies", "from 1 to 32"}});
  expect_complaints(load_outputs("[[output]]\ncopies = 33\n" + output), {{8, "output[0].copies", "from 1 to 32"}});
  expect_complaints(load_outputs("[[output]]\ncopies = 2\nview = \"v\"\n" + output),
                    {{8, "output[0].copies", "may not stand beside view"}});
  expect_complaints(load_outputs("[[output]]\ncopies = 2\nragged = true\nlength_max = 9\nname = \"t\"\nfrom = "
                                 "\"image\"\nops = [{ op = \"bytes\" }]\n"),
                    {{8, "output[0].copies", "further tensors"}});
  expect_complaints(load_outputs("[[output]]\ncopies = 2\n" + output + "[[output]]\n" + output_of("local-2", "", "")),
                    {{8, "output[0].copies", "\"local-2\""}});
  const std::string long_name(63, 'n');
  expect_complaints(load_outputs("[[output]]\ncopies = 2\n" + output_of(long_name, "", "")),
                    {{9, "output[0].name", "too long for copies"}});
}

TEST_CASE("a batch has at most so many tensors with all copies counted", "[config]") {
  std::string outputs;
  for (const char* name : {"a", "b", "c"}) outputs += "[[output]]\ncopies = 32\n" + output_of(name, "", "");
  const auto loaded = load_outputs(outputs);
  REQUIRE_FALSE(loaded);
  CHECK_THAT(loaded.sentences(), Catch::Contains("97 tensors"));
}

}  // namespace spdld::config::copies_test
