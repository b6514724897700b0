#include "config/catalogue.h"

#include "config/batch_operation.h"
#include "config/steps.h"

#include <algorithm>
#include <set>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace spdld::config::catalogue_test {
namespace {

// A name of a table as pipelines write it.
std::string written(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

// Whether a default is of the type that its parameter promises to a reader.
bool fits(const Parameter& parameter) {
  if (!parameter.fallback) return true;
  switch (parameter.type) {
    case ParameterType::kFlag:
      return std::holds_alternative<bool>(*parameter.fallback);
    case ParameterType::kInteger:
    case ParameterType::kSize:
      return std::holds_alternative<int64_t>(*parameter.fallback);
    case ParameterType::kNumber:
      return std::holds_alternative<double>(*parameter.fallback);
    case ParameterType::kNumbers:
      return std::holds_alternative<std::vector<double>>(*parameter.fallback);
    case ParameterType::kText:
    case ParameterType::kChoice:
    case ParameterType::kNames:
    case ParameterType::kPath:
    case ParameterType::kValueType:
    case ParameterType::kValueTypes:
      return std::holds_alternative<std::string>(*parameter.fallback);
    case ParameterType::kTexts:
    case ParameterType::kOperations:
    case ParameterType::kTable:
      return false;
  }
  return false;
}

void check_parameters(const std::vector<Parameter>& parameters) {
  std::set<std::string_view> names;
  for (const auto& parameter : parameters) {
    INFO(parameter.name);
    CHECK(names.insert(parameter.name).second);
    CHECK(parameter.name != "op");
    CHECK_FALSE(parameter.help.empty());
    CHECK(fits(parameter));
    CHECK(parameter.choices.empty() == (parameter.type != ParameterType::kChoice));
    if (parameter.type == ParameterType::kNumbers) CHECK((parameter.count_min >= 1 || parameter.fallback));
    CHECK(parameter.count_min <= parameter.count_max);
    CHECK(parameter.min <= parameter.max);
  }
}

}  // namespace

TEST_CASE("the tables hold together", "[config]") {
  std::set<std::string_view> names;
  for (const auto& operation : operations()) {
    INFO(operation.name);
    CHECK(names.insert(operation.name).second);
    CHECK(find_operation(operation.name) == &operation);
    CHECK_FALSE(operation.help.empty());
    if (operation.takes == SignatureKind::kTensor) CHECK(operation.gives == SignatureKind::kTensor);
    CHECK((operation.bind != nullptr) == (operation.holds == Holds::kNone));
    const auto lists = std::count_if(operation.parameters.begin(), operation.parameters.end(), [](const auto& one) {
      return one.type == ParameterType::kOperations && one.name == kHeldOperations;
    });
    CHECK(lists == (operation.holds == Holds::kNone ? 0 : 1));
    check_parameters(operation.parameters);
  }
  for (const auto& source : sources()) {
    CHECK(find_source(source.name) == &source);
    CHECK_FALSE(source.help.empty());
    check_parameters(source.parameters);
  }
  CHECK(find_operation("shift") == nullptr);
  CHECK(find_source("s3") == nullptr);
}

TEST_CASE("a type is called as its line in the table", "[config]") {
  const std::vector<std::string> operation_lines = {
#define OPERATION(name, medium) #name,
#include "config/operations.inc"
#undef OPERATION
  };
  REQUIRE(operations().size() == operation_lines.size());
  for (size_t i = 0; i < operation_lines.size(); ++i) CHECK(operations()[i].name == written(operation_lines[i]));
  const std::vector<std::string> batch_lines = {
#define BATCH_OPERATION(name) #name,
#include "config/batch_operations.inc"
#undef BATCH_OPERATION
  };
  REQUIRE(batch_operations().size() == batch_lines.size());
  for (size_t i = 0; i < batch_lines.size(); ++i) CHECK(batch_operations()[i].name == written(batch_lines[i]));
  const std::vector<std::string> source_lines = {
#define SOURCE(name, room) #name,
#include "config/sources.inc"
#undef SOURCE
  };
  REQUIRE(sources().size() == source_lines.size());
  for (size_t i = 0; i < source_lines.size(); ++i) CHECK(sources()[i].name == written(source_lines[i]));
}

TEST_CASE("a step that operations share has no operation's name", "[config]") {
  std::set<std::string_view> names;
  for (const SharedStep& step : kSharedSteps) {
    INFO(step.name);
    CHECK(names.insert(step.name).second);
    CHECK(find_operation(step.name) == nullptr);
    CHECK(find_batch_operation(step.name) == nullptr);
    CHECK_FALSE(step.help.empty());
  }
}

TEST_CASE("the traits of operations name parameters that the operations have", "[config]") {
  for (const auto& operation : operations()) {
    INFO(operation.name);
    const auto has = [&](std::string_view name) {
      return std::any_of(operation.parameters.begin(), operation.parameters.end(),
                         [&](const auto& parameter) { return parameter.name == name; });
    };
    const PictureTraits& traits = operation.picture();
    for (const std::string_view name : {traits.keeps_rows_of, traits.asks_boxes_of, traits.tells_place,
                                        traits.normalizes.mean, traits.normalizes.std, operation.row_piece.parameter})
      CHECK((name.empty() || has(name)));
    for (const Ask& ask : operation.asks) CHECK(has(ask.parameter));
    CHECK(traits.normalizes.mean.empty() == traits.normalizes.std.empty());
    if (operation.decodes) CHECK(operation.takes == SignatureKind::kBytes);
    if (traits.counts_pixels || traits.is_kept_decoded) CHECK(operation.decodes);
    if (operation.reads_numbers || operation.copies_bytes) CHECK(operation.takes == SignatureKind::kBytes);
  }
}

TEST_CASE("code that needs an operation finds it by what it can do", "[config]") {
  CHECK(number_reader(DType::kInt64).name == "parse-int");
  CHECK(number_reader(DType::kFloat32).name == "parse-float");
  CHECK(number_reader(DType::kFloat64).name == "parse-float");
  CHECK(first_operation([](const OperationType& type) { return type.copies_bytes; }).name == "bytes");
  CHECK_THROWS_AS(first_operation([](const OperationType&) { return false; }), std::logic_error);
  OperationSpec clip = {"decode-video", {{"pick", std::string("row")}}, {}};
  CHECK(row_piece_of(clip) == RowKind::kClips);
  clip.parameters["pick"] = std::string("random");
  CHECK(row_piece_of(clip) == RowKind::kRecords);
  CHECK(row_piece_of({"tile", {}, {}}) == RowKind::kTiles);
  CHECK(row_piece_of({"resize", {}, {}}) == RowKind::kRecords);
}

TEST_CASE("a value has the facts of its kind and no other ones", "[config]") {
  CHECK(image(1, 16).picture().bits == 16);
  CHECK(audio(2, 8000, Dimension()).sound().rate_hz == 8000);
  CHECK(bytes_of(Origin::kJson).bytes().origin == Origin::kJson);
  CHECK(integer().dtype() == DType::kInt64);
  CHECK_THROWS_WITH(image(3, 8).sound(), "the value is of kind image");
  CHECK_THROWS_WITH(integer().tensor(), "the value is of kind integer");
  CHECK_THROWS_AS(bytes_of(Origin::kName).dtype(), std::logic_error);
  CHECK(image(3, 8).find_tensor() == nullptr);
  CHECK_FALSE(layout_of(image(3, 8)));
  CHECK_FALSE(layout_of(tensor(DType::kUint8, {Dimension(3)})));
  CHECK(layout_of(tensor(DType::kUint8, {Dimension(3)}, Layout::kNchw)) == Layout::kNchw);
  CHECK_FALSE(time_axis_of(tensor(DType::kUint8, {Dimension(3)}, Layout::kNchw)));
  Signature number = integer();
  set_frame(number, Frame{30, 20});
  CHECK(number == integer());
}

TEST_CASE("fields give what they hold", "[config]") {
  const auto& folder = *find_source("image-folder");
  const auto& archives = *find_source("webdataset");
  CHECK(field_signature(folder, "image") == bytes_of(Origin::kContent));
  CHECK(field_signature(folder, "class") == integer());
  CHECK(field_signature(folder, "path") == bytes_of(Origin::kName));
  CHECK(field_signature(archives, "class") == bytes_of(Origin::kContent));
  CHECK(field_signature(archives, "jpg") == bytes_of(Origin::kContent));
  const auto& manifest = *find_source("manifest");
  CHECK(field_signature(manifest, "path") == bytes_of(Origin::kContent));
  CHECK(field_signature(manifest, "__key__") == bytes_of(Origin::kName));
  CHECK(field_signature(manifest, "class", {{"class", Value(std::string())}}) == bytes_of(Origin::kContent));
  CHECK(field_signature(manifest, "class", {{"class", Value(std::string("label"))}}) == integer());
}

TEST_CASE("what is allowed is said in words", "[config]") {
  const auto of = [](std::string_view operation, std::string_view name) {
    for (const auto& parameter : find_operation(operation)->parameters) {
      if (parameter.name == name) return allowed(parameter);
    }
    return std::string();
  };
  CHECK(of("decode-image", "exif") == "true or false");
  CHECK(of("resize", "size") == "one or two whole numbers from 1 to 16384");
  CHECK(of("random-resized-crop", "scale") == "two numbers above 0 and at most 1");
  CHECK(of("horizontal-flip", "p") == "a number from 0 to 1");
  CHECK(of("normalize", "dtype") == "\"float16\", \"bfloat16\" or \"float32\"");
  CHECK(of("parse-npy", "shape") == "no to four whole numbers from 1 to 1048576");
  CHECK(of("random-choice", "ops") == "a list of one to 16 operations");
  CHECK(of("pad-bytes", "length") == "an integer from 1 to 1048576");
}

TEST_CASE("the help names every operation, source and parameter", "[config]") {
  const std::string text = operations_text();
  const auto json = nlohmann::json::parse(operations_json());
  REQUIRE(json["operations"].size() == operations().size());
  REQUIRE(json["sources"].size() == sources().size());
  for (size_t i = 0; i < operations().size(); ++i) {
    const auto& operation = operations()[i];
    const auto& entry = json["operations"][i];
    INFO(operation.name);
    CHECK(entry["name"] == operation.name);
    CHECK(entry["parameters"].size() == operation.parameters.size());
    const size_t at = text.find("\n  " + std::string(operation.name) + "  (");
    REQUIRE(at != std::string::npos);
    for (const auto& parameter : operation.parameters) {
      CHECK(text.find("\n    " + std::string(parameter.name) + ": ", at) != std::string::npos);
    }
  }
  CHECK(json["operations"][4]["parameters"][1]["default"] == nlohmann::json({0.08, 1.0}));
  CHECK(json["operations"][4]["parameters"][0]["required"] == true);
  CHECK(json["operations"][7]["out"] == "image");
  CHECK(json["sources"][0]["fields"] == nlohmann::json({"image", "class", "path"}));
  CHECK_THAT(text, Catch::Contains("\n    fields: image class path\n    extensions: a text; default \"jpg,jpeg\"\n"));
}

}  // namespace spdld::config::catalogue_test
