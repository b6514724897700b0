#include "config/catalogue.h"
#include "config/checks/check.h"
#include "tests/config/expect.h"

namespace spdld::config::source_test {
namespace {

Loaded<PipelineSpec> load_uri(const std::string& uri, const std::filesystem::path& folder = "/files") {
  return load_pipeline_toml(with_line(5, "uri = '" + uri + "'"), "p.toml", folder);
}

Loaded<PipelineSpec> load_archives(const std::string& uri) {
  std::string text = with_line(4, "type = \"webdataset\"");
  const std::string from = "from = \"image\"", plain = "uri = \"/data/train\"";
  text.replace(text.find(from), from.size(), "from = \"jpg\"");
  text.replace(text.find(plain), plain.size(), "uri = '" + uri + "'");
  return load_pipeline_toml(text, "p.toml", "/files");
}

}  // namespace

TEST_CASE("a uri becomes a plain absolute path", "[config]") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"/data/train", "/data/train"},
      {"/data//./train/", "/data/train"},
      {"/", "/"},
      {"/data/../train", "/data/../train"},  // what it means is the file system's to say
      {"train", "/files/train"},
      {"./train", "/files/train"},
      {"../train", "/files/../train"},
      {"file:///data/train", "/data/train"},
      {"file://localhost/data/train", "/data/train"},
      {"file:/data/train", "/data/train"},
      {"file:///data/my%20train%25", "/data/my train%"},
      {"/data/my%20train", "/data/my%20train"},
      {"/data/a:b", "/data/a:b"},
      {"a b:c", "/files/a b:c"},
      {"/data/~", "/data/~"},
  };
  for (const auto& [uri, path] : cases) {
    const auto loaded = load_uri(uri);
    INFO(uri << ": " << loaded.sentences());
    REQUIRE(loaded);
    CHECK(loaded.value->sources[0].uris.at(0) == path);
  }
}

TEST_CASE("a uri that can't be used says why", "[config]") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "must name a folder or a file"},
      {"gs://bucket/train",
       "\"gs\" is not supported by this version: give a local path, file:///..., s3://... or https://..."},
      {"s3:/bucket/train", "\"s3\" is not supported"},
      {"S3://bucket/train", "\"S3\" is not supported"},
      {"s3://b/train", "no bucket's name behind s3://"},
      {"https:///train", "no server's name behind https://"},
      {"https://me:secret@host/train", "a user or a password before the @"},
      {"https://host/train?token=1", "a query behind the \"?\""},
      {"http:/train", "\"http\" is not supported"},
      {"file://host/train", "names another machine"},
      {"file:///data/%2", "two hexadecimal digits"},
      {"file:///data/%zz", "two hexadecimal digits"},
      {"file:///data/%00", "two hexadecimal digits"},
      {"file:///data/%c2%9b", "leads to a path with control characters"},
      {"file:///data/%ff", "not UTF-8"},
      {"~/train", "not expanded"},
      {"~", "not expanded"},
  };
  for (const auto& [uri, fragment] : cases) {
    INFO(uri);
    expect_complaints(load_uri(uri), {{5, "source.uri", fragment}});
  }
  expect_complaints(load_uri("train", ""), {{5, "source.uri", "must be an absolute path"}});
  expect_complaints(load_uri("train", "\xff/files"), {{5, "source.uri", "must be an absolute path"}});
  expect_complaints(load_uri("train", "/\xff"), {{5, "source.uri", "not UTF-8"}});
}

TEST_CASE("a webdataset is streamed where it says so, with a bound", "[config]") {
  const auto load = [](const std::string& keys) {
    return load_pipeline_toml(with_line(4, "type = \"webdataset\"\n" + keys), "p.toml");
  };
  const auto plain = load("");
  CHECK(plain.value->sources[0].access == Access::kAuto);
  CHECK(plain.value->sources[0].stream_bytes_max == kStreamBytes);
  const auto streamed = load("access = \"stream\"\nstream_bytes_max = \"2 GiB\"");
  INFO(streamed.sentences());
  REQUIRE(streamed);
  CHECK(streamed.value->sources[0].access == Access::kStream);
  CHECK(streamed.value->sources[0].stream_bytes_max == 2ull << 30);
  CHECK(canonical_json(*streamed.value) == canonical_json(*plain.value));  // the same samples in the same order
  const auto again = load_pipeline_json(full_json(*streamed.value), "again");
  REQUIRE(again);
  CHECK(again.value->sources[0].access == Access::kStream);
  CHECK(again.value->sources[0].stream_bytes_max == 2ull << 30);
  expect_complaints(load("access = \"streams\"\nstream_bytes_max = \"1 MiB\""),
                    {{5, "source.access", "\"stream\""}, {6, "source.stream_bytes_max", "from 67108864"}});
  expect_complaints(load_pipeline_toml(with_line(4, "type = \"image-folder\"\naccess = \"stream\""), "p.toml"),
                    {{5, "source.access", "may only stand beside type = \"webdataset\""}});
}

TEST_CASE("a source's type and keys are checked", "[config]") {
  std::string types;
  for (const SourceType& type : sources()) types.append(in_quotes(std::string(type.name))).append(", ");
  expect_complaints(load_with_line(4, "type = \"image-foldr\""),
                    {{4, "source.type", types + "not \"image-foldr\" (did you mean \"image-folder\"?)"}});
  expect_complaints(load_with_line(4, "type = 3"), {{4, "source.type", "must be a text, not 3"}});
  expect_complaints(load_with_line(4, ""), {{3, "source.type", "is missing"}});
  expect_complaints(load_with_line(5, ""), {{3, "source.uri", "is missing"}});
  expect_complaints(load_with_line(5, "uri = [\"/a\"]"),
                    {{5, "source.uri", "several uris in a list are for a webdataset"}});
  expect_complaints(load_with_line(5, "uri = \"/a\"\nurl = \"/b\""), {{6, "source.url", "did you mean \"uri\"?"}});
  expect_complaints(load_with_line(5, "uri = \"/a\"\nextensions = \".jpg\""),
                    {{6, "source.extensions", "without dots"}});
  expect_complaints(load_with_line(5, "uri = \"/a\"\nextensions = \"\""), {{6, "source.extensions", "without dots"}});
  expect_complaints(load_with_line(5, "uri = \"/a\"\nextensions = [\"jpg\"]"), {{6, "source.extensions", "a text"}});
  const auto loaded = load_with_line(5, "uri = \"/a\"\nextensions = \"JPG, jfif\"");
  REQUIRE(loaded);
  CHECK(std::get<std::string>(loaded.value->sources[0].parameters.at("extensions")) == "jpg,jfif");
}

TEST_CASE("a webdataset's uri may hold braces and wildcards", "[config]") {
  for (const std::string uri :
       {"/d/a.tar", "/d/a-{000..127}.tar", "/d/a-{0..127}.tar", "/d/{5..5}/a.tar", "a-{9..10}.tar",
        "/d/a-{1..9..3}.tar", "/d/{0..1}/a-{0..1}.tar", "/d/{train,extra}/a-{00..10}.tar", "/d/{a,b{1..3}}.tar",
        "/d/*/a-?[0-9].tar", "/d/a{,-more}.tar"}) {
    const auto loaded = load_archives(uri);
    INFO(uri << ": " << loaded.sentences());
    REQUIRE(loaded);
    CHECK(loaded.value->sources[0].uris == std::vector<std::string>{uri[0] == '/' ? uri : "/files/" + uri});
    CHECK(loaded.value->sources[0].parameters.empty());
  }
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"/d/a-{000..127.tar", "each brace has its partner"},
      {"/d/a-000..127}.tar", "each brace has its partner"},
      {"/d/}{", "each brace has its partner"},
      {"/d/{a,{b}.tar", "each brace has its partner"},
      {"/d/a-{}.tar", "a range of numbers such as a-{000..127}.tar, or a list such as {train,extra}.tar"},
      {"/d/a-{a..c}.tar", "a range of numbers such as"},
      {"/d/{a,{b}}.tar", "a range of numbers such as"},
      {"/d/a-{1..1234567890}.tar", "a range of numbers such as"},
      {"/d/a-{00..127}.tar", "{00..127} must have as many digits"},
      {"/d/a-{5..4}.tar", "not above its last"},
      {"/d/a-{1..4..0}.tar", "step must be 1 or more"},
      {"/d/a-{0..1000000}.tar", "at most 1000000 archives"},
      {"/d/{0..9999}/{0..9999}/{0..9999}/{0..9999}/{0..9999}.tar", "at most 1000000 archives"},
      {"/d/{0..99999}" + std::string(3000, 'x') + ".tar", "256 MiB of paths"},
      {"/d/{a,{b,{c,{d,{e,f}}}}}.tar", "at most 4 deep"},
      {"/d/**/a.tar", "\"**\" is not known"},
  };
  for (const auto& [uri, fragment] : cases) {
    INFO(uri);
    expect_complaints(load_archives(uri), {{5, "source.uri", fragment}});
  }
  CHECK(load_uri("/d/{a}"));  // braces and wildcards mean nothing to an image-folder
  CHECK(load_uri("/d/a*"));
}

TEST_CASE("a webdataset may have several uris", "[config]") {
  const auto with_uris = [](const std::string& list) {
    std::string text = with_line(4, "type = \"webdataset\"");
    text.replace(text.find("uri = \"/data/train\""), 19, "uri = " + list);
    return load_pipeline_toml(text, "p.toml", "/files");
  };
  const auto loaded = with_uris("[\"/d/a-{0..9}.tar\", \"file:///e%20f\",\n \"g/*.tar\"]");
  INFO(loaded.sentences());
  REQUIRE(loaded);
  const std::vector<std::string> expected = {"/d/a-{0..9}.tar", "/e f", "/files/g/*.tar"};
  CHECK(loaded.value->sources[0].uris == expected);
  CHECK(uris_text(loaded.value->sources[0]) == "/d/a-{0..9}.tar, /e f, /files/g/*.tar");
  const auto again = load_pipeline_json(full_json(*loaded.value), "again");
  INFO(again.sentences());
  REQUIRE(again);
  CHECK(again.value->sources[0].uris == expected);
  const auto single = with_uris("[\"/d\"]");
  REQUIRE(single);
  CHECK(full_json(*single.value) == full_json(*with_uris("\"/d\"").value));
  CHECK(canonical_json(*single.value) == canonical_json(*loaded.value));  // where the data lie decides no byte

  expect_complaints(with_uris("[]"), {{5, "source.uri", "must name a folder or a file"}});
  expect_complaints(with_uris("[\"/a\", 3]"), {{5, "source.uri[1]", "must be a text"}});
  expect_complaints(with_uris("[\"/a\", \"gs://b\",\n\"/b-{1..}.tar\"]"),
                    {{5, "source.uri[1]", "\"gs\" is not supported"}, {6, "source.uri[2]", "a range of numbers"}});
  expect_complaints(with_uris("[\"/a-{1..600000}.tar\", \"/b-{1..600000}.tar\"]"),
                    {{5, "source.uri", "names more than 1000000 archives"}});
  expect_complaints(with_uris("3"), {{5, "source.uri", "must be a text, not 3"}});
}

TEST_CASE("a webdataset's fields are extensions, and its class is bytes", "[config]") {
  std::string text = with_line(4, "type = \"webdataset\"");
  CHECK(load_pipeline_toml(text, "p.toml"));  // a member may be called *.image
  const auto put_from = [&](const std::string& from) {
    std::string changed = text;
    changed.replace(changed.find("from = \"image\""), 14, "from = \"" + from + "\"");
    return load_pipeline_toml(changed, "p.toml");
  };
  CHECK(put_from("seg.png"));
  CHECK(put_from("class"));
  expect_complaints(put_from(".jpg"), {{10, "output[0].from", "a member's extension such as \"jpg\""}});
  expect_complaints(put_from("a,b"), {{10, "output[0].from", "a member's extension"}});
  expect_complaints(put_from(""), {{10, "output[0].from", "a member's extension"}});
  expect_complaints(put_from("path"), {{11, "output[0].ops[0]", "can't decode \"path\""}});
}

TEST_CASE("a listing is pinned by 32 digits, and the CPU's weight is a number in bounds", "[config]") {
  const std::string digits = "0123456789abcdef0123456789abcdef";
  const auto pinned = load_with_line(5, "uri = \"/data/train\"\nfingerprint = \"" + digits + "\"");
  INFO(pinned.sentences());
  REQUIRE(pinned);
  CHECK(pinned.value->sources[0].fingerprint == digits);
  CHECK(pinned.value->sources[0].parameters.count("fingerprint") == 0);
  CHECK(pinned.value->cpu_weight == 1);
  for (const std::string& wrong : {digits.substr(1), digits + "0", "G" + digits.substr(1), "A" + digits.substr(1)}) {
    expect_complaints(load_with_line(5, "uri = \"/data/train\"\nfingerprint = \"" + wrong + "\""),
                      {{6, "source.fingerprint", "32 hexadecimal digits"}});
  }
  const auto weighed = load_with_line(2, "cpu_weight = 3");
  REQUIRE(weighed);
  CHECK(weighed.value->cpu_weight == 3);
  for (const char* wrong : {"0", "0.009", "101", "-1", "nan", "\"2\""}) {
    expect_complaints(load_with_line(2, std::string("cpu_weight = ") + wrong), {{2, "cpu_weight", "0.01"}});
  }
}

TEST_CASE("a manifest's columns are named in a text or a list", "[config]") {
  const auto with = [](const std::string& lines) { return load_with_line(4, "type = \"manifest\"\n" + lines); };
  const auto files = [&](const std::string& value) {
    const auto loaded = with("files = " + value);
    INFO(loaded.sentences());
    REQUIRE(loaded);
    return std::get<std::string>(loaded.value->sources[0].parameters.at("files"));
  };
  CHECK(files("\"a\"") == "a");
  CHECK(files("\" a, b c \"") == "a,b c");
  CHECK(files("[\"a\", \"b c\"]") == "a,b c");
  CHECK(files("[]").empty());
  for (const std::string wrong : {"\"a,\"", "\"a,,b\"", "[\"a,b\"]", "[\"a\", \"a\"]", "[3]", "3", "[\"\"]"}) {
    INFO(wrong);
    expect_complaints(with("files = " + wrong), {{5, "source.files", "names with commas between them, or a list"}});
  }
  expect_complaints(with("files = \"a,b\"\nbase64 = [\"b\"]"),
                    {{6, "source.base64", "names a column that files names as well"}});
  expect_complaints(with("format = \"xml\""), {{5, "source.format", "\"csv\""}});
  CHECK(load_with_line(5, "uri = [\"a.csv\", \"b-{1..3}.csv\"]").complaints.size() == 1);  // of an image-folder
}

namespace {

// A pipeline of a table with these lines in its [source] and at its end.
Loaded<PipelineSpec> load_table(const std::string& lines, const std::string& type = "manifest",
                                const std::string& end = "") {
  return load_pipeline_toml(
      "name = \"p\"\n[source]\ntype = \"" + type + "\"\nuri = \"/d/a.csv\"\n" + lines +
          "\n[[output]]\nname = \"y\"\nfrom = \"a\"\nops = [{op = \"parse-int\"}]\n[batch]\nsize = 2\n" + end,
      "p.toml");
}

}  // namespace

TEST_CASE("a table may have a condition on its rows, which decides no byte of a sample", "[config]") {
  for (const char* type : {"manifest", "parquet"}) {
    const auto plain = load_table("", type), chosen = load_table("where = \"a > 1\"", type);
    INFO(plain.sentences() << chosen.sentences());
    REQUIRE(plain);
    REQUIRE(chosen);
    CHECK(canonical_json(*plain.value) == canonical_json(*chosen.value));
    CHECK(full_json(*plain.value).find("where") == std::string::npos);
    const auto again = load_pipeline_json(full_json(*chosen.value), "again");
    INFO(again.sentences());
    REQUIRE(again);
    CHECK(full_json(*again.value) == full_json(*chosen.value));
    CHECK(full_json(*again.value).find("a > 1") != std::string::npos);
  }
}

TEST_CASE("classes are a list, or a file, which decides by what it says and not by where it lies", "[config]") {
  const auto with = [](const std::string& lines, const std::string& type = "image-folder") {
    return load_pipeline_toml("name = \"p\"\n[source]\ntype = \"" + type + "\"\nuri = \"/d\"\n" + lines +
                                  "\n[[output]]\nname = \"y\"\nfrom = \"class\"\n" +
                                  (type == "image-folder" ? "" : "dtype = \"int64\"\n") + "[batch]\nsize = 2\n",
                              "p.toml", "/pipelines");
  };
  const auto classes = [&](const std::string& value) {
    const auto loaded = with("classes = " + value);
    INFO(loaded.sentences());
    REQUIRE(loaded);
    CHECK(canonical_json(*loaded.value) == canonical_json(*with("").value));
    const auto again = load_pipeline_json(full_json(*loaded.value), "again");
    INFO(again.sentences());
    REQUIRE(again);
    CHECK(full_json(*again.value) == full_json(*loaded.value));
    CHECK(again.value->sources[0].classes == loaded.value->sources[0].classes);
    return loaded.value->sources[0].classes;
  };
  CHECK(classes("\"classes.txt\"") == "/pipelines/classes.txt");
  CHECK(classes("\"file:///a%20b/c.json\"") == "/a b/c.json");
  CHECK(classes("[\"cat\", \"a dog\"]") == "\ncat\na dog");
  expect_complaints(with("classes = []"), {{5, "source.classes", "must name at least one class"}});
  expect_complaints(with("classes = [\"cat\", 3]"), {{5, "source.classes[1]", "must be a text"}});
  expect_complaints(with("classes = 3"), {{5, "source.classes", "must be a text"}});
  expect_complaints(with("classes = \"c.txt\"", "manifest"), {{5, "source.classes", "needs class"}});
  CHECK(with("classes = \"c.txt\"\nclass = \"label\"", "manifest"));
  CHECK_FALSE(with("classes = \"c.txt\"", "images"));
  CHECK_THAT(with("classes = \"c.txt\"\nnames = \"cat\"", "voc").sentences(),
             Catch::Contains("source.classes: may not stand beside names"));
}

TEST_CASE("a condition that can't be read, or that nothing could keep to, is complained about", "[config]") {
  expect_complaints(load_table("where = \"a >\""),
                    {{5, "source.where", "is no condition: it ends too early: there must be a value"}});
  expect_complaints(load_table("where = \"a > 1\"", "manifest", "[order]\nshuffle = \"client\"\n"),
                    {{2, "source.where", "the trainer says which samples come"}});
  CHECK_FALSE(load_table("where = \"a > 1\"", "tfrecord"));
}

}  // namespace spdld::config::source_test
