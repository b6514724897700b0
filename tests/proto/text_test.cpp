#include "proto/text.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "proto/hex.h"

namespace spdld::text_test {

using namespace spdld::proto;

TEST_CASE("hexadecimal digits are read in either case, and written in lower case") {
  for (int byte = 0; byte < 256; byte++) {
    std::string text = "x";
    append_hex(text, static_cast<uint8_t>(byte));
    REQUIRE(text.size() == 3);
    CHECK(hex_digit(text[1]) * 16 + hex_digit(text[2]) == byte);
  }
  std::string text;
  append_hex(text, 0xAF);
  CHECK(text == "af");
  CHECK(hex_digit('A') == 10);
  CHECK(hex_digit('F') == 15);
  for (const char c : {'/', ':', '@', 'G', '`', 'g', ' ', '-'}) CHECK(hex_digit(c) == -1);
}

TEST_CASE("what people are shown holds every byte, and nothing that steers a terminal") {
  CHECK(shown("caf\xc3\xa9 1") == "caf\xc3\xa9 1");
  CHECK(shown("caf\xe9 1") == "caf\\xe9 1");
  CHECK(shown(std::string_view("a\0\x1b[1m\xc2\x9b\x7f", 9)) == "a\\x00\\x1b[1m\\xc2\\x9b\\x7f");
  CHECK(shown("a\nb") == "a\\x0ab");
  CHECK(shown("a\nb\r", true) == "a\nb\\x0d");
  CHECK(shown("\xe2\x82") == "\\xe2\\x82");
  CHECK(shown_name("caf\xe9\n\xc2\x9b.jpg") == "caf\xe9\\x0a\\xc2\\x9b.jpg");
}

TEST_CASE("PROTOCOL.md has the rule of every kind of text") {
  std::ifstream file(std::string(SPDLD_SOURCE_ROOT) + "/proto/PROTOCOL.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string document = text.str();
  for (size_t i = 0; i < kTextKinds; ++i) {
    const TextRule& rule = rule_of(static_cast<TextKind>(i));
    CHECK(rule.kind == static_cast<TextKind>(i));
    const std::string row = "| " + std::string(rule.what) + " | " + std::to_string(rule.bytes_max) + " | " +
                            std::string(rule.alphabet) + " |";
    INFO(row);
    CHECK(document.find(row) != std::string::npos);
  }
}

}  // namespace spdld::text_test
