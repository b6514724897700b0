// Operations that warp pictures: their sizes, their parameters that have several spellings, and their complaints.
#include <catch2/catch.hpp>
#include <string>

#include "config/checks/load.h"
#include "config/operation.h"
#include "tests/config/expect.h"

namespace spdld::config::warps_test {
namespace {

const std::string kCrop = ", { op = \"center-crop\", size = 8 }";

Loaded<PipelineSpec> load(const std::string& op, const std::string& end = kCrop, const std::string& decode = "") {
  return load_pipeline_toml(
      "name = \"p\"\n\n[source]\ntype = \"image-folder\"\nuri = \"/\"\n[batch]\nsize = 1\n"
      "[[output]]\nname = \"x\"\nfrom = \"image\"\nops = [{ op = \"decode-image\"" +
          decode + " }, " + op + end + "]\n",
      "p.toml");
}

std::vector<double> numbers(const std::string& op, const std::string& name) {
  const auto loaded = load(op);
  INFO(loaded.sentences());
  REQUIRE(loaded);
  return loaded.value->outputs[0].ops[1].numbers(name);
}

TEST_CASE("one number of a turn is for both directions", "[config]") {
  CHECK(numbers("{ op = \"affine\", degrees = 30 }", "degrees") == std::vector<double>{-30, 30});
  CHECK(numbers("{ op = \"affine\", degrees = [5, 30] }", "degrees") == std::vector<double>{5, 30});
  CHECK(numbers("{ op = \"affine\", degrees = 0, shear = 4 }", "shear") == std::vector<double>{-4, 4});
  CHECK(numbers("{ op = \"affine\", degrees = 0 }", "shear") == std::vector<double>{0, 0});
  CHECK(numbers("{ op = \"rotate\", degrees = 7 }", "degrees") == std::vector<double>{-7, 7});
}

TEST_CASE("wrong warps are complained about with what to write", "[config]") {
  const auto wrong = [](const std::string& op, const std::string& key, const std::string& text) {
    INFO(op);
    expect_complaints(load(op), {{11, "output[0].ops[1]" + key, text}});
  };
  wrong("{ op = \"affine\" }", ".degrees", "is missing");
  wrong("{ op = \"affine\", degrees = -3 }", ".degrees", "at least 0 where it is one number x");
  wrong("{ op = \"affine\", degrees = [3, 1] }", ".degrees", "least number first");
  wrong("{ op = \"affine\", degrees = 400 }", ".degrees", "-360 to 360");
  wrong("{ op = \"affine\", degrees = 1, shear = 90 }", ".shear", "-89 to 89");
  wrong("{ op = \"affine\", degrees = 1, shear = [1, 2, 3] }", ".shear", "one, two or four numbers");
  wrong("{ op = \"affine\", degrees = 1, shear = [1, 2, 4, 3] }", ".shear", "least number first");
  wrong("{ op = \"affine\", degrees = 1, scale = 0 }", ".scale", "above 0");
  wrong("{ op = \"affine\", degrees = 1, scale = [2, 1] }", ".scale", "least number first");
  wrong("{ op = \"affine\", degrees = 1, translate = 0.5 }", ".translate", "two numbers, [across, down]");
  wrong("{ op = \"affine\", degrees = 1, fill = [1, 2] }", ".fill", "one number or [red, green, blue]");
  wrong("{ op = \"affine\", degrees = 1, fill = 256 }", ".fill", "0 to 255");
  wrong("{ op = \"affine\", degrees = 1, center = 3 }", ".center", "two numbers, [x, y]");
  wrong("{ op = \"affine\", degrees = 1, filter = \"bicubic\" }", ".filter", "\"nearest\" or \"bilinear\"");
  wrong("{ op = \"rotate\", degrees = 1, expand = true, center = [3, 4] }", ".center", "beside expand = true");
  wrong("{ op = \"perspective\", distortion_scale = 1.5 }", ".distortion_scale", "0 to 1");
  wrong("{ op = \"elastic\", sigma = 0 }", ".sigma", "above 0");
  wrong("{ op = \"pad\" }", ".padding", "is missing");
  wrong("{ op = \"pad-to\" }", ".size", "is missing");
  wrong("{ op = \"pad-to\", size = 8, fill = [1, 2] }", ".fill", "one number or [red, green, blue]");
  wrong("{ op = \"pad-to\", size = 8, place = \"left\" }", ".place", "\"middle\" or \"corner\"");
  wrong("{ op = \"pad\", padding = -1 }", ".padding", "0 to 16384");
  wrong("{ op = \"pad\", padding = [1, 2, 3] }", ".padding", "one, two or four numbers");
  wrong("{ op = \"pad\", padding = 1, mode = \"edge\", fill = 3 }", ".fill", "mode = \"constant\" alone");
  wrong("{ op = \"random-resize\", size = [9, 9] }", ".size", "a least number below the bound");
  wrong("{ op = \"random-size-crop\" }", ".sides", "is missing");
  wrong("{ op = \"random-size-crop\", sides = 9 }", ".sides", "two whole numbers");
  wrong("{ op = \"random-size-crop\", sides = [9, 8] }", ".sides", "least number first");
  wrong("{ op = \"random-size-crop\", sides = [0, 8] }", ".sides", "1 to 16384");
  wrong("{ op = \"random-size-crop\", sides = [7.5, 8] }", ".sides", "whole");
  wrong("{ op = \"timm-rand-augment\", magnitude = 11 }", ".magnitude", "0 to 10");
  wrong("{ op = \"timm-rand-augment\", change_p = 1.5 }", ".change_p", "0 to 1");
  wrong("{ op = \"timm-rand-augment\", filter = \"nearest\" }", ".filter", "\"bicubic\"");
  wrong("{ op = \"timm-rand-augment\", fill = [1, 2] }", ".fill", "one number or [red, green, blue]");
  wrong("{ op = \"random-shortest-size\", sizes = [9, 0] }", ".sizes", "1 to 16384");
  wrong("{ op = \"scale-jitter\", size = 9, scale = 2 }", ".scale", "two numbers, [least, greatest]");
  wrong("{ op = \"scale-jitter\", size = 9, scale = [2, 1] }", ".scale", "least number first");
  wrong("{ op = \"zoom-out\", side_range = 2 }", ".side_range", "two numbers");
  wrong("{ op = \"zoom-out\", side_range = [0.5, 2] }", ".side_range", "1 to 8");
}

TEST_CASE("warps follow a picture's size", "[config]") {
  const auto shape_of = [](const std::string& op) {
    const auto loaded = load("{ op = \"resize\", size = [20, 30] }, " + op, "");
    INFO(loaded.sentences());
    REQUIRE(loaded);
    const auto& ops = loaded.value->outputs[0].ops;
    return follow(ops, start_of(ops)).end().shape();
  };
  CHECK(shape_of("{ op = \"affine\", degrees = 3 }") == std::vector<int64_t>{20, 30, 3});
  CHECK(shape_of("{ op = \"pad\", padding = 3 }") == std::vector<int64_t>{26, 36, 3});
  CHECK(shape_of("{ op = \"pad\", padding = [1, 5] }") == std::vector<int64_t>{30, 32, 3});
  CHECK(shape_of("{ op = \"pad\", padding = [1, 2, 3, 4] }") == std::vector<int64_t>{26, 34, 3});
  CHECK(shape_of("{ op = \"pad-to\", size = 25 }") == std::vector<int64_t>{25, 30, 3});
  CHECK(shape_of("{ op = \"pad-to\", size = [10, 40], place = \"corner\" }") == std::vector<int64_t>{20, 40, 3});
  for (const char* op :
       {"{ op = \"random-size-crop\", sides = [8, 9] }", "{ op = \"rotate\", degrees = 3, expand = true }",
        "{ op = \"zoom-out\" }", "{ op = \"pad-to\", size = 20 }"})
    expect_complaints(load("{ op = \"resize\", size = 20 }", ", " + std::string(op)),
                      {{11, "output[0].ops", "add center-crop, random-crop, random-resized-crop, or"}});
}

TEST_CASE("warps take pictures of 8 bits without alpha", "[config]") {
  const std::string op = "{ op = \"rotate\", degrees = 3 }";
  expect_complaints(load(op, kCrop, ", colours = \"rgba\""), {{11, "output[0].ops[1]", "these have alpha"}});
  expect_complaints(load(op, kCrop, ", bits = 16"), {{11, "output[0].ops[1]", "takes pictures of 8 bits"}});
  CHECK(load(op, kCrop, ", colours = \"grey\""));
}

}  // namespace
}  // namespace spdld::config::warps_test
