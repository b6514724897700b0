#include "client/cli/show/show_plan.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include "config/checks/load.h"

namespace spdld::cli {
namespace {

config::PipelineSpec example(const std::string& name) {
  auto loaded = config::load_pipeline_file(std::filesystem::path(SPDLD_EXAMPLES) / name);
  INFO(loaded.sentences());
  REQUIRE(loaded.value);
  return *loaded.value;
}

int count_before(const ShowPlan& plan, ShownAs as) {
  return static_cast<int>(std::count_if(plan.outputs.begin(), plan.outputs.end(),
                                        [&](const ShownOutput& shown) { return shown.is_before && shown.as == as; }));
}

const ShownOutput& shown_named(const ShowPlan& plan, const std::string& name) {
  for (const ShownOutput& shown : plan.outputs)
    if (shown.name == name) return shown;
  throw std::runtime_error("no output " + name);
}

TEST_CASE("a sheet's pipeline takes little of the daemon, and gives what the pipeline gives", "[show]") {
  const config::PipelineSpec spec = example("detection.toml");
  const ShowPlan plan = plan_of(spec, 200);
  CHECK(plan.spec.cache == config::CacheForm::kOff);
  CHECK(plan.spec.batch.prefetch_depth == 1);
  CHECK(plan.spec.cpu_weight < spec.cpu_weight);
  CHECK(plan.spec.name != spec.name);
  CHECK(plan.spec.seed == spec.seed);
  REQUIRE(plan.spec.outputs.size() > spec.outputs.size());
  for (size_t i = 0; i < spec.outputs.size(); ++i) CHECK(plan.spec.outputs[i].name == spec.outputs[i].name);
  CHECK(plan.tiles == 2);
}

TEST_CASE("the meaning of outputs is read from their operations", "[show]") {
  const ShowPlan plan = plan_of(example("detection.toml"), 200);
  CHECK(shown_named(plan, "image").as == ShownAs::kPicture);
  CHECK(shown_named(plan, "boxes").as == ShownAs::kBoxes);
  CHECK(shown_named(plan, "boxes").format == "xyxy");
  CHECK(shown_named(plan, "classes").as == ShownAs::kRowsOf);
  CHECK(shown_named(plan, "classes").of == "boxes");
  CHECK(shown_named(plan, "corners").as == ShownAs::kPoints);
  for (const ShownAs as : {ShownAs::kPicture, ShownAs::kBoxes, ShownAs::kRowsOf, ShownAs::kPoints})
    CHECK(count_before(plan, as) == 1);
  CHECK(shown_named(plan_of(example("segmentation.toml"), 200), "classes").as == ShownAs::kMask);
  const ShowPlan voc = plan_of(example("voc-objects.toml"), 200);
  CHECK(shown_named(voc, "masks").as == ShownAs::kObjectMasks);
  CHECK(shown_named(voc, "labels").is_class);
  CHECK(plan_of(example("multi-crop.toml"), 200).tiles == 11);
  CHECK(plan_of(example("ten-crop.toml"), 200).tiles == 1 + 10 + 5);
  CHECK(plan_of(example("frames.toml"), 200).tiles == 2 + 2 + 8);
}

TEST_CASE("a tensor that another executor makes is shown as what it says it is", "[show]") {
  const auto plan_with = [](const std::string& ops) {
    const auto loaded = config::load_pipeline_toml(
        "name = \"p\"\n[source]\ntype = \"webdataset\"\nuri = \"/d/a.tar\"\n[[output]]\nname = \"x\"\nfrom = \"jpg\"\n"
        "ops = [" +
            ops + "]\n[batch]\nsize = 2\n",
        "p.toml");
    INFO(loaded.sentences());
    REQUIRE(loaded);
    return plan_of(*loaded.value, 200);
  };
  const auto python = [](const std::string& type) {
    return R"({ op = "python", call = "a:b", gives = ")" + type + "\" }";
  };
  const ShowPlan plain = plan_with(R"({ op = "decode-image" }, )" + python("uint8 [20, 30, 3]"));
  CHECK(shown_named(plain, "x").as == ShownAs::kPicture);
  CHECK(shown_named(plain, "x").layout == config::Layout::kNhwc);
  CHECK_FALSE(shown_named(plain, "x").is_stretched);
  CHECK(shown_named(plain, "x").factors == std::vector<double>{1.0 / 255});
  CHECK(count_before(plain, ShownAs::kPicture) == 1);
  CHECK(plain.tiles == 2);
  const ShowPlan planes = plan_with(R"({ op = "decode-image" }, )" + python("float32 [3, 20, 30]"));
  CHECK(shown_named(planes, "x").layout == config::Layout::kNchw);
  CHECK(shown_named(planes, "x").is_stretched);
  CHECK(shown_named(planes, "x").factors == std::vector<double>{1});
  CHECK(shown_named(plan_with(python("uint16 [20, 30, 1]")), "x").factors == std::vector<double>{1.0 / 65535});
  const ShowPlan vector = plan_with(python("float32 [512]"));
  CHECK(shown_named(vector, "x").as != ShownAs::kPicture);
  CHECK(vector.tiles == 0);
  const ShowPlan decoded =
      plan_with(python("bytes") + R"(, { op = "decode-image" }, { op = "resize", size = [8, 8] })");
  CHECK(shown_named(decoded, "x").as == ShownAs::kPicture);
  CHECK(count_before(decoded, ShownAs::kPicture) == 0);
  CHECK(decoded.tiles == 1);
}

TEST_CASE("every example can be shown, with its pictures before they are changed", "[show]") {
  int with_pictures = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SPDLD_EXAMPLES)) {
    const std::string name = entry.path().filename().string();
    if (name == "spdld.toml") continue;
    INFO(name);
    const ShowPlan plan = plan_of(example(name), 200);
    CHECK(config::load_pipeline_json(config::full_json(plan.spec), name).sentences().empty());
    const bool has_picture = std::any_of(plan.outputs.begin(), plan.outputs.end(),
                                         [](const ShownOutput& shown) { return shown.as == ShownAs::kPicture; });
    CHECK(has_picture == (plan.tiles > 0));
    CHECK((count_before(plan, ShownAs::kPicture) > 0) == has_picture);
    with_pictures += has_picture ? 1 : 0;
  }
  CHECK(with_pictures > 20);
}

}  // namespace
}  // namespace spdld::cli
