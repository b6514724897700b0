#include "daemon/pipeline/plan.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "tests/pipeline/fake_source.h"

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
  CHECK_THROWS_WITH(pipeline::Plan(with({output("a", "class", "decode-image")}), listing), Contains("no picture"));
  CHECK_THROWS_WITH(pipeline::Plan(with({output("a", "text")}), listing), Contains("parse-int or pad-bytes"));
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
  const auto picture = [](const std::string& name, bool exif, bool fast = false) {
    config::OutputSpec spec = output(name, "text", "decode-image", {{"exif", exif}, {"fast", fast}});
    spec.ops.push_back({"resize", {{"size", std::vector<double>{8, 8}}, {"antialias", true}}, {}});
    return spec;
  };
  const auto is_picture = [&](std::vector<config::OutputSpec> outputs) {
    const pipeline::Plan plan(with(std::move(outputs)), listing);
    REQUIRE(plan.fetched().size() == 1);
    return plan.fetched()[0].is_picture;
  };
  CHECK(is_picture({picture("a", true)}));
  CHECK(is_picture({picture("a", false), picture("b", false)}));
  CHECK_FALSE(is_picture({picture("a", false), picture("b", true)}));
  CHECK_FALSE(is_picture({picture("a", true), output("raw", "text", "pad-bytes", {{"length", int64_t{6}}})}));
  CHECK_FALSE(is_picture({output("n", "text", "parse-int")}));
  CHECK_FALSE(is_picture({picture("a", true, true)}));
  CHECK_FALSE(is_picture({picture("a", true), picture("b", true, true)}));
  CHECK(pipeline::Plan(with({picture("a", true), picture("b", true, true)}), listing).fetched()[0].is_fast);
  CHECK_FALSE(pipeline::Plan(with({picture("a", true)}), listing).fetched()[0].is_fast);
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

TEST_CASE("bytes are padded with zeros, and content too long is bad content") {
  const auto spec = output("raw", "text", "pad-bytes", {{"length", int64_t{6}}});
  CHECK(*run(spec, "abc") == std::vector<uint8_t>{'a', 'b', 'c', 0, 0, 0});
  CHECK(*run(spec, "") == std::vector<uint8_t>(6, 0));
  CHECK(run(spec, "abcdefg").error().trouble == Trouble::kContent);
  CHECK(*run(output("name", "path", "pad-bytes", {{"length", int64_t{10}}}), "") ==
        std::vector<uint8_t>{'s', 'a', 'm', 'p', 'l', 'e', '-', '3', 0, 0});
}
