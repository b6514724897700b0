// bytes as an operation, of any content and of texts, which are not cut within a character.
#include <catch2/catch.hpp>
#include <string>

#include "daemon/media/bytes/utf8.h"
#include "tests/support/one_chain.h"

namespace spdld::bytes_test {
namespace {

using config::Form;
using config::TooLong;
using test::OneChain;

std::vector<config::OperationSpec> bytes(bool text) { return {{"bytes", {{"text", text}}, {}}}; }

Result<std::string> run(const OneChain& chain, const std::string& content) {
  const auto result = chain.run<uint8_t>(content);
  if (!result) return result.error();
  return std::string(result->begin(), result->end());
}

size_t sound_bytes(const std::string& text) {
  return bytes::utf8_bytes({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

TEST_CASE("bytes stay as they are, up to the bound", "[media]") {
  OneChain chain{bytes(false), Form::kRagged, 4, TooLong::kCut};
  CHECK(run(chain, "")->empty());
  CHECK(*run(chain, "abc") == "abc");
  CHECK(*run(chain, std::string("\xff\0\x80", 3)) == std::string("\xff\0\x80", 3));
  CHECK(*run(chain, "aaa\xc3\xa9") == "aaa\xc3");  // any bytes are cut anywhere
  chain.too_long = TooLong::kBad;
  CHECK(run(chain, "abcde").error().trouble == Trouble::kContent);
}

TEST_CASE("a text is cut between two characters", "[media]") {
  OneChain chain{bytes(true), Form::kRagged, 4, TooLong::kCut};
  CHECK(*run(chain, "abcd") == "abcd");
  CHECK(*run(chain, "abcde") == "abcd");
  CHECK(*run(chain, "aaa\xc3\xa9") == "aaa");              // e with an acute accent
  CHECK(*run(chain, "aa\xc3\xa9x") == "aa\xc3\xa9");       // it ends with the bound
  CHECK(*run(chain, "a\xe2\x82\xac") == "a\xe2\x82\xac");  // the euro sign
  CHECK(*run(chain, "aa\xe2\x82\xac") == "aa");
  CHECK(*run(chain, "\xf0\x9f\x98\x80\xf0\x9f\x98\x80") == "\xf0\x9f\x98\x80");
  chain.length_max = 3;
  CHECK(run(chain, "\xf0\x9f\x98\x80")->empty());
  chain.too_long = TooLong::kLeaveOut;
  CHECK(run(chain, "\xf0\x9f\x98\x80").error().trouble == Trouble::kTooLong);
}

TEST_CASE("what is no UTF-8 is no text", "[media]") {
  const OneChain chain{bytes(true), Form::kRagged, 4, TooLong::kCut};
  CHECK(run(chain, "ab\xff").error().trouble == Trouble::kContent);
  CHECK(run(chain, "ab\xff").error().message == "output 'out': it is no UTF-8 from byte 2 on");
  CHECK_FALSE(run(chain, "abcdefgh\xc3"));  // behind the bound
}

TEST_CASE("the characters of UTF-8 are those of RFC 3629", "[media]") {
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
TEST_CASE("every character of UTF-8 is one, and its surrogates are none", "[media]") {
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

}  // namespace
}  // namespace spdld::bytes_test
