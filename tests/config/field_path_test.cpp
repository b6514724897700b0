#include "config/text/field_path.h"

#include "tests/config/expect.h"

namespace spdld::config::field_path_test {
namespace {

// A webdataset's pipeline whose one output has these lines.
Loaded<PipelineSpec> load_output(const std::string& lines, const std::string& source = "type = \"webdataset\"") {
  return load_pipeline_toml("name = \"p\"\n[source]\n" + source + "\nuri = \"/d\"\n[[output]]\nname = \"y\"\n" + lines +
                                "\n[batch]\nsize = 2\n",
                            "p.toml");
}

std::vector<std::string> steps_of(const std::string& text) {
  const FieldPath path = parse_field_path(text);
  INFO(text << ": " << path.error);
  CHECK(path.error.empty());
  std::vector<std::string> all;
  for (const auto& step : path.steps) all.push_back(step.is_index ? "#" + std::to_string(step.index) : step.key);
  const FieldPath again = parse_field_path("json:" + steps_text(path.steps));
  CHECK(again.error.empty());
  CHECK(again.steps == path.steps);
  return all;
}

}  // namespace

TEST_CASE("a field may be several, or a value in JSON", "[config]") {
  using Names = std::vector<std::string>;
  CHECK(parse_field_path("jpg").alternatives == Names{"jpg"});
  CHECK_FALSE(parse_field_path("seg.png").is_json());
  CHECK(parse_field_path("jpg;jpeg;png").alternatives == Names{"jpg", "jpeg", "png"});
  CHECK(parse_field_path("jpg;jpeg;png").field() == "jpg;jpeg;png");
  CHECK(parse_field_path("meta.json;json:a").alternatives == Names{"meta.json", "json"});
  CHECK(parse_field_path("image/encoded;a b").alternatives == Names{"image/encoded", "a b"});
  CHECK(parse_field_path("Gr\u00f6\u00dfe (cm)").alternatives == Names{"Gr\u00f6\u00dfe (cm)"});
  CHECK_FALSE(parse_field_path(std::string(129, 'x')).error.empty());
  CHECK(steps_of("json:label") == Names{"label"});
  CHECK(steps_of("json:meta.label") == Names{"meta", "label"});
  CHECK(steps_of("json:boxes[0].id") == Names{"boxes", "#0", "id"});
  CHECK(steps_of("json:[12][3]") == Names{"#12", "#3"});
  CHECK(steps_of("json:a[\"b.c\"][\"\"].d e/\u00e4") == Names{"a", "b.c", "", "d e/\u00e4"});
  CHECK(steps_of(R"(json:["q\"\\"])") == Names{"q\"\\"});

  for (const char* bad : {"", ";", "jpg;", ";jpg", ".jpg", "/a", "a ", "a\"b", "jpg,png", "jpg; png", "a\xff"}) {
    INFO(bad);
    CHECK_THAT(parse_field_path(bad).error, Catch::Contains("a member's extension such as"));
  }
  for (const char* bad : {"json:", "json:.", "json:a.", "json:.a", "json:a..b", "json:[", "json:[]", "json:[-1]",
                          "json:[a]", "json:[1000000]", "json:[0]a", "json:[\"a]", "json:[\"a\"", R"(json:["\a"])",
                          "json:a]", "json:a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q"}) {
    INFO(bad);
    CHECK_THAT(parse_field_path(bad).error, Catch::Contains("keys with dots between them"));
  }
  CHECK_THAT(parse_field_path("a;b;a").error, Catch::Contains("names \"a\" twice"));
  CHECK_THAT(parse_field_path("a;b;c;d;e;f;g;h;i;j;k;l;m;n;o;p;q").error, Catch::Contains("at most 16 fields"));
  CHECK_THAT(parse_field_path("json:" + std::string(600, 'x')).error, Catch::Contains("at most 512 bytes"));
}

TEST_CASE("a number's dtype stands for the operation that reads it", "[config]") {
  const auto ops = [](const std::string& lines) {
    const auto loaded = load_output(lines);
    INFO(lines << ": " << loaded.sentences());
    REQUIRE(loaded);
    const auto again = load_pipeline_json(full_json(*loaded.value), "again");
    REQUIRE(again);
    CHECK(canonical_json(*again.value) == canonical_json(*loaded.value));
    REQUIRE(loaded.value->outputs[0].ops.size() == 1);
    return loaded.value->outputs[0].ops[0];
  };
  CHECK(ops("from = \"cls\"\ndtype = \"int64\"").op == "parse-int");
  CHECK(ops("from = \"json:a\"\ndtype = \"float32\"").op == "parse-float");
  CHECK(ops("from = \"json:a\"\ndtype = \"float64\"").text("dtype") == "float64");
  CHECK(ops("from = \"txt;cls\"\nops = [{ op = \"parse-float\" }]").text("dtype") == "float32");
  CHECK(canonical_json(*load_output("from = \"json:a\"\ndtype = \"float32\"").value) ==
        canonical_json(*load_output("from = 'json:[\"a\"]'\nops = [{ op = \"parse-float\" }]").value));

  expect_complaints(load_output("from = \"cls\"\ndtype = \"float16\""),
                    {{5, "output[0].ops", "dtype = \"int64\", \"float32\" or \"float64\" does as well"},
                     {8, "output[0].dtype", "must be \"int64\", \"float32\" or \"float64\""}});
  expect_complaints(load_output("from = \"cls\"\ndtype = \"int64\"\nops = [{ op = \"parse-int\" }]"),
                    {{8, "output[0].dtype", "leave it out beside ops"}});
  expect_complaints(load_output("from = \"json:a\""), {{5, "output[0].ops", "parse-int, parse-float"}});
  expect_complaints(load_output("from = \"json:a\"\nops = [{ op = \"decode-image\" }]"),
                    {{8, "output[0].ops[0]", "can't decode a JSON value"}});
  expect_complaints(load_output("from = \"json:a.\"\ndtype = \"int64\""),
                    {{7, "output[0].from", "keys with dots between them"}});
  expect_complaints(load_output("from = \"jpg;path\"\ndtype = \"int64\""), {{7, "output[0].from", "\"path\" beside"}});
  expect_complaints(load_output("from = \"path:a\"\ndtype = \"int64\""), {{7, "output[0].from", "holds no JSON"}});
}

TEST_CASE("an image-folder takes of several fields the one that it has", "[config]") {
  const std::string folder = "type = \"image-folder\"";
  const std::string crop = "\nops = [{ op = \"decode-image\" }, { op = \"center-crop\", size = 8 }]";
  CHECK(load_output("from = \"jpg;image\"" + crop, folder));
  expect_complaints(load_output("from = \"jpg;png\"" + crop, folder),
                    {{7, "output[0].from", "is not a field of image-folder"}});
  expect_complaints(load_output("from = \"image:a\"\ndtype = \"int64\"", folder),
                    {{7, "output[0].from", "no field of image-folder holds any"}});
  CHECK(load_output("from = \"class\"\ndtype = \"int64\"", folder).value->outputs[0].ops.empty());
  expect_complaints(load_output("from = \"class\"\ndtype = \"float32\"", folder),
                    {{8, "output[0].dtype", "must be \"int64\" here"}});
}

}  // namespace spdld::config::field_path_test
