#include "utf8/utf8.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>

namespace spdld::utf8_test {

using namespace spdld::utf8;

TEST_CASE("what UTF-8 is: no byte too few or too many, no surrogate, nothing beyond U+10FFFF") {
  for (const char* text : {"", "abc", "caf\xc3\xa9", "\xc2\x80", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xf0\x90\x80\x80",
                           "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf", "\xef\xbf\xbf"})
    CHECK(is_utf8(text));
  for (const char* text :
       {"\x80", "\xc3", "\xc3(", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf", "\xe2\x82", "\xed\xa0\x80",
        "\xf0\x80\x80\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "caf\xe9"})
    CHECK_FALSE(is_utf8(text));
}

TEST_CASE("control characters are C0, DEL and C1, and no others") {
  for (const char* text : {"a\n", "\t", "\x1b", "\x7f", "\xc2\x80", "a\xc2\x9f", "\xff\n"}) CHECK(has_control(text));
  CHECK(has_control(std::string_view("a\0b", 3)));
  for (const char* text : {"", "abc ~", "\xc2\xa0", "caf\xc3\xa9", "\xc3\x80", "\xe2\x82\x80"})
    CHECK_FALSE(has_control(text));
}

TEST_CASE("the characters of UTF-8 are those of RFC 3629") {
  for (const std::string text :
       {"", "a", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbf",
        "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "12345678\xc2\x80"}) {
    INFO(text);
    CHECK(sound_bytes(text) == text.size());
    CHECK(sound_bytes("12345678" + text + "1234567890") == text.size() + 18);
  }
  for (const std::string bad : {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2\x41", "\xe0\x9f\xbf", "\xe1\x80",
                                "\xe1\x80\x41", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf1\x80\x80", "\xf1\x80\x80\x41",
                                "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    INFO(bad);
    CHECK(sound_bytes(bad) == 0);
    CHECK(sound_bytes("12345678ab" + bad) == 10);
    CHECK(sound_bytes("ab" + bad + "1234567890") == 2);
  }
}

// Every code point, written by the rule of RFC 3629, section 3.
TEST_CASE("every character of UTF-8 is one, and its surrogates are none") {
  for (uint32_t point = 0; point < 0x110000 + 1000; ++point) {
    std::string text;
    const auto add = [&](uint32_t byte) { text += static_cast<char>(byte); };
    if (point >= 0x10000) add(0xF0 | point >> 18), add(0x80 | (point >> 12 & 63));
    if (point >= 0x800 && point < 0x10000) add(0xE0 | point >> 12);
    if (point >= 0x800) add(0x80 | (point >> 6 & 63));
    if (point >= 0x80 && point < 0x800) add(0xC0 | point >> 6);
    add(point < 0x80 ? point : 0x80 | (point & 63));
    const bool is_character = point < 0x110000 && (point < 0xD800 || point > 0xDFFF);
    if (sound_bytes(text) != (is_character ? text.size() : 0)) FAIL(point);
  }
}

TEST_CASE("a text is cut between two characters, wherever the bound lies") {
  const std::string text = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";  // characters of 1, 2, 3 and 4 bytes
  for (const auto& [bound, cut] :
       {std::pair<size_t, size_t>{0, 0}, {1, 1}, {2, 1}, {3, 3}, {5, 3}, {6, 6}, {9, 6}, {10, 10}, {11, 10}})
    CHECK(whole_characters(text, bound) == cut);
}

}  // namespace spdld::utf8_test
