// Chains of operations are followed by their signatures: what passes, where a chain is wrong, and what it gives.
#include <catch2/catch.hpp>
#include <string>

#include "config/checks/load.h"
#include "config/npy_values.h"
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
  CHECK(picture.along[1] == image(3, 8));
  CHECK(picture.along[2] == resized(image(3, 8), 10, 20, true));
  CHECK(picture.along[3] == resized(image(3, 8), 8, 8, true));
  CHECK(picture.end() == tensor(DType::kUint8, {8, 8, 3}, Layout::kNhwc));
  CHECK(picture.end().shape() == Shape{8, 8, 3});
  const auto planes = follow_bytes(
      {op("decode-image"), random_crop(""),
       op("normalize", {{"mean", size({0, 0, 0})}, {"std", size({1, 1, 1})}, {"dtype", std::string("float16")}})});
  CHECK(planes.end() == tensor(DType::kFloat16, {3, 8, 9}, Layout::kNchw));
  CHECK(follow_bytes({op("parse-int")}).end() == integer());
  CHECK(follow_bytes({op("parse-float")}).end() == tensor(DType::kFloat32, {}));
  CHECK(follow_bytes({op("pad-bytes", {{"length", int64_t{5}}})}).end() == tensor(DType::kUint8, {5}));
  CHECK(follow({}, integer()).error.empty());
}

TEST_CASE("colours are changed in pictures of 8 bits without alpha", "[config]") {
  const auto rgba = follow_bytes({op("decode-image", {{"colours", std::string("rgba")}}), crop(8), op("equalize")});
  CHECK(rgba.at == 2);
  CHECK(rgba.error.find("these have alpha") != std::string::npos);
  const auto deep = follow_bytes({op("decode-image", {{"bits", int64_t{16}}}), crop(8), op("color-jitter")});
  CHECK(deep.at == 2);
  CHECK(deep.error.find("these have 16") != std::string::npos);
  const auto grey =
      follow_bytes({op("decode-image"), op("grayscale", {{"channels", int64_t{1}}}), crop(8), op("convert")});
  CHECK(grey.error.empty());
  CHECK(grey.end() == tensor(DType::kUint8, {8, 8, 1}, Layout::kNhwc));
  CHECK(follow_bytes({op("decode-image"), op("grayscale"), crop(8), op("convert")}).end().shape().back() == 3);
}

TEST_CASE("a dimension is fixed, bounded or ragged", "[config]") {
  CHECK(Dimension(5).is_fixed());
  CHECK(Dimension(5).value() == 5);
  CHECK(Dimension(5).most() == 5);
  CHECK_FALSE(Dimension::bounded(5).is_fixed());
  CHECK(Dimension::bounded(5).most() == 5);
  CHECK_THROWS_AS(Dimension::bounded(5).value(), std::logic_error);
  CHECK_FALSE(Dimension().is_fixed());
  CHECK_FALSE(Dimension().most().has_value());
  CHECK_THROWS_AS(Dimension().value(), std::logic_error);
  CHECK_FALSE(Dimension(5) == Dimension::bounded(5));
}

TEST_CASE("the end of a chain fits the form of its output", "[config]") {
  const std::vector<OperationSpec> varying = {op("bytes")}, fixed = {op("pad-bytes", {{"length", int64_t{5}}})};
  const Signature content = bytes_of(Origin::kContent);
  CHECK(follow(varying, content, Form::kPadded).error.empty());
  CHECK(follow(varying, content, Form::kRagged).error.empty());
  CHECK(follow(varying, content, Form::kRagged).end() == tensor(DType::kUint8, {Dimension()}));
  CHECK_THAT(follow(varying, content).error, Catch::Contains("add pad = \"longest\" or ragged = true"));
  CHECK(follow(varying, content).at == 1);
  for (const Form form : {Form::kPadded, Form::kRagged}) {
    CHECK_THAT(follow(fixed, content, form).error, Catch::Contains("leave pad and ragged out"));
    CHECK_THAT(follow({}, integer(), form).error, Catch::Contains("leave pad and ragged out"));
  }
}

TEST_CASE("lists and arrays differ in length unless one is given", "[config]") {
  const auto list = [](int64_t width, int64_t length) {
    return std::vector{op("parse-list", {{"dtype", std::string("int64")}, {"width", width}, {"length", length}})};
  };
  const auto array = [](std::vector<double> shape, int64_t length) {
    return std::vector{
        op("parse-npy", {{"dtype", std::string("float16")}, {"shape", size(std::move(shape))}, {"length", length}})};
  };
  const Signature content = bytes_of(Origin::kContent), json = bytes_of(Origin::kJson), name = bytes_of(Origin::kName);
  CHECK(follow(list(0, 0), content, Form::kRagged).end() == tensor(DType::kInt64, {Dimension()}));
  CHECK(follow(list(4, 0), json, Form::kPadded).end() == tensor(DType::kInt64, {Dimension(), 4}));
  CHECK(follow(list(4, 7), json).end().shape() == std::vector<int64_t>{7, 4});
  CHECK(follow(array({}, 0), content, Form::kRagged).end() == tensor(DType::kFloat16, {Dimension()}));
  CHECK(follow(array({3, 5}, 0), content, Form::kRagged).end() == tensor(DType::kFloat16, {Dimension(), 3, 5}));
  CHECK(follow(array({3, 5}, 2), content).end().shape() == std::vector<int64_t>{2, 3, 5});
  CHECK_THAT(follow(list(0, 0), content).error, Catch::Contains("differ in length"));
  CHECK_THAT(follow(list(0, 1), name).error, Catch::Contains("the sample's name, not a list"));
  CHECK_THAT(follow(array({}, 1), name).error, Catch::Contains("the sample's name, not a .npy file"));
  CHECK_THAT(follow(array({}, 1), json).error, Catch::Contains("for a list, write parse-list"));
}

TEST_CASE("fields of .npy files are for parse-npy, and raw refuses them before the first step", "[config]") {
  Signature typed = bytes_of(Origin::kContent), untyped = typed;
  typed.bytes().raw = npy_values(DType::kFloat32);
  untyped.bytes().raw = npy_values({});
  const auto array = [](const std::string& dtype) {
    return std::vector{op("parse-npy", {{"dtype", dtype}, {"shape", size({3})}, {"length", int64_t{2}}})};
  };
  const auto raw = [](std::vector<double> shape, int64_t offset) {
    return std::vector{
        op("raw", {{"dtype", std::string("float32")}, {"shape", size(std::move(shape))}, {"offset", offset}})};
  };
  for (const Signature& field : {typed, untyped}) {
    for (const auto& ops : {raw({0}, -1), raw({2, 3}, -1), raw({2, 3}, 128)})
      CHECK_THAT(follow(ops, field, Form::kRagged).error, Catch::Contains("with a shape each; write parse-npy"));
    const std::vector whole{op("raw-int", {{"dtype", std::string("int64")}, {"offset", int64_t{-1}}})};
    CHECK_THAT(follow(whole, field).error, Catch::Contains("with a shape each; write parse-npy"));
    CHECK(follow(array("float32"), field).end().shape() == std::vector<int64_t>{2, 3});
  }
  CHECK_THAT(follow(array("float64"), typed).error, Catch::Contains("the field's arrays are float32"));
  CHECK(follow(array("float64"), untyped).error.empty());
}

TEST_CASE("a list's and an array's parameters are bounded", "[config]") {
  const auto complaint = [](const std::string& ops) {
    const auto spec = load_pipeline_toml(
        "name = \"t\"\n[source]\ntype = \"webdataset\"\nuri = \"/a.tar\"\n[batch]\nsize = 1\n[[output]]\nname = "
        "\"a\"\nfrom = \"x\"\nops = [{ " +
            ops + " }]\n",
        "t.toml");
    if (spec.complaints.empty()) return std::string();
    return spec.complaints[0].key + " " + spec.complaints[0].text;
  };
  const std::string list = "op = \"parse-list\", dtype = \"int64\", length = 2";
  const std::string array = "op = \"parse-npy\", dtype = \"bool\", length = 2";
  CHECK(complaint(list + ", width = 65536").empty());
  CHECK(complaint(array + ", shape = [1024, 1, 1, 1024]").empty());
  CHECK(complaint(array + ", shape = []").empty());
  CHECK(complaint(array + ", shape = 768").empty());
  CHECK_THAT(complaint("op = \"parse-list\", length = 2"), Catch::Contains(".dtype is missing"));
  CHECK_THAT(complaint("op = \"parse-npy\", length = 2"), Catch::Contains(".dtype is missing"));
  CHECK_THAT(complaint("op = \"parse-list\", dtype = \"float16\", length = 2"), Catch::Contains(".dtype must be"));
  CHECK_THAT(complaint(list + ", width = 65537"), Catch::Contains(".width must be an integer from 0 to 65536"));
  CHECK_THAT(complaint("op = \"parse-list\", dtype = \"int64\", length = -1"), Catch::Contains(".length must be"));
  CHECK_THAT(complaint(array + ", shape = [1, 1, 1, 1, 1]"),
             Catch::Contains(".shape must be no to four whole numbers"));
  CHECK_THAT(complaint(array + ", shape = [0]"), Catch::Contains(".shape must be"));
  CHECK_THAT(complaint(array + ", shape = [1024, 1025]"), Catch::Contains(".shape may have at most 1048576 elements"));
}

TEST_CASE("a picture keeps its channels and bits until its tensor", "[config]") {
  const auto decoded = [](const char* colours, int64_t bits) {
    return op("decode-image", {{"colours", std::string(colours)}, {"bits", bits}});
  };
  const auto converted = [&](const OperationSpec& decode, const char* dtype) {
    return follow_bytes({decode, resize({10, 20}), crop(8), random_crop(""), op("horizontal-flip"),
                         op("convert", {{"dtype", std::string(dtype)}})});
  };
  const auto grey = converted(decoded("grey", 16), "uint16");
  CHECK(grey.along[1] == image(1, 16));
  CHECK(grey.along[4] == resized(image(1, 16), 8, 9, true));
  CHECK(grey.end() == tensor(DType::kUint16, {8, 9, 1}, Layout::kNhwc));
  CHECK(converted(decoded("rgba", 8), "uint8").end() == tensor(DType::kUint8, {8, 9, 4}, Layout::kNhwc));
  CHECK(converted(decoded("rgba", 16), "float32").end() == tensor(DType::kFloat32, {8, 9, 4}, Layout::kNhwc));
  CHECK_THAT(converted(decoded("rgb", 16), "uint8").error,
             Catch::Contains("can't write a picture of 16 bits as uint8"));
  CHECK_THAT(converted(decoded("rgb", 8), "uint16").error,
             Catch::Contains("can't write a picture of 8 bits as uint16"));
  const auto normalized = [&](const char* colours, std::vector<double> mean, std::vector<double> std) {
    return follow_bytes({decoded(colours, 8), crop(8),
                         op("normalize", {{"mean", size(std::move(mean))}, {"std", size(std::move(std))}})});
  };
  CHECK(normalized("grey", {0.5}, {0.5}).end().shape() == std::vector<int64_t>{1, 8, 8});
  CHECK(normalized("rgba", {0, 0, 0, 0}, {1, 1, 1, 1}).end().shape() == std::vector<int64_t>{4, 8, 8});
  CHECK_THAT(normalized("grey", {0, 0, 0}, {1, 1, 1}).error,
             Catch::Contains("takes pictures of 1 channel, and its `mean` has 3 numbers: write one for each channel"));
  CHECK_THAT(normalized("rgba", {0, 0, 0, 0}, {1}).error, Catch::Contains("its `std` has 1 number: write"));
}

TEST_CASE("the shorter side's size is known where the picture's size is", "[config]") {
  const auto fixed = follow_bytes({op("decode-image"), resize({10, 20}), resize({5}), op("convert")});
  CHECK(fixed.end().shape() == std::vector<int64_t>{5, 10, 3});
  const auto open = follow_bytes({op("decode-image"), resize({5}), op("convert")});
  CHECK(open.at == 2);
  CHECK_THAT(open.error, Catch::Contains("whose size is not fixed"));
  CHECK(open.end() == resized(image(3, 8), {}, {}, true));  // it differs from sample to sample
}

TEST_CASE("an operation that does not fit is named by its place", "[config]") {
  const auto expect = [](const Followed& followed, size_t at, const std::string& error) {
    CHECK(followed.at == at);
    CHECK_THAT(followed.error, Catch::Contains(error));
  };
  expect(follow_bytes({crop(8)}), 0, "center-crop works on an image: add { op = \"decode-image\" } before it");
  expect(follow_bytes({op("decode-image"), op("parse-int")}), 1, "it must be the first operation");
  expect(follow_bytes({op("parse-int"), crop(8)}), 1, "it takes an image, and what comes before it is an integer");
  expect(follow_bytes({op("parse-float"), crop(8)}), 1,
         "writes the tensor, which random-erasing, spec-augment, python or plugin alone can change");
  expect(follow({{op("parse-int")}}, integer()), 0, "it takes bytes, and what comes before it is an integer");
  expect(follow({{op("decode-image")}}, bytes_of(Origin::kName)), 0, "it is the sample's name");
  expect(follow({{op("decode-image")}}, bytes_of(Origin::kJson)), 0, "can't decode a JSON value");
  expect(follow({{op("parse-int")}}, bytes_of(Origin::kName)), 0, "not a number");
  expect(follow_bytes({}), 0, "add decode-image (with a fixed size), decode-video (with a fixed size), decode-audio");
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
