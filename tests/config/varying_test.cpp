// Outputs whose samples differ in length: their keys, what is said of wrong ones, and the texts that they give.
#include <nlohmann/json.hpp>
#include <random>

#include "config/text/element.h"
#include "config/varying.h"
#include "tests/config/expect.h"

namespace spdld::config::varying_test {
namespace {

// One output of bytes, with these keys on line 11.
Loaded<PipelineSpec> load_varying(const std::string& keys, const std::string& op = "{ op = \"bytes\" }") {
  return load_with_line(11, "ops = [" + op + "]\n" + keys);
}

std::vector<uint8_t> element(DType dtype, double number) {
  return element_of(dtype, number).value_or(std::vector<uint8_t>{});
}

}  // namespace

TEST_CASE("padded and ragged outputs load with their keys", "[config]") {
  const auto padded = load_varying(
      "pad = \"longest\"\npad_multiple = 8\npad_value = 7\nlengths = \"n\"\npad_mask = \"m\"\nlength_max = 99\n"
      "too_long = \"cut\"");
  INFO(padded.sentences());
  REQUIRE(padded);
  CHECK(padded.value->outputs[0].varying == VaryingSpec{.form = Form::kPadded,
                                                        .length_max = 99,
                                                        .too_long = TooLong::kCut,
                                                        .pad_multiple = 8,
                                                        .pad_value = 7,
                                                        .lengths = "n",
                                                        .pad_mask = "m"});
  CHECK(tensor_names(padded.value->outputs[0]).size() == 3);
  const auto ragged = load_varying("ragged = true\nlength_max = 5\ntoo_long = \"leave-out\"");
  INFO(ragged.sentences());
  REQUIRE(ragged);
  CHECK(ragged.value->outputs[0].varying ==
        VaryingSpec{.form = Form::kRagged, .length_max = 5, .too_long = TooLong::kLeaveOut});
  CHECK(tensor_names(ragged.value->outputs[0]).size() == 2);
}

TEST_CASE("each wrong key of a varying output gets a sentence", "[config]") {
  struct Case {
    std::string keys;
    Expected expected;
  };
  const std::string name60(60, 'n');
  const std::vector<Case> cases = {
      {"", {11, "output[0].ops", "add pad = \"longest\" or ragged = true"}},
      {"ragged = false", {11, "output[0].ops", "add pad = \"longest\" or ragged = true"}},
      {"ragged = true", {8, "output[0].length_max", "nothing else bounds the length"}},
      {"pad = \"longest\"", {8, "output[0].length_max", "nothing else bounds the length"}},
      {"pad = \"max\"\nlength_max = 5", {12, "output[0].pad", "\"longest\""}},
      {"pad = \"longest\"\nragged = true\nlength_max = 5", {13, "output[0].ragged", "may not stand beside pad"}},
      {"ragged = true\nlength_max = 0", {13, "output[0].length_max", "from 1 to 1073741824, not 0"}},
      {"ragged = true\nlength_max = -1", {13, "output[0].length_max", "not -1"}},
      {"ragged = true\nlength_max = 1073741825", {13, "output[0].length_max", "not 1073741825"}},
      {"ragged = true\nlength_max = 5.5", {13, "output[0].length_max", "an integer"}},
      {"ragged = true\nlength_max = 5\npad_value = 1", {14, "output[0].pad_value", "pad = \"longest\" alone"}},
      {"ragged = true\nlength_max = 5\npad_multiple = 2", {14, "output[0].pad_multiple", "pad = \"longest\" alone"}},
      {"ragged = true\nlength_max = 5\nlengths = \"n\"", {14, "output[0].lengths", "pad = \"longest\" alone"}},
      {"ragged = true\nlength_max = 5\npad_mask = \"m\"", {14, "output[0].pad_mask", "pad = \"longest\" alone"}},
      {"ragged = true\nlength_max = 5\ntoo_long = \"drop\"", {14, "output[0].too_long", "\"leave-out\""}},
      {"pad = \"longest\"\nlength_max = 5\npad_multiple = 0", {14, "output[0].pad_multiple", "from 1 to"}},
      {"pad = \"longest\"\nlength_max = 5\npad_value = 256", {14, "output[0].pad_value", "the output's type uint8"}},
      {"pad = \"longest\"\nlength_max = 5\npad_value = -1", {14, "output[0].pad_value", "the output's type uint8"}},
      {"pad = \"longest\"\nlength_max = 5\npad_value = 0.5", {14, "output[0].pad_value", "the output's type uint8"}},
      {"pad = \"longest\"\nlength_max = 5\npad_value = inf", {14, "output[0].pad_value", "a number"}},
      {"pad = \"longest\"\nlength_max = 5\nlengths = \"image\"",
       {14, "output[0].lengths", "is the name of output[0].name already"}},
      {"pad = \"longest\"\nlength_max = 5\npad_mask = \"sample_id\"",
       {14, "output[0].pad_mask", "every batch has that one"}},
      {"pad = \"longest\"\nlength_max = 5\nlengths = \"\"", {14, "output[0].lengths", "must be 1 to 64 letters"}},
      {"pad = \"longest\"\nlength_max = 5\nlengths = \"x\"\npad_mask = \"x\"",
       {15, "output[0].pad_mask", "is the name of output[0].lengths already"}},
      {"pad = \"longest\"\nlength_max = 5\nlengths = \"x\"\n[[output]]\nname = \"x\"\nfrom = \"class\"",
       {16, "output[1].name", "is the name of output[0].lengths already"}},
      {"ragged = true\nlength_max = 5\n[[output]]\nname = \"image.offsets\"\nfrom = \"class\"",
       {15, "output[1].name", "is the name of output[0].ragged already"}},
      {"ragged = true\nlength_max = 5\n[[output]]\nname = \"" + name60 +
           "\"\nfrom = \"image\"\nops = [{ op = \"bytes\" }]\nragged = true\nlength_max = 5",
       {18, "output[1].ragged", "must be 1 to 64 letters"}},
  };
  for (const Case& one : cases) {
    INFO(one.keys);
    expect_complaints(load_varying(one.keys), {one.expected});
  }
}

TEST_CASE("keys for samples of different lengths do not stand beside a fixed shape", "[config]") {
  const std::string fixed = "{ op = \"pad-bytes\", length = 5 }";
  expect_complaints(load_varying("ragged = true", fixed), {{11, "output[0].ops", "leave pad and ragged out"}});
  expect_complaints(load_varying("pad = \"longest\"", fixed), {{11, "output[0].ops", "leave pad and ragged out"}});
  expect_complaints(load_varying("length_max = 5", fixed),
                    {{12, "output[0].length_max", "pad = \"longest\" or ragged = true alone"}});
  expect_complaints(load_varying("too_long = \"cut\"", fixed),
                    {{12, "output[0].too_long", "pad = \"longest\" or ragged = true alone"}});
  expect_complaints(load_varying("pad_value = 1", fixed), {{12, "output[0].pad_value", "pad = \"longest\" alone"}});
}

TEST_CASE("the bound of a sample's length", "[config]") {
  const auto bound = [](VaryingSpec varying, const std::vector<Dimension>& sizes) {
    varying.form = Form::kRagged;
    return length_bound(varying, tensor(DType::kFloat32, sizes));
  };
  CHECK(bound({.length_max = 7}, {Dimension()}).length_max == 7);
  CHECK(bound({}, {Dimension::bounded(9)}).length_max == 9);
  CHECK(bound({.length_max = 7}, {Dimension::bounded(9)}).length_max == 7);
  CHECK(bound({.length_max = 12}, {Dimension::bounded(9)}).length_max == 9);
  CHECK(bound({}, {Dimension()}).key == "length_max");
  CHECK(bound({.length_max = 1u << 20}, {Dimension(), 256}).error.empty());  // 1 GiB
  const auto large = bound({.length_max = (1u << 20) + 1}, {Dimension(), 256});
  CHECK_THAT(large.error, Catch::Contains("at most 1048576 fits here"));
  CHECK_FALSE(bound({.length_max = 1}, {Dimension(), int64_t{1} << 40, int64_t{1} << 40}).error.empty());
  CHECK(bound({.length_max = 1}, {Dimension(), 0}).key == "ops");
  CHECK(bound({}, {Dimension::bounded(0)}).key == "ops");
}

TEST_CASE("an element of each type", "[config]") {
  using Bytes = std::vector<uint8_t>;
  CHECK(element(DType::kUint8, 255) == Bytes{255});
  CHECK(element(DType::kInt8, -128) == Bytes{0x80});
  CHECK(element(DType::kInt16, -2) == Bytes{0xFE, 0xFF});
  CHECK(element(DType::kUint16, 65535) == Bytes{0xFF, 0xFF});
  CHECK(element(DType::kInt32, -100) == Bytes{0x9C, 0xFF, 0xFF, 0xFF});
  CHECK(element(DType::kInt64, -1) == Bytes(8, 0xFF));
  CHECK(element(DType::kUint64, 258) == Bytes{2, 1, 0, 0, 0, 0, 0, 0});
  CHECK(element(DType::kBool, 1) == Bytes{1});
  CHECK(element(DType::kFloat16, 1) == Bytes{0x00, 0x3C});
  CHECK(element(DType::kFloat16, -2.5) == Bytes{0x00, 0xC1});
  CHECK(element(DType::kFloat16, 65504) == Bytes{0xFF, 0x7B});
  CHECK(element(DType::kFloat16, 0x1p-24) == Bytes{0x01, 0x00});            // the smallest one
  CHECK(element(DType::kFloat16, 0x1p-14 - 0x1p-26) == Bytes{0x00, 0x04});  // rounds up to a normal number
  CHECK(element(DType::kFloat16, 1 + 0x1p-11) == Bytes{0x00, 0x3C});        // ties to even
  CHECK(element(DType::kFloat16, 1 + 3 * 0x1p-11) == Bytes{0x02, 0x3C});
  CHECK(element(DType::kBfloat16, -1) == Bytes{0x80, 0xBF});
  CHECK(element(DType::kBfloat16, 1 + 0x1p-8) == Bytes{0x80, 0x3F});
  CHECK(element(DType::kFloat32, 0.5) == Bytes{0, 0, 0, 0x3F});
  CHECK(element(DType::kFloat64, 1) == Bytes{0, 0, 0, 0, 0, 0, 0xF0, 0x3F});
  CHECK(element(DType::kComplex64, 1) == Bytes{0, 0, 0x80, 0x3F, 0, 0, 0, 0});
  CHECK(element(DType::kComplex128, 0).size() == 16);
  const std::vector<std::pair<DType, double>> wrong = {{DType::kUint8, 256},        {DType::kUint8, -1},
                                                       {DType::kUint8, 0.5},        {DType::kInt8, 128},
                                                       {DType::kBool, 2},           {DType::kInt16, 32768},
                                                       {DType::kUint16, -1},        {DType::kInt32, 2147483648.0},
                                                       {DType::kUint32, -1},        {DType::kInt64, 0x1p53 + 2},
                                                       {DType::kUint64, 0x1p54},    {DType::kFloat16, 65520},
                                                       {DType::kBfloat16, 3.4e38},  {DType::kFloat32, 1e39},
                                                       {DType::kFloat64, INFINITY}, {DType::kComplex64, 1e39}};
  for (const auto& [dtype, number] : wrong) {
    INFO(dtype_name(dtype) << " " << number);
    CHECK_FALSE(element_of(dtype, number).has_value());
  }
}

TEST_CASE("all tensors of a batch are counted", "[config]") {
  const auto with_outputs = [](size_t outputs, const std::string& on_bad) {
    std::string text = "name = \"a\"\non_bad = \"" + on_bad + "\"\n[source]\ntype = \"image-folder\"\nuri = \"/d\"\n";
    for (size_t i = 0; i < outputs; i++) {
      text += "[[output]]\nname = \"o" + std::to_string(i) + "\"\nfrom = \"image\"\nops = [{ op = \"bytes\" }]\n" +
              "pad = \"longest\"\nlength_max = 5\nlengths = \"n" + std::to_string(i) + "\"\n";
    }
    return load_pipeline_toml(text + "[batch]\nsize = 8\n", "p.toml");
  };
  CHECK(with_outputs(31, "mask"));  // 62, sample_id and mask
  CHECK(with_outputs(31, "fail"));
  expect_complaints(with_outputs(32, "fail"), {{6, "output", "batches of 65 tensors"}});

  // What operations on batches tell counts as well, and may not have the name of another tensor.
  const auto mixed = [](const std::string& lam) {
    std::string text = "name = \"a\"\non_bad = \"mask\"\n[source]\ntype = \"image-folder\"\nuri = \"/d\"\n";
    for (size_t i = 0; i < 62; i++)
      text += "[[output]]\nname = \"o" + std::to_string(i) +
              "\"\nfrom = \"class\"\nops = [{ op = \"one-hot\", classes = 2 }]\n";
    return load_pipeline_toml(text + "[batch]\nsize = 8\nops = [{ op = \"mixup\", images = [\"o1\"] }]\n" + lam,
                              "p.toml");
  };
  CHECK(mixed(""));
  expect_complaints(mixed("lam = \"lam\"\n"), {{6, "output", "batches of 65 tensors"}});
  expect_complaints(mixed("lam = \"o3\"\n"), {{257, "batch.lam", "another tensor"}});
}

TEST_CASE("a spec with varying outputs goes round, and says only what is set", "[config]") {
  const auto plain = load_varying("ragged = true\nlength_max = 5\ntoo_long = \"bad\"");
  REQUIRE(plain);
  const auto output = nlohmann::json::parse(canonical_json(*plain.value))["output"][0];
  CHECK(output.size() == 5);  // name, from, ops, ragged and length_max
  std::mt19937 random(3);
  const auto one_in = [&](uint32_t n) { return random() % n == 0; };
  for (int i = 0; i < 500; i++) {
    auto spec = *plain.value;
    VaryingSpec& varying = spec.outputs[0].varying;
    varying = {.form = one_in(2) ? Form::kPadded : Form::kRagged, .length_max = 1 + random() % 1000};
    varying.too_long = static_cast<TooLong>(random() % 3);
    if (varying.form == Form::kPadded) {
      if (one_in(2)) varying.pad_multiple = 1 + random() % 64;
      if (one_in(2)) varying.pad_value = random() % 256;
      if (one_in(2)) varying.lengths = "n" + std::to_string(i);
      if (one_in(2)) varying.pad_mask = "m" + std::to_string(i);
    }
    const std::string text = full_json(spec);
    const auto again = load_pipeline_json(text, "again");
    INFO(text << again.sentences());
    REQUIRE(again);
    CHECK(again.value->outputs[0].varying == varying);
    CHECK(full_json(*again.value) == text);
    CHECK(canonical_json(*again.value) == canonical_json(spec));
    CHECK((canonical_json(spec) == canonical_json(*plain.value)) == (varying == plain.value->outputs[0].varying));
  }
}

}  // namespace spdld::config::varying_test
