#include "config/spec.h"

#include <nlohmann/json.hpp>

#include "tests/config/expect.h"

namespace spdld::config::spec_test {
namespace {

const char* const kToml = R"(
name = "a"
seed = 9223372036854775807
on_bad = "mask"
cache = "encoded"
[source]
type = "webdataset"
uri = "file:///d/a-{00..11}.tar"
[order]
shuffle = false
epochs = 0
[[output]]
name = "image"
from = "jpg"
ops = [{ op = "decode-image" }, { op = "random-resized-crop", size = 224, scale = [0.1, 1], box = "crop" },
       { op = "normalize", mean = [0.485, 0.456, 0.406], std = [0.229, 0.224, 0.225], dtype = "bfloat16" }]
[[output]]
name = "label"
from = "cls"
ops = [{ op = "parse-int" }]
[batch]
global_size = 512
last = "drop"
prefetch_depth = 3
held_max = 1
device = "cpu"
)";

const char* const kJson = R"({"batch": {"device": "cpu", "held_max": 1, "prefetch_depth": 3, "last": "drop",
 "global_size": 512}, "name": "a", "cache": "encoded", "on_bad": "mask", "seed": 9223372036854775807,
 "order": {"epochs": 0, "shuffle": false}, "source": {"uri": "/d/a-{00..11}.tar",
 "type": "webdataset"}, "output": [{"from": "jpg", "name": "image", "ops": [
 {"op": "decode-image", "exif": true}, {"op": "random-resized-crop", "size": [224], "scale": [0.1, 1.0], "box": "crop"},
 {"op": "normalize", "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225], "dtype": "bfloat16",
 "layout": "NCHW"}]}, {"name": "label", "from": "cls", "ops": [{"op": "parse-int"}]}]})";

}  // namespace

TEST_CASE("dtypes and layouts", "[config]") {
  CHECK(dtype_bytes(DType::kUint8) == 1);
  CHECK(dtype_bytes(DType::kBfloat16) == 2);
  CHECK(dtype_bytes(DType::kInt64) == 8);
  CHECK(dtype_bytes(DType::kFloat64) == 8);
  CHECK(dtype_bytes(DType::kComplex128) == 16);
  CHECK(dtype_name(DType::kBool) == "bool");
  for (size_t number = 0; number < kDTypeCount; number++) {
    const auto dtype = static_cast<DType>(number);
    CHECK(dtype_named(dtype_name(dtype)) == dtype);
  }
  CHECK_THROWS_AS(dtype_bytes(static_cast<DType>(kDTypeCount)), std::logic_error);
  CHECK(layout_named("NHWC") == Layout::kNhwc);
  CHECK(layout_named("NCHW") == Layout::kNchw);
  CHECK_THROWS_AS(dtype_named("float"), std::logic_error);
  CHECK_THROWS_AS(layout_named("HWC"), std::logic_error);
}

TEST_CASE("a parameter that is not there, or of another type, is the caller's error", "[config]") {
  const OperationSpec spec{.op = "resize", .parameters = {{"size", std::vector<double>{8}}}, .where = {}};
  CHECK(spec.numbers("size") == std::vector<double>{8});
  CHECK_THROWS_AS(spec.number("size"), std::logic_error);
  CHECK_THROWS_AS(spec.flag("antialias"), std::logic_error);
}

TEST_CASE("a TOML file and a JSON text that say the same are one spec", "[config]") {
  const auto toml = load_pipeline_toml(kToml, "a.toml");
  const auto json = load_pipeline_json(kJson, "spec");
  INFO(toml.sentences() << json.sentences());
  REQUIRE(toml);
  REQUIRE(json);
  CHECK(canonical_json(*toml.value) == canonical_json(*json.value));
  CHECK(full_json(*toml.value) == full_json(*json.value));
}

TEST_CASE("full_json goes round", "[config]") {
  const auto first = load_pipeline_toml(kToml, "a.toml");
  REQUIRE(first);
  const auto again = load_pipeline_json(full_json(*first.value), "again");
  INFO(again.sentences());
  REQUIRE(again);
  CHECK(full_json(*again.value) == full_json(*first.value));
  CHECK(canonical_json(*again.value) == canonical_json(*first.value));
  CHECK(again.value->name == "a");
  CHECK(again.value->cache == CacheForm::kEncoded);
  CHECK(again.value->seed == 9223372036854775807u);
  CHECK(again.value->batch.held_max == 1);
}

TEST_CASE("canonical_json has what decides the bytes, and nothing else", "[config]") {
  const auto spec = *load_pipeline_toml(kToml, "a.toml").value;
  const auto text = canonical_json(spec);
  auto other = spec;
  other.name = "b";
  other.batch.prefetch_depth = 9;
  other.batch.held_max = 9;
  other.batch.device = "auto";
  other.where.line = 99;
  CHECK(canonical_json(other) == text);
  CHECK(full_json(other) != full_json(spec));
  auto uncached = spec;
  uncached.cache = CacheForm::kOff;
  CHECK(canonical_json(uncached) == text);
  CHECK(full_json(uncached) != full_json(spec));
  auto heavier = spec, pinned = spec;  // neither decides a byte
  heavier.cpu_weight = 2.5;
  pinned.sources[0].fingerprint = std::string(32, 'a');
  for (const auto& changed : {heavier, pinned}) {
    CHECK(canonical_json(changed) == text);
    const auto again = load_pipeline_json(full_json(changed), "again");
    INFO(again.sentences());
    REQUIRE(again);
    CHECK(full_json(*again.value) == full_json(changed));
    CHECK(again.value->cpu_weight == changed.cpu_weight);
    CHECK(again.value->sources[0].fingerprint == changed.sources[0].fingerprint);
  }
  const auto changed = [&](auto change) {
    auto copy = spec;
    change(copy);
    return canonical_json(copy) != text;
  };
  CHECK(changed([](auto& s) { s.seed = 1; }));
  CHECK(changed([](auto& s) { s.on_bad = OnBad::kFail; }));
  CHECK(changed([](auto& s) { s.on_drop = OnDrop::kShorter; }));
  CHECK(changed([](auto& s) { s.on_drop = OnDrop::kSubstitute; }));
  CHECK_FALSE(changed([](auto& s) { s.on_drop = OnDrop::kMask; }));  // it is implied
  CHECK(changed([](auto& s) { s.sources[0].parameters["x"] = true; }));
  CHECK(changed([](auto& s) { s.order.shuffle = Shuffle::kGlobal; }));
  CHECK(changed([](auto& s) { s.order.shuffle = Shuffle::kWindow; }));
  CHECK(changed([](auto& s) { s.order.weights = "/x"; }));
  CHECK(changed([](auto& s) { s.order.epoch_samples = 1; }));
  CHECK(changed([](auto& s) { s.outputs.pop_back(); }));
  CHECK(changed([](auto& s) { s.outputs[0].ops[2].parameters["dtype"] = std::string("float32"); }));
  CHECK(changed([](auto& s) { s.batch.last = LastBatch::kShort; }));
  CHECK(changed([](auto& s) { s.batch.last = LastBatch::kPad; }));
  // What is told by the listing, the weights or the global batch, and the length of a run: in the full text alone.
  const auto only_full = [&](auto change) {
    auto copy = spec;
    change(copy);
    return canonical_json(copy) == text && full_json(copy) != full_json(spec);
  };
  CHECK(only_full([](auto& s) { s.sources[0].uris = {"/x"}; }));
  CHECK(only_full([](auto& s) { s.order.epochs = 1; }));
  CHECK(only_full([](auto& s) { s.order.include = "/x"; }));
  CHECK(only_full([](auto& s) { s.order.exclude = "/x"; }));
  CHECK(only_full([](auto& s) { s.order.first = 1; }));
  CHECK(only_full([](auto& s) { s.batch.size = 77; }));
  CHECK(only_full([](auto& s) { s.batch.size = 0, s.batch.global_size = 77; }));
}

TEST_CASE("canonical_json is one known text", "[config]") {
  const auto loaded = load_with_line(0, "");
  REQUIRE(loaded);
  CHECK(
      canonical_json(*loaded.value) ==
      R"({"batch":{"last":"short"},"on_bad":"substitute","order":{"shuffle":true},)"
      R"("output":[{"from":"image","name":"image","ops":[{"exif":true,"fast":false,"op":"decode-image","strict":false},)"
      R"({"antialias":true,"op":"resize","size":[32,48]},)"
      R"({"dtype":"uint8","layout":"NHWC","op":"convert","scale":1}]}],"seed":7,)"
      R"("source":{"extensions":"jpg,jpeg","type":"image-folder"}})");
  // Written or implied, convert is the same.
  const auto written =
      load_with_ops("{ op = \"decode-image\" }, { op = \"resize\", size = [32, 48] }, { op = \"convert\" }");
  REQUIRE(written);
  CHECK(canonical_json(*written.value) == canonical_json(*loaded.value));
}

}  // namespace spdld::config::spec_test
