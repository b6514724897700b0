#include "daemon/pipeline/plan.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <set>
#include <string>

#include "daemon/media/image/codecs/image_decoder.h"
#include "tests/pipeline/fake_source.h"

namespace spdld::plan_test {

using namespace spdld;

namespace {

config::PipelineSpec with(std::vector<config::OutputSpec> outputs, config::OnBad on_bad = config::OnBad::kSubstitute) {
  config::PipelineSpec spec;
  spec.outputs = std::move(outputs);
  spec.on_bad = on_bad;
  return spec;
}

config::OutputSpec output(const std::string& name, const std::string& from, const std::string& op = {},
                          config::Parameters parameters = {}) {
  config::OutputSpec spec{name, from, {}, {}};
  if (!op.empty()) spec.ops.push_back({op, std::move(parameters), {}});
  return spec;
}

// Runs a plan over one sample whose field holds `text`, and gives the bytes of its first tensor.
Result<std::vector<uint8_t>> run(const config::OutputSpec& spec, const std::string& text) {
  const test::FakeListing listing(5);
  const pipeline::Plan plan(with({spec}), listing);
  const batch::Layout layout(plan.tensors(), 1, 1 << 20);
  std::vector<uint8_t> slot(layout.slot_bytes(), 0xff);
  pipeline::FieldBytes field;
  field.bytes = {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
  pipeline::DecodeContext context;
  const Status status = plan.run({listing, 3, {&field, 1}}, {}, context, {layout, slot.data(), 0});
  if (!status) return status.error();
  return std::vector<uint8_t>(slot.begin(), slot.begin() + static_cast<ptrdiff_t>(plan.tensors()[0].sample_bytes));
}

int64_t integer(const std::vector<uint8_t>& bytes) {
  int64_t value = 0;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

}  // namespace

TEST_CASE("a spec that does not fit the data set is refused with a sentence that names the output") {
  const test::FakeListing listing(5);
  using Catch::Contains;
  CHECK_THROWS_WITH(pipeline::Plan(with({output("a", "jpg")}), listing),
                    Contains("'a'") && Contains("text, class, path"));
  CHECK_THROWS_WITH(pipeline::Plan(with({output("a", "class", "decode-image")}), listing),
                    Contains("decode-image can't follow"));
  CHECK_THROWS_WITH(pipeline::Plan(with({output("a", "text")}), listing), Contains("parse-int, parse-float"));
  CHECK_THROWS_WITH(pipeline::Plan(with({output("a", "class", "parse-int")}), listing), Contains("parse-int"));
  CHECK_THROWS_WITH(pipeline::Plan(with({output("a", "path", "parse-int")}), listing), Contains("not a number"));
  CHECK_THROWS_WITH(pipeline::Plan(with({output("a", "class"), output("a", "class")}), listing), Contains("'a'"));
  CHECK_THROWS_WITH(pipeline::Plan(with({output("sample_id", "class")}), listing), Contains("'sample_id'"));
}

TEST_CASE("sample_id is always there, mask only where it is chosen") {
  const test::FakeListing listing(5);
  const auto names = [&](config::OnBad on_bad) {
    std::vector<std::string> all;
    for (const auto& tensor : pipeline::Plan(with({output("label", "class")}, on_bad), listing).tensors())
      all.push_back(tensor.name);
    return all;
  };
  CHECK(names(config::OnBad::kSubstitute) == std::vector<std::string>{"label", "sample_id"});
  CHECK(names(config::OnBad::kMask) == std::vector<std::string>{"label", "sample_id", "mask"});
}

TEST_CASE("planes may stand for a field that is only decoded as a picture, and always in the same way") {
  const test::FakeListing listing(5);
  const auto picture = [](const std::string& name, bool exif, bool fast = false, bool strict = false) {
    config::OutputSpec spec =
        output(name, "text", "decode-image", {{"exif", exif}, {"fast", fast}, {"strict", strict}});
    spec.ops.push_back({"resize", {{"size", std::vector<double>{8, 8}}, {"antialias", true}}, {}});
    spec.ops.push_back(config::with_defaults(*config::chain_end(config::SignatureKind::kImage), {}));
    return spec;
  };
  const auto why_unprepared = [&](std::vector<config::OutputSpec> outputs) {
    return std::string(pipeline::Plan(with(std::move(outputs)), listing).fetched()[0].why_unprepared);
  };
  const auto is_picture = [&](std::vector<config::OutputSpec> outputs) {
    const pipeline::Plan plan(with(std::move(outputs)), listing);
    REQUIRE(plan.fetched().size() == 1);
    return plan.fetched()[0].representation(config::CacheForm::kDecoded) != nullptr;
  };
  CHECK(is_picture({picture("a", true)}));
  CHECK(is_picture({picture("a", false), picture("b", false)}));
  CHECK_FALSE(is_picture({picture("a", false), picture("b", true)}));
  CHECK(is_picture({picture("a", true, false, true), picture("b", true, false, true)}));
  CHECK_FALSE(is_picture({picture("a", true, false, true), picture("b", true)}));
  CHECK_FALSE(is_picture({picture("a", true), output("raw", "text", "pad-bytes", {{"length", int64_t{6}}})}));
  CHECK_FALSE(is_picture({output("n", "text", "parse-int")}));
  CHECK_FALSE(is_picture({picture("a", true, true)}));
  CHECK_FALSE(is_picture({picture("a", true), picture("b", true, true)}));
  CHECK(why_unprepared({picture("a", true), picture("b", true, true)}) ==
        "decode-image with fast = true leaves no planes to keep");
  CHECK(why_unprepared({picture("a", true)}).empty());
  const auto of = [&](const std::string& name, const std::string& colours, int64_t bits) {
    config::OutputSpec spec = picture(name, true);
    spec.ops[0].parameters["colours"] = colours;
    spec.ops[0].parameters["bits"] = bits;
    if (bits == 16) spec.ops.back().parameters["dtype"] = std::string("uint16");
    return spec;
  };
  CHECK(is_picture({of("a", "grey", 8), of("b", "grey", 8)}));
  CHECK_FALSE(is_picture({of("a", "grey", 8), picture("b", true)}));
  CHECK_FALSE(is_picture({of("a", "rgb", 16)}));
  CHECK_FALSE(is_picture({of("a", "rgba", 8), picture("b", true)}));
  CHECK(why_unprepared({of("a", "rgba", 8)}) ==
        "pictures of 16 bits, with alpha, in sRGB by their profiles, or of later or several frames have no planes to "
        "keep");
  config::OutputSpec srgb = picture("a", true);
  srgb.ops[0].parameters["profile"] = std::string("srgb");
  CHECK_FALSE(is_picture({srgb}));
  CHECK_FALSE(is_picture({srgb, picture("b", true)}));
  const auto id = [&](const config::OutputSpec& spec, config::CacheForm form = config::CacheForm::kDecoded) {
    return pipeline::Plan(with({spec}), listing).fetched()[0].representation(form)->id();
  };
  CHECK(id(picture("a", true), config::CacheForm::kIndexed) == "indexed 2, upright 2");
  CHECK(id(picture("a", false, false, true), config::CacheForm::kIndexed) == "indexed 2, not turned, strict");
  CHECK(id(picture("a", true), config::CacheForm::kPacked) == "packed 1, upright 2");
  CHECK(id(of("a", "rgb", 8)) == id(picture("a", true)));
  CHECK(id(of("a", "grey", 8)) == id(picture("a", true)) + ", luma alone");
}

TEST_CASE("a plan tells the versions of its operations and of the code beneath them") {
  const test::FakeListing listing(5);
  config::OutputSpec picture =
      output("a", "text", "decode-image", {{"exif", true}, {"fast", false}, {"strict", false}});
  picture.ops.push_back({"resize", {{"size", std::vector<double>{8, 8}}, {"antialias", true}}, {}});
  picture.ops.push_back(config::with_defaults(*config::chain_end(config::SignatureKind::kImage), {}));
  config::OutputSpec again = picture;
  again.name = "b";
  const pipeline::Plan plan(with({picture, again, output("n", "path", "pad-bytes", {{"length", int64_t{6}}})}),
                            listing);
  std::set<std::string> code = {"convert 1", "decode-image 3", "pad-bytes 1", "resampler 1", "resize 1"};
  code.merge(std::set<std::string>{image::jpeg_code(), image::png_code()});
  for (const std::string& of_library :
       {image::webp_code(), image::tiff_code(), image::bmp_code(), image::gif_code(), image::avif_code(),
        image::jxl_code(), image::jpeg2000_code(), image::heif_code()})
    if (!of_library.empty()) code.insert(of_library);
  std::string listed;
  for (const std::string& one : code) listed += (listed.empty() ? "" : ", ") + one;
  CHECK(plan.code() == listed);
  CHECK_THAT(image::png_code(), Catch::StartsWith("libspng 0."));
  CHECK_THAT(image::jpeg_code(), Catch::StartsWith("libjpeg-turbo 2.") || Catch::StartsWith("libjpeg-turbo 3."));
  CHECK(pipeline::Plan(with({output("label", "class")}), listing).code().empty());
}

TEST_CASE("numbers from text") {
  const auto spec = output("n", "text", "parse-int");
  CHECK(integer(*run(spec, "17")) == 17);
  CHECK(integer(*run(spec, " -4\r\n")) == -4);
  CHECK(integer(*run(spec, "9223372036854775807")) == INT64_MAX);
  for (const char* bad : {"", "x", "1.5", "9223372036854775808", "1 2"}) {
    const auto result = run(spec, bad);
    REQUIRE_FALSE(result);
    CHECK(result.error().trouble == Trouble::kContent);
  }
}

TEST_CASE("numbers with a fraction") {
  const auto as = [](const std::string& dtype, const std::string& text) {
    const auto bytes = run(output("n", "text", "parse-float", {{"dtype", dtype}}), text);
    INFO(text << ": " << (bytes ? "" : bytes.error().message));
    REQUIRE(bytes);
    float narrow = 0;
    double wide = 0;
    if (dtype == "float32") std::memcpy(&narrow, bytes->data(), sizeof narrow);
    if (dtype == "float64") std::memcpy(&wide, bytes->data(), sizeof wide);
    CHECK(bytes->size() == (dtype == "float32" ? 4 : 8));
    return dtype == "float32" ? static_cast<double>(narrow) : wide;
  };
  CHECK(as("float32", "0.1") == 0.1f);
  CHECK(as("float64", "0.1") == 0.1);
  CHECK(as("float64", " -1.5e-3\r\n") == -1.5e-3);
  CHECK(as("float64", "+2") == 2);
  CHECK(as("float32", "16777217") == 16777216);
  CHECK(as("float32", "1e-60") == 0);
  CHECK(as("float64", "1e-60") == 1e-60);
  const auto spec = output("n", "text", "parse-float", {{"dtype", std::string("float32")}});
  for (const char* bad : {"", "x", "1.5x", "1,5", "nan", "inf", "-inf", "1e39", "1e999", "+-1", "1 2", "0x10"}) {
    INFO(bad);
    const auto result = run(spec, bad);
    REQUIRE_FALSE(result);
    CHECK(result.error().trouble == Trouble::kContent);
    CHECK_THAT(result.error().message, Catch::Contains("output 'n'") && Catch::Contains(std::string("'") + bad + "'"));
  }
}

TEST_CASE("values of a field that holds JSON") {
  const std::string json = R"({"label": 7, "score": 0.25, "name": "a\u00e4", "yes": true, "none": null, "text": "-3",
                               "meta": {"deep": [10, {"id": 11}], "label": 8}, "label": 9, "big": 18446744073709551615})";
  const auto number = [&](const std::string& path) {
    return integer(*run(output("n", "text:" + path, "parse-int"), json));
  };
  CHECK(number("label") == 9);  // the last of two
  CHECK(number("meta.label") == 8);
  CHECK(number("meta.deep[0]") == 10);
  CHECK(number("meta.deep[1].id") == 11);
  CHECK(number("text") == -3);
  CHECK(number("yes") == 1);
  float score = 0;
  const auto bytes = run(output("n", "text:score", "parse-float", {{"dtype", std::string("float32")}}), json);
  REQUIRE(bytes);
  std::memcpy(&score, bytes->data(), sizeof score);
  CHECK(score == 0.25f);
  CHECK(*run(output("n", "text:name", "pad-bytes", {{"length", int64_t{4}}}), json) ==
        std::vector<uint8_t>{'a', 0xc3, 0xa4, 0});

  const std::vector<std::pair<std::string, std::string>> bad = {
      {"labels", "the JSON has no \"labels\""},
      {"meta.deep[2]", "\"meta.deep\" has no element 2"},
      {"meta[0]", "\"meta\" is a table, not a list"},
      {"meta.deep.id", "\"meta.deep\" is a list, not a table"},
      {"label.x", "\"label\" is a number, not a table"},
      {"meta", "\"meta\" is a table, not a number or a text"},
      {"meta.deep", "\"meta.deep\" is a list, not a number or a text"},
      {"none", "\"none\" is null, not a number or a text"},
      {"name", "is no decimal number"},
      {"score", "'0.25' is no decimal number"},
      {"big", "'18446744073709551615' is no decimal number"},
  };
  for (const auto& [path, fragment] : bad) {
    INFO(path);
    const auto result = run(output("n", "text:" + path, "parse-int"), json);
    REQUIRE_FALSE(result);
    CHECK(result.error().trouble == Trouble::kContent);
    CHECK_THAT(result.error().message, Catch::Contains("output 'n'") && Catch::Contains(fragment));
  }
  const auto broken = run(output("n", "text:label", "parse-int"), json + "}");
  REQUIRE_FALSE(broken);
  CHECK_THAT(broken.error().message, Catch::Contains("field 'text'") && Catch::Contains("no sound JSON"));
  CHECK_THROWS_WITH(pipeline::Plan(with({output("a", "path:x", "parse-int")}), test::FakeListing(5)),
                    Catch::Contains("holds no JSON"));
}

TEST_CASE("a field that holds JSON is read once for all its outputs, and is no picture") {
  const test::FakeListing listing(5);
  const pipeline::Plan plan(with({output("a", "text:x", "parse-int"), output("b", "text:y", "parse-int")}), listing);
  REQUIRE(plan.fetched().size() == 1);
  CHECK(plan.fetched()[0].representations == decltype(plan.fetched()[0].representations)());
}

TEST_CASE("bytes are padded with zeros, and content too long is bad content") {
  const auto spec = output("raw", "text", "pad-bytes", {{"length", int64_t{6}}});
  CHECK(*run(spec, "abc") == std::vector<uint8_t>{'a', 'b', 'c', 0, 0, 0});
  CHECK(*run(spec, "") == std::vector<uint8_t>(6, 0));
  CHECK(run(spec, "abcdefg").error().trouble == Trouble::kContent);
  CHECK(*run(output("name", "path", "pad-bytes", {{"length", int64_t{10}}}), "") ==
        std::vector<uint8_t>{'s', 'a', 'm', 'p', 'l', 'e', '-', '3', 0, 0});
}

}  // namespace spdld::plan_test
