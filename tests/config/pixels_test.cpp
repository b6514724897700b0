// The pixels that decode-image is asked for: their keys, their complaints, and specs that do not use them.
#include <catch2/catch.hpp>
#include <string>

#include "config/checks/load.h"
#include "config/picture_pixels.h"
#include "tests/config/expect.h"

namespace spdld::config::pixels_test {
namespace {

Loaded<PipelineSpec> load(const std::string& decode, const std::string& end = "", const std::string& top = "") {
  return load_pipeline_toml("name = \"p\"\n" + top +
                                "\n[source]\ntype = \"image-folder\"\nuri = \"/\"\n[batch]\nsize = 1\n" +
                                "[[output]]\nname = \"x\"\nfrom = \"image\"\nops = [{ op = \"decode-image\"" + decode +
                                " }, { op = \"center-crop\", size = 8 }" + end + "]\n",
                            "p.toml");
}

const std::string kUint16 = ", { op = \"convert\", dtype = \"uint16\" }";

TEST_CASE("colours and bits change a spec only where they are not as before", "[config]") {
  const auto plain = load("");
  const auto written = load(", colours = \"rgb\", bits = 8, profile = \"ignore\"");
  REQUIRE(plain);
  REQUIRE(written);
  CHECK(canonical_json(*plain.value) == canonical_json(*written.value));
  CHECK(canonical_json(*plain.value).find("colours") == std::string::npos);
  CHECK(canonical_json(*plain.value).find("bits") == std::string::npos);
  CHECK(canonical_json(*plain.value).find("profile") == std::string::npos);
  const auto srgb = load(", profile = \"srgb\"");
  REQUIRE(srgb);
  CHECK(picture_pixels(srgb.value->outputs[0].ops[0]).srgb);
  CHECK_FALSE(picture_pixels(plain.value->outputs[0].ops[0]).srgb);
  CHECK(canonical_json(*srgb.value) != canonical_json(*plain.value));
  CHECK(canonical_json(*load(", frame = 0").value) == canonical_json(*plain.value));
  const auto later = load(", frame = 3");
  REQUIRE(later);
  CHECK(picture_pixels(later.value->outputs[0].ops[0]).frame == 3);
  CHECK(canonical_json(*later.value) != canonical_json(*plain.value));
  const auto grey = load(", colours = \"grey\", bits = 16", kUint16);
  INFO(grey.sentences());
  REQUIRE(grey);
  const auto again = load_pipeline_json(full_json(*grey.value), "again");
  INFO(again.sentences());
  REQUIRE(again);
  CHECK(canonical_json(*again.value) == canonical_json(*grey.value));
  const PicturePixels pixels = picture_pixels(again.value->outputs[0].ops[0]);
  CHECK(pixels.colours == "grey");
  CHECK(pixels.bits == 16);
  CHECK(canonical_json(*load(", colours = \"grey\"").value) != canonical_json(*plain.value));
  CHECK(canonical_json(*load(", colours = \"grey\"").value) != canonical_json(*load(", colours = \"rgba\"").value));
}

TEST_CASE("wrong colours and bits are complained about with what to write", "[config]") {
  expect_complaints(load(", bits = 12"), {{11, "output[0].ops[0].bits", "must be 8, 16 or 32, not 12"}});
  expect_complaints(load(", colours = \"gray\""), {{11, "output[0].ops[0].colours", "\"rgb\", \"grey\""}});
  expect_complaints(load(", bits = 16"),
                    {{11, "output[0].ops", "can't write a picture of 16 bits as uint8: write { op = "}});
  expect_complaints(load(", bits = 32"),
                    {{11, "output[0].ops", "can't write a picture of floating-point numbers as uint8"}});
  expect_complaints(load(", bits = 32", kUint16), {{11, "output[0].ops[2]", "floating-point numbers as uint16"}});
  expect_complaints(load(", bits = 32, colours = \"rgba\"", ", { op = \"convert\", dtype = \"float32\" }"),
                    {{11, "output[0].ops[0].colours", "can't be \"rgba\" with bits = 32"}});
  expect_complaints(load(", bits = 32, profile = \"srgb\"", ", { op = \"convert\", dtype = \"float32\" }"),
                    {{11, "output[0].ops[0].profile", "can't be \"srgb\" with bits = 32"}});
  expect_complaints(load(", bits = 32", ", { op = \"convert\", dtype = \"float32\" }", "cache = \"decoded\""),
                    {{11, "output[0].ops[0].bits", "can't be 32 beside cache = \"decoded\""}});
  expect_complaints(load(", bits = 32", ", { op = \"invert\" }, { op = \"convert\", dtype = \"float32\" }"),
                    {{11, "output[0].ops[2]", "takes pictures of 8 bits, and these have 32"}});
  CHECK(load(", bits = 32, colours = \"grey\"", ", { op = \"convert\", dtype = \"float32\" }"));
  expect_complaints(load("", kUint16),
                    {{11, "output[0].ops[2]", "can't write a picture of 8 bits as uint16: write bits"}});
  expect_complaints(load(", bits = 16", ", { op = \"convert\", dtype = \"uint16\", scale = 2 }"),
                    {{11, "output[0].ops[2].scale", "must be 1 with dtype \"uint16\""}});
  expect_complaints(load(", bits = 16", kUint16, "cache = \"decoded\""),
                    {{11, "output[0].ops[0].bits", "can't be 16 beside cache = \"decoded\""}});
  expect_complaints(load(", colours = \"rgba\"", "", "cache = \"decoded\""),
                    {{11, "output[0].ops[0].colours", "can't be \"rgba\" beside cache = \"decoded\""}});
  expect_complaints(load(", profile = \"srgb\"", "", "cache = \"decoded\""),
                    {{11, "output[0].ops[0].profile", "can't be \"srgb\" beside cache = \"decoded\""}});
  expect_complaints(load(", frame = 3", "", "cache = \"decoded\""),
                    {{11, "output[0].ops[0].frame", "can't stand beside cache = \"decoded\""}});
  CHECK(load(", frame = 0", "", "cache = \"decoded\""));
  expect_complaints(load(", frame = -1"), {{11, "output[0].ops[0].frame", "an integer from 0 to 9999"}});
  expect_complaints(load(", profile = \"p3\""), {{11, "output[0].ops[0].profile", "\"ignore\""}});
  CHECK(load(", colours = \"grey\", profile = \"ignore\"", "", "cache = \"decoded\""));
}

TEST_CASE("resampling as Pillow is for RGB and grey of 8 bits at full size", "[config]") {
  const auto plain = load(""), own = load(", resampling = \"own\""), pillow = load(", resampling = \"pillow\"");
  REQUIRE(pillow);
  CHECK(canonical_json(*own.value) == canonical_json(*plain.value));
  CHECK(canonical_json(*pillow.value) != canonical_json(*plain.value));
  CHECK(resamples_as_pillow(pillow.value->outputs[0].ops[0]));
  CHECK_FALSE(resamples_as_pillow(plain.value->outputs[0].ops[0]));
  CHECK(load(", resampling = \"pillow\", colours = \"grey\", profile = \"srgb\""));
  CHECK(load(", resampling = \"pillow\"", "", "cache = \"decoded\""));
  expect_complaints(load(", resampling = \"pillow\", bits = 16", kUint16),
                    {{11, "output[0].ops[0].resampling", "can't be \"pillow\" with bits = 16"}});
  expect_complaints(load(", resampling = \"pillow\", colours = \"rgba\""),
                    {{11, "output[0].ops[0].resampling", "can't be \"pillow\" with colours = \"rgba\""}});
  expect_complaints(load(", resampling = \"pillow\", fast = true"),
                    {{11, "output[0].ops[0].fast", "can't be true beside resampling = \"pillow\""}});
  expect_complaints(load(", resampling = \"opencv\""),
                    {{11, "output[0].ops[0].resampling", "must be \"own\" or \"pillow\""}});
}

TEST_CASE("means for 16 bits and means where white is 1 are one spec", "[config]") {
  const auto of = [](const std::string& numbers) {
    return load(", colours = \"grey\", bits = 16", ", { op = \"normalize\", " + numbers + " }");
  };
  const auto scaled = of("mean = [32767.5], std = [65535], scale = 65535"), plain = of("mean = 0.5, std = 1");
  INFO(scaled.sentences() + plain.sentences());
  REQUIRE(scaled);
  REQUIRE(plain);
  CHECK(canonical_json(*scaled.value) == canonical_json(*plain.value));
}

}  // namespace
}  // namespace spdld::config::pixels_test
