#include "config/text/steering.h"

#include <catch2/catch.hpp>

#include "config/text/json.h"
#include "config/text/words.h"

namespace spdld::config::steering_test {

namespace {

std::string utf8(unsigned code) {
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  if (code < 0x800) return {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
  return {static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3F)),
          static_cast<char>(0x80 | (code & 0x3F))};
}

bool steers(unsigned code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x61C || code == 0x200E || code == 0x200F ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

}  // namespace

TEST_CASE("of all characters, those that steer a terminal or the direction of text are known", "[config]") {
  for (unsigned code = 0; code < 0x3000; code++) {
    const std::string text = utf8(code);
    INFO(code);
    REQUIRE(steering_bytes(text + "x") == (steers(code) ? text.size() : 0));
    REQUIRE(steering_bytes(text.substr(0, text.size() - 1)) == 0);  // cut within the character
  }
}

TEST_CASE("JSON shows characters that steer by their numbers, and means the same", "[config]") {
  for (unsigned code = 1; code < 0x3000; code++) {
    const std::string text = "a" + utf8(code) + "b\"";
    const std::string json = Json{{text, text}}.dump(2);
    INFO(json);
    for (size_t i = 0; i < json.size(); i++) {
      const bool is_line_end = json[i] == '\n';
      REQUIRE((is_line_end || steering_bytes(std::string_view(json).substr(i)) == 0));
    }
    const auto read = Json::parse(json);
    REQUIRE(read);
    REQUIRE(read->find(text)->text() == text);
  }
  CHECK(Json("caf\xc3\xa9 \xe2\x82\xac").dump() == "\"caf\xc3\xa9 \xe2\x82\xac\"");
  CHECK(Json("\xc2\x9b"
             "31m\xe2\x80\xae\x7f")
            .dump() == "\"\\u009b31m\\u202e\\u007f\"");
}

TEST_CASE("a printable text has none of these characters", "[config]") {
  for (unsigned code = 0; code < 0x3000; code++) {
    const std::string text = "a" + utf8(code) + "b";
    INFO(code);
    REQUIRE(printable(text) == (steers(code) ? "a?b" : text));
  }
}

}  // namespace spdld::config::steering_test
