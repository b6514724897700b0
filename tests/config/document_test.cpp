#include "config/checks/document.h"

#include "config/checks/check.h"
#include "tests/config/expect.h"

namespace spdld::config::document_test {
namespace {

void expect_refused(const Document& document, int line, const std::string& key, const std::string& fragment) {
  CHECK_FALSE(document.root.has_value());
  REQUIRE(document.complaints.size() == 1);
  CHECK(document.complaints[0].where.file == "f");
  CHECK(document.complaints[0].where.line == line);
  CHECK(document.complaints[0].key == key);
  CHECK_THAT(document.complaints[0].text, Catch::Contains(fragment));
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("TOML keeps lines, and integers apart from numbers", "[config]") {
  const auto document =
      read_toml("a = 1\nb = 1.0\n[t]\nc = 0o17\nd = [true,\n\"x\"]\n[[l]]\n[[l]]\ne = 07:32:00\n", "f");
  REQUIRE(document.root);
  const auto& root = *document.root;
  CHECK(std::get<int64_t>(root.find("a")->value) == 1);
  CHECK(std::get<double>(root.find("b")->value) == 1.0);
  CHECK(root.find("b")->line == 2);
  CHECK(root.find("t")->line == 3);
  CHECK(root.find("t")->find("c")->octal);
  CHECK_FALSE(root.find("a")->octal);
  const auto& list = *root.find("t")->find("d")->list();
  CHECK(list[0].line == 5);
  CHECK(*list[1].text() == "x");
  CHECK(list[1].line == 6);
  CHECK((*root.find("l")->list())[1].line == 8);
  CHECK(kind_of(*(*root.find("l")->list())[1].find("e")) == "a date or time");
  CHECK(root.find("none") == nullptr);
  CHECK(root.find("a")->find("b") == nullptr);
}

TEST_CASE("JSON gives the same tree, without lines", "[config]") {
  const auto document = read_json(R"({"a": 1, "b": 1.0, "c": null, "d": [true, "\u00e9"], "e": {"f": -3}})", "f");
  REQUIRE(document.root);
  const auto& root = *document.root;
  CHECK(root.line == 0);
  CHECK(std::get<int64_t>(root.find("a")->value) == 1);
  CHECK(std::get<double>(root.find("b")->value) == 1.0);
  CHECK(kind_of(*root.find("c")) == "null");
  CHECK(*(*root.find("d")->list())[1].text() == "\xc3\xa9");
  CHECK(std::get<int64_t>(root.find("e")->find("f")->value) == -3);
}

TEST_CASE("a byte order mark stands before a file as if it were not there", "[config]") {
  const Document toml = read_toml(
      "\xef\xbb\xbf"
      "name = \"train\"\n",
      "x.toml");
  CHECK(toml.complaints.empty());
  REQUIRE(toml.root);
  const Document json = read_json("\xef\xbb\xbf{\"name\": 1}", "x.json");
  CHECK(json.complaints.empty());
  REQUIRE(json.root);
}

TEST_CASE("a syntax error in TOML is found at its line", "[config]") {
  expect_refused(read_toml("a = 1\nb = \n", "f"), 2, "", "is not TOML: ");
  expect_refused(read_toml("a = 1\nb = 2\na = 3\n", "f"), 3, "", "is not TOML: ");
  expect_refused(read_toml("a = \"\xff\"", "f"), 1, "", "is not TOML: ");
  expect_complaints(load_pipeline_toml("name = \"a\"\nseed = \n", "p.toml"), {{2, "", "is not TOML: "}});
  expect_complaints(load_daemon_toml("[socket\n", "spdld.toml"), {{1, "", "is not TOML: "}});
}

TEST_CASE("a syntax error in JSON is found at its place", "[config]") {
  expect_refused(read_json("", "f"), 0, "", "is not JSON: parse error at line 1");
  expect_refused(read_json("{\"a\": 1,\n}", "f"), 0, "", "at line 2");
  expect_refused(read_json("{} {}", "f"), 0, "", "is not JSON: ");
  expect_refused(read_json("{\"a\": NaN}", "f"), 0, "", "is not JSON: ");
  expect_refused(read_json("{\"a\": 1e999}", "f"), 0, "", "number overflow");
  expect_refused(read_json("{\"a\": \"\xff\"}", "f"), 0, "", "is not JSON: ");
  expect_refused(read_json("[1]", "f"), 0, "", "must be a JSON object");
  expect_refused(read_json("3", "f"), 0, "", "must be a JSON object");
  expect_refused(read_json("{\"a\": {\"b\": 1, \"b\": 2}}", "f"), 0, "a.b", "is written twice");
  expect_refused(read_json("{\"a\": [0, {\"b\": 1, \"b\": 2}]}", "f"), 0, "a[1].b", "is written twice");
  expect_complaints(load_pipeline_json("{", "spec"), {{0, "", "is not JSON: "}});
}

TEST_CASE("integers beyond 64 bits are no seed", "[config]") {
  const auto seed = [](const std::string& value) {
    return load_pipeline_json(R"({"name": "a", "seed": )" + value +
                                  R"(, "source": {"type": "image-folder", "uri": "/d"}, "batch": {"size": 1},
                                  "output": [{"name": "l", "from": "class"}]})",
                              "spec");
  };
  CHECK(seed("9223372036854775807"));
  expect_complaints(seed("9223372036854775808"), {{0, "seed", "not an integer beyond 64 bits"}});
  expect_complaints(seed("1e3"), {{0, "seed", "an integer from 0"}});
  expect_complaints(seed("null"), {{0, "seed", "not null"}});
}

TEST_CASE("size, depth and length are bounded", "[config]") {
  const std::string large(kTextBytesMax + 1, ' ');
  expect_refused(read_toml(large, "f"), 0, "", "at most 1048576 are allowed");
  expect_refused(read_json(large, "f"), 0, "", "at most 1048576 are allowed");
  CHECK(read_toml(std::string_view(large).substr(1), "f").root);

  CHECK(read_json("{\"a\": " + repeated("[", 31) + repeated("]", 31) + "}", "f").root);
  expect_refused(read_json("{\"a\": " + repeated("[", 32) + repeated("]", 32) + "}", "f"), 0, "a" + repeated("[0]", 31),
                 "at most 32 deep");
  CHECK_FALSE(read_json(repeated("[", 500000), "f").root);
  CHECK_FALSE(read_json(repeated("{\"a\":", 100000), "f").root);
  CHECK(read_toml("a = " + repeated("[", 31) + repeated("]", 31), "f").root);
  CHECK_FALSE(read_toml("a = " + repeated("[", 33) + repeated("]", 33), "f").root);
  CHECK_FALSE(read_toml("a = " + repeated("[", 500000), "f").root);

  std::string keys = "\"k\": 0", lines;
  for (int i = 0; i < 256; ++i) keys += ", \"k" + std::to_string(i) + "\": 0";
  for (int i = 0; i < 257; ++i) lines += "k" + std::to_string(i) + " = 0\n";
  expect_refused(read_json("{\"t\": {" + keys + "}}", "f"), 0, "t", "more than 256 keys");
  expect_refused(read_toml("\n[t]\n" + lines, "f"), 2, "t", "more than 256 keys");
  expect_refused(read_json("{\"t\": [0" + repeated(",0", 1024) + "]}", "f"), 0, "t", "more than 1024 elements");
  expect_refused(read_toml("t = [0" + repeated(",0", 1024) + "]", "f"), 1, "t", "more than 1024 elements");
  CHECK(read_json("{\"t\": [0" + repeated(",0", 1023) + "]}", "f").root);
}

TEST_CASE("dotted keys can't build a tree too deep to take down", "[config]") {
  expect_refused(read_toml("x = 1\n" + repeated("a.", 200000) + "a = 1", "f"), 2, "", "at most 32 deep");
  expect_refused(read_toml("[" + repeated("a . ", 200000) + "a]", "f"), 1, "", "at most 32 deep");
  expect_refused(read_toml(repeated("'a'.\"b.\\\"#\".", 50000) + "a = 1", "f"), 1, "", "at most 32 deep");
  expect_refused(read_toml("t = { s = \"\"\"x\"\"\"\"\", " + repeated("a.", 200000) + "a = 1 }", "f"), 1, "",
                 "32 deep");
  expect_refused(read_toml("t = [\n" + repeated("{ a.a.a = ", 100), "f"), 2, "", "at most 32 deep");
  // Neither texts, comments nor numbers are keys.
  CHECK(read_toml("# " + repeated(".", 99) + "\na = \"" + repeated("b.", 99) + "\"\nc = [" + repeated("1.5, ", 99) +
                      "]\nd = '''\n" + repeated(".\n", 99) + "'''\ne = \"\"\"\n" + repeated(".\"\n", 99) +
                      "\\\"\"\"\"\nf.g = 1\n",
                  "f")
            .root);
}

TEST_CASE("no key and no text holds a NUL or another control character", "[config]") {
  for (const char* escape : {"\\u0000", "\\u001b", "\\u007f", "\\u0085"}) {
    const std::string text = std::string("\"a") + escape + "\"";
    INFO(text);
    expect_refused(read_toml("x = 1\ny = " + text, "f"), 2, "y", "must be a text without control characters");
    expect_refused(read_toml("x = 1\n[t]\ny = [\"\", " + text + "]", "f"), 3, "t.y[1]", "without control characters");
    expect_refused(read_toml("x = 1\n" + text + " = 2", "f"), 2, "a?", "is a key with control characters");
    expect_refused(read_json("{\"x\": {\"y\": " + text + "}}", "f"), 0, "x.y", "without control characters");
    expect_refused(read_json("{\"x\": [0, " + text + "]}", "f"), 0, "x[1]", "without control characters");
    expect_refused(read_json("{" + text + ": 1}", "f"), 0, "a?", "is a key with control characters");
  }
  expect_refused(read_toml(std::string("a = \"b\0\"", 8), "f"), 1, "", "is not TOML: ");
  CHECK(read_toml("a = \"\"\"b\n\tc\"\"\"", "f").root);  // its checker refuses it
}

TEST_CASE("texts from outside are printed without harm", "[config]") {
  CHECK(printable("plain") == "plain");
  CHECK(printable("a\x1b[31m\n\x7f") == "a?[31m??");
  CHECK(printable("caf\xc3\xa9") == "caf\xc3\xa9");
  CHECK(printable("\xc2\x9b"
                  "31m") == "?31m");
  CHECK(printable("caf\xe9") == "caf?");
  CHECK(printable("abcdef", 3) == "abc...");
  CHECK(printable("ab\xc3\xa9", 3) == "ab...");
  const auto loaded = load_pipeline_json("{\"\\u001b[31m" + std::string(500, 'x') + "\": 1}", "spec");
  for (const auto& complaint : loaded.complaints) {
    CHECK(complaint.sentence().find('\x1b') == std::string::npos);
    CHECK(complaint.key.size() < 80);
  }
}

TEST_CASE("the nearest name is offered, and none that is far", "[config]") {
  const std::vector<std::string_view> known = {"prefetch_depth", "held_max", "size"};
  CHECK(did_you_mean("prefetch-depth", known) == " (did you mean \"prefetch_depth\"?)");
  CHECK(did_you_mean("Sise", known) == " (did you mean \"size\"?)");
  CHECK(did_you_mean("colour", known).empty());
  CHECK(did_you_mean(std::string(1 << 20, 'a'), known).empty());
}

}  // namespace spdld::config::document_test
