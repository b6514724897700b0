// Sources whose samples are the items of a data set in user code.
#include "config/catalogue.h"
#include "config/run_keys.h"
#include "config/segments.h"
#include "config/side_paths.h"
#include "config/text/call_path.h"
#include "config/text/json.h"
#include "config/text/value_type.h"
#include "tests/config/expect.h"

namespace spdld::config::data_set_test {
namespace {

const std::string kGives = R"(gives = { image = { dtype = "uint8", shape = [32, 48, 3] }, label = "int64 []" })";

// A pipeline over photos:train, with further lines in its source and behind it.
std::string text_of(const std::string& source, const std::string& ops = R"({ op = "raw", dtype = "int64" })",
                    const std::string& from = "label", const std::string& rest = "") {
  return "name = \"items\"\n[source]\ntype = \"python\"\n" + source + "\n[[output]]\nname = \"value\"\nfrom = \"" +
         from + "\"\nops = [" + ops + "]\n[batch]\nsize = 8\n" + rest;
}
std::string source(const std::string& gives = kGives) { return "call = \"photos:train\"\nsamples = 20\n" + gives; }

PipelineSpec loaded(const std::string& text) {
  const auto spec = load_pipeline_toml(text, "items.toml", "/data");
  INFO(spec.sentences());
  REQUIRE(spec);
  return *spec.value;
}

void refuse(const std::string& text, const std::string& key, const std::string& fragment) {
  const auto spec = load_pipeline_toml(text, "items.toml", "/data");
  INFO(text);
  INFO(spec.sentences());
  REQUIRE_FALSE(spec);
  CHECK(std::ranges::any_of(spec.complaints, [&](const Complaint& one) {
    return one.key == key && one.text.find(fragment) != one.text.npos;
  }));
}

}  // namespace

TEST_CASE("a data set has no uri, and says what its items are", "[config]") {
  const PipelineSpec spec = loaded(text_of(source()));
  const SourceSpec& items = spec.sources.front();
  CHECK(items.uris.empty());
  CHECK(uris_text(items) == "photos:train");
  CHECK(is_made(items));
  CHECK(item_values(items) ==
        std::vector<NamedValueType>{{"image", {DType::kUint8, {32, 48, 3}}}, {"label", {DType::kInt64, {}}}});
  CHECK(uses_executor(spec, kUserExecutor));
  CHECK_FALSE(uses_executor(spec.outputs, kUserExecutor));
  CHECK(side_bytes_max_of(spec) == 256u << 20);
  CHECK(full_document(spec).dump().find("\"uri\"") == std::string::npos);
  CHECK(full_document(spec).find("python") != nullptr);
  refuse(text_of("uri = \"/data\"\n" + source()), "source.uri", "whose samples lie nowhere");
}

TEST_CASE("the values of items come in the order of their names, in each spelling", "[config]") {
  const std::string one = R"(gives = { b = "bytes", a = { dtype = "float32", shape = [-1, 4] }, label = "int64 []" })";
  const std::string other = R"(gives = "label int64 []; a float32[-1, 4]; b bytes")";
  const std::string third =
      "[source.gives]\nlabel = { dtype = \"int64\", shape = [] }\na = { dtype = \"float32\", shape = [-1, "
      "4] }\nb = \"bytes\"";
  const auto values = item_values(loaded(text_of(source(one))).sources.front());
  CHECK(value_types_text(values) == "a float32 [-1, 4]; b bytes; label int64 []");
  CHECK(item_values(loaded(text_of(source(other))).sources.front()) == values);
  CHECK(item_values(loaded(text_of(source("") + third)).sources.front()) == values);
  CHECK(canonical_json(loaded(text_of(source(one)))) == canonical_json(loaded(text_of(source(third)))));
}

TEST_CASE("what code gives the items decides a run", "[config]") {
  const auto text = [](const std::string& more) { return canonical_json(loaded(text_of(source() + "\n" + more))); };
  CHECK(text("") != text("code = \"0f\""));
  const PipelineSpec spec = loaded(text_of(source() + "\ncode = \"0f\""));
  const std::vector<RunKey> keys = run_keys(spec);
  CHECK(
      std::ranges::any_of(keys, [](const RunKey& key) { return key.path == "source/code" && key.value == "\"0f\""; }));
}

TEST_CASE("a data set that is not named rightly is refused", "[config]") {
  const auto with = [](const std::string& call, const std::string& more = "") {
    return text_of("call = \"" + call + "\"\nsamples = 20\n" + kGives + more);
  };
  for (const char* const call : {"photos:train", "team.photos:Photos.train", "fotos_ä:x"}) loaded(with(call));
  loaded(with("train", "\ncode = \"0f\""));
  refuse(with("train"), "source.call", "must name the module too, such as \"photos:train\": a data set's name alone");
  for (const char* const call : {"", "photos:", ":train", "photos:train:x", "pho tos:train", "photos:1", "a..b:c"})
    refuse(with(call), "source.call",
           "must be \"module:name\", such as \"photos:train\" or \"team.photos:Photos.train\"");
  refuse(with(std::string(257, 'x')), "source.call", "at most 256 bytes, not 257");
  refuse(with("photos:train", "\ncode = \"0x\""), "source.code", "of the digits 0 to 9 and a to f");
  refuse(text_of("call = \"photos:train\"\n" + kGives), "source.samples", "is missing");
  refuse(text_of("call = \"photos:train\"\nsamples = 0\n" + kGives), "source.samples", "from 1");
  refuse(text_of("call = \"photos:train\"\nsamples = 20"), "source.gives", "is missing");
}

TEST_CASE("values that no item has are refused", "[config]") {
  const auto with = [](const std::string& gives) { return text_of(source("gives = " + gives)); };
  refuse(with("{}"), "source.gives", "must name at least one value");
  refuse(with("3"), "source.gives", "must be a table such as { image =");
  refuse(with("\"label\""), "source.gives", "must be a table such as");
  refuse(with("{ label = 3 }"), "source.gives.label", "must be \"bytes\", or a table such as");
  refuse(with("{ label = \"byte\" }"), "source.gives.label", "must be \"bytes\", or a table such as");
  refuse(with("{ label = { dtype = \"int65\", shape = [] } }"), "source.gives.label.dtype", "did you mean \"int64\"?");
  refuse(with("{ label = { dtype = \"int64\", shape = [2, -1] } }"), "source.gives.label.shape",
         "in the first place alone");
  refuse(with("{ \"a b\" = \"bytes\" }"), "source.gives.a b", "must have a name of 1 to 64 letters");
  refuse(with("{ __key__ = \"bytes\" }"), "source.gives", "which stands for a sample's own name");
}

TEST_CASE("a list of values is read back as it was written, and nothing else is", "[config]") {
  for (const char* const text : {"a float32 [-1, 4]; b bytes", "b-1.c_d int64 []", ""}) {
    const auto types = value_types_in(text);
    REQUIRE(types);
    CHECK(value_types_text(*types) == text);
  }
  CHECK(value_types_text(*value_types_in("b bytes;a bytes;")) == "a bytes; b bytes");
  for (const char* const text : {"a", "a ", " bytes", "a byte", "a bytes; a int64 []", "a bytes, b bytes", "a/b bytes",
                                 "a bytes;; b bytes", "a int64 [0]"})
    CHECK_FALSE(value_types_in(text));
}

TEST_CASE("outputs are held to the values of the items", "[config]") {
  loaded(text_of(source(), R"({ op = "raw", dtype = "uint8", shape = [32, 48, 3] })", "image"));
  loaded(text_of(source(R"(gives = { label = "bytes" })"),
                 R"({ op = "decode-image" }, { op = "resize", size = [8, 8] })"));
  loaded(text_of(source(R"(gives = { label = "bytes" })"), R"({ op = "parse-int" })", "label:a.b"));
  refuse(text_of(source(), R"({ op = "raw", dtype = "int32" })"), "output[0].ops[0]",
         "the field's values are int64 []");
  refuse(text_of(source(), R"({ op = "raw", dtype = "uint8", shape = [32, 48, 1] })", "image"), "output[0].ops[0]",
         "the field's values are uint8 [32, 48, 3]");
  refuse(text_of(source(), R"({ op = "raw", dtype = "int64" })", "labels"), "output[0].from",
         "is not a field of python: \"labels\" (did you mean \"label\"?); it has \"image\", \"label\", \"__key__\"");
  refuse(text_of(source(), R"({ op = "raw", dtype = "int64" })", "label;image"), "output[0].from",
         "can't have alternatives here");
}

TEST_CASE("what needs samples before they are made may not stand beside them", "[config]") {
  const std::string bytes = source(R"(gives = { label = "bytes" })");
  const std::string ops = R"({ op = "bytes" })";
  const std::string ragged = "ragged = true\nlength_max = 100\n";
  const auto with = [&](const std::string& rest) {
    return "cache = \"auto\"\n" +
           text_of(bytes, R"({ op = "decode-image" }, { op = "resize", size = [8, 8] })", "label", rest);
  };
  loaded(with(""));
  refuse(with("[rows]\nkind = \"windows\"\nfrom = \"label\"\nlength = 8\n"), "rows", "can't be measured before");
  std::string kept = with("");
  for (const char* const form : {"decoded", "packed", "indexed"}) {
    kept = with("");
    kept.replace(kept.find("auto"), 4, form);
    refuse(kept, "cache", "write \"off\", or \"encoded\"");
  }
  for (const char* const form : {"off", "encoded"}) {
    kept = with("");
    kept.replace(kept.find("auto"), 4, form);
    loaded(kept);
  }
  std::string cost = with("");
  cost.replace(cost.find("size = 8\n", cost.find("[batch]")), 8,
               "cost_max = 100000\ncost = \"bytes\"\ncost_from = \"label\"");
  refuse(cost, "batch.cost_max", "can't be measured before");
}

}  // namespace spdld::config::data_set_test
