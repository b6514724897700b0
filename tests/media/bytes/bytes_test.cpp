// bytes as an operation, of any content and of texts, which are not cut within a character.
#include <catch2/catch.hpp>
#include <string>

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

}  // namespace
}  // namespace spdld::bytes_test
