#include <catch2/catch.hpp>
#include <string>

#include "daemon/media/text/json/json_reader.h"

namespace spdld::json_test {

using namespace spdld;
using namespace spdld::text;
using Catch::Contains;

namespace {

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

Result<std::string> value_of(JsonReader& reader, const std::string& text, const std::string& path) {
  const Status read = reader.read(bytes_of(text));
  if (!read) return read.error();
  const auto value = reader.at(config::parse_field_path("json:" + path).steps);
  if (!value) return value.error();
  return std::string(*value);
}

}  // namespace

TEST_CASE("values keep their text") {
  JsonReader reader;
  const auto one = [&](const std::string& text) { return *value_of(reader, "{\"a\": " + text + "}", "a"); };
  CHECK(one("17") == "17");
  CHECK(one("-17") == "-17");
  CHECK(one("18446744073709551615") == "18446744073709551615");
  CHECK(one("0.1") == "0.1");
  CHECK(one("3.0") == "3");
  CHECK(one("true") == "1");
  CHECK(one("false") == "0");
  CHECK(one("\"\"").empty());
  CHECK(one("\"a\\u0000b\"") == std::string("a\0b", 3));
  CHECK(*value_of(reader, " [5, 6]\n", "[1]") == "6");
  CHECK(*value_of(reader, "\xef\xbb\xbf[5, 6]", "[1]") == "6");  // behind a byte order mark
  CHECK_FALSE(value_of(reader, "\xef\xbb\xbf", "[1]"));
}

TEST_CASE("what Python writes for numbers that JSON does not have is a value, and no number") {
  JsonReader reader;
  const std::string text =
      R"({"label": 7, "NaN": [ NaN , 2], "b\\\"NaN": -Infinity, "c": {"d": Infinity}, "e": "a NaN"})";
  CHECK(*value_of(reader, text, "label") == "7");
  CHECK(*value_of(reader, text, "NaN[0]") == "NaN");
  CHECK(*value_of(reader, text, "NaN[1]") == "2");
  CHECK(*value_of(reader, text, "c.d") == "Infinity");
  CHECK(*value_of(reader, text, "e") == "a NaN");
  CHECK(*value_of(reader, "[1, NaN]", "[0]") == "1");
}

TEST_CASE("of a key that is written twice the last value counts, as in Python") {
  JsonReader reader;
  CHECK(*value_of(reader, "{\"a\": 1, \"b\": 2, \"a\": 3}", "a") == "3");
  CHECK(*value_of(reader, "{\"a\": {\"x\": 1}, \"a\": {\"x\": 2, \"x\": 4}}", "a.x") == "4");
}

TEST_CASE("what is no JSON is refused, whole, and the next text is read as ever") {
  JsonReader reader;
  std::string deep(3000, '[');
  deep += std::string(3000, ']');
  for (const std::string& bad :
       {std::string(), std::string("{"), std::string("{\"a\": 1"), std::string("{\"a\": 1}}"),
        std::string("{\"a\": 1, }"), std::string("{a: 1}"), std::string("{NaN: 1}"), std::string("{\"a\": 1NaN}"),
        std::string("{\"a\": -NaN}"), std::string("{\"a\": nan}"), std::string("{\"a\": NaN"), std::string("[\"NaN]"),
        std::string("{\"a\": 1, \"b\": \"\xff\"}"), std::string("{\"a\": 1e999}"), std::string("{\"a\": 1}\0", 9),
        std::string("nul"), deep}) {
    INFO(bad.substr(0, 40));
    const auto value = value_of(reader, bad, "a");
    REQUIRE_FALSE(value);
    CHECK(value.error().trouble == Trouble::kContent);
    CHECK_THAT(value.error().message, Contains("no sound JSON"));
    CHECK(*value_of(reader, "{\"a\": 1}", "a") == "1");
  }
  CHECK_THAT(value_of(reader, std::string(kJsonBytesMax + 1, ' '), "a").error().message,
             Contains("more than the limit"));
  CHECK_THAT(value_of(reader, "7", "a").error().message, Contains("the JSON is a number, not a table"));
}

TEST_CASE("a text that ends at a page's end is read") {
  JsonReader reader;
  for (size_t size = 4000; size < 4200; ++size) {
    std::string text = "{\"x\": \"" + std::string(size, 'y') + "\", \"a\": 5}";
    text.shrink_to_fit();
    CHECK(*value_of(reader, text, "a") == "5");
  }
  const std::string large = "{\"x\": \"" + std::string(3 << 20, 'y') + "\", \"a\": 5}";  // its parser is not kept
  CHECK(*value_of(reader, large, "a") == "5");
  CHECK(*value_of(reader, "{\"a\": 6}", "a") == "6");
}

}  // namespace spdld::json_test
