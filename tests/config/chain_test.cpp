// Chains of operations are followed by their signatures: what passes, where a chain is wrong, and what it gives.
#include <catch2/catch.hpp>
#include <string>

#include "config/load.h"
#include "config/operation.h"

namespace spdld::config::chain_test {
namespace {

OperationSpec op(std::string_view name, Parameters parameters = {}) {
  const OperationType& type = *find_operation(name);
  OperationSpec spec{.op = std::string(name), .parameters = std::move(parameters), .where = {}};
  for (const auto& parameter : type.parameters)
    if (parameter.fallback) spec.parameters.emplace(parameter.name, *parameter.fallback);
  return spec;
}

Value size(std::vector<double> numbers) { return numbers; }

OperationSpec crop(double side) { return op("center-crop", {{"size", size({side})}}); }
OperationSpec resize(std::vector<double> numbers) { return op("resize", {{"size", size(std::move(numbers))}}); }
OperationSpec random_crop(const std::string& box) {
  return op("random-resized-crop", {{"size", size({8, 9})}, {"box", box}});
}

Followed follow_bytes(const std::vector<OperationSpec>& ops) { return follow(ops, bytes_of(Origin::kContent)); }

TEST_CASE("a chain gives what its last operation gives", "[config]") {
  using Shape = std::vector<int64_t>;
  const auto picture = follow_bytes({op("decode-image"), resize({10, 20}), crop(8), op("convert")});
  CHECK(picture.error.empty());
  REQUIRE(picture.along.size() == 5);
  CHECK(picture.along[1] == image({}, {}, false));
  CHECK(picture.along[2] == image(10, 20, true));
  CHECK(picture.along[3] == image(8, 8, true));
  CHECK(picture.end() == tensor(DType::kUint8, {8, 8, 3}));
  CHECK(picture.end().shape() == Shape{8, 8, 3});
  const auto planes = follow_bytes(
      {op("decode-image"), random_crop(""),
       op("normalize", {{"mean", size({0, 0, 0})}, {"std", size({1, 1, 1})}, {"dtype", std::string("float16")}})});
  CHECK(planes.end() == tensor(DType::kFloat16, {3, 8, 9}));
  CHECK(follow_bytes({op("parse-int")}).end() == integer());
  CHECK(follow_bytes({op("parse-float")}).end() == tensor(DType::kFloat32, {}));
  CHECK(follow_bytes({op("pad-bytes", {{"length", int64_t{5}}})}).end() == tensor(DType::kUint8, {5}));
  CHECK(follow({}, integer()).error.empty());
}

TEST_CASE("the shorter side's size is known where the picture's size is", "[config]") {
  const auto fixed = follow_bytes({op("decode-image"), resize({10, 20}), resize({5}), op("convert")});
  CHECK(fixed.end().shape() == std::vector<int64_t>{5, 10, 3});
  const auto open = follow_bytes({op("decode-image"), resize({5}), op("convert")});
  CHECK(open.at == 2);
  CHECK_THAT(open.error, Catch::Contains("whose size is not fixed"));
  CHECK(open.end() == image({}, {}, true));  // it differs from sample to sample
}

TEST_CASE("an operation that does not fit is named by its place", "[config]") {
  const auto expect = [](const Followed& followed, size_t at, const std::string& error) {
    CHECK(followed.at == at);
    CHECK_THAT(followed.error, Catch::Contains(error));
  };
  expect(follow_bytes({crop(8)}), 0, "center-crop works on an image: add { op = \"decode-image\" } before it");
  expect(follow_bytes({op("decode-image"), op("parse-int")}), 1, "it must be the first operation");
  expect(follow_bytes({op("parse-int"), crop(8)}), 1, "it takes an image, and what comes before it is an integer");
  expect(follow_bytes({op("parse-float"), crop(8)}), 1, "writes the tensor and must be the last");
  expect(follow({{op("parse-int")}}, integer()), 0, "it takes bytes, and what comes before it is an integer");
  expect(follow({{op("decode-image")}}, bytes_of(Origin::kName)), 0, "it is the sample's name");
  expect(follow({{op("decode-image")}}, bytes_of(Origin::kJson)), 0, "can't decode a JSON value");
  expect(follow({{op("parse-int")}}, bytes_of(Origin::kName)), 0, "not a number");
  expect(follow_bytes({}), 0, "add decode-image (with a fixed size), parse-int, parse-float or pad-bytes");
  expect(follow_bytes({op("decode-image"), crop(8)}), 2, "gives an image, which is no tensor");
}

TEST_CASE("a drawn box is of the picture's own pixels", "[config]") {
  const auto cropped = std::vector{op("decode-image"), crop(50), random_crop("box"), op("convert")};
  CHECK(follow_bytes(cropped).error.empty());
  const auto extras = extras_of(cropped);
  REQUIRE(extras.size() == 1);
  CHECK(extras[0].name == "box");
  CHECK(extras[0].dtype == DType::kInt32);
  CHECK(extras[0].shape == std::vector<int64_t>{4});
  for (const auto& before : {resize({60}), random_crop("")}) {
    const auto resized = follow_bytes({op("decode-image"), before, random_crop("box"), op("convert")});
    CHECK(resized.at == 2);
    CHECK_THAT(resized.error, Catch::Contains("picture's own pixels"));
  }
}

TEST_CASE("the checks of a file follow the same chain", "[config]") {
  const auto spec = load_pipeline_toml(
      "name = \"t\"\n[source]\ntype = \"image-folder\"\nuri = \"/\"\n[batch]\nsize = 1\n[[output]]\nname = \"a\"\n"
      "from = \"image\"\nops = [{ op = \"decode-image\" }, { op = \"resize\", size = 9 }, "
      "{ op = \"random-resized-crop\", size = 8, box = \"b\" }]\n",
      "t.toml");
  REQUIRE(spec.complaints.size() == 1);
  CHECK(spec.complaints[0].key == "output[0].ops[2]");
  CHECK_THAT(spec.complaints[0].text, Catch::Contains("picture's own pixels"));
}

}  // namespace
}  // namespace spdld::config::chain_test
