// parse-list as an operation: what its parameters allow, and what becomes of longer and shorter lists.
#include <catch2/catch.hpp>
#include <string>

#include "tests/support/one_chain.h"

namespace spdld::parse_list_test {
namespace {

using config::Form;
using config::TooLong;
using test::OneChain;
using Ints = std::vector<int32_t>;
using Floats = std::vector<float>;

std::vector<config::OperationSpec> parse_list(const std::string& dtype, int64_t width, int64_t length) {
  return {{"parse-list", {{"dtype", dtype}, {"width", width}, {"length", length}}, {}}};
}

TEST_CASE("a list is as long as its text says, up to the bound", "[media]") {
  OneChain chain{parse_list("int32", 0, 0), Form::kRagged, 3};
  CHECK(*chain.run<int32_t>("3 5 8") == Ints{3, 5, 8});
  CHECK(chain.run<int32_t>("")->empty());
  CHECK(chain.error<int32_t>("1 2 3 4").trouble == Trouble::kContent);
  CHECK_THAT(chain.error<int32_t>("1 2 3 4").message,
             Catch::Contains("output 'out'") && Catch::Contains("length of 4"));
  chain.too_long = TooLong::kLeaveOut;
  CHECK(chain.error<int32_t>("1 2 3 4").trouble == Trouble::kTooLong);
  CHECK(chain.error<int32_t>("1 2 3 cat").trouble == Trouble::kContent);
  chain.too_long = TooLong::kCut;
  CHECK(*chain.run<int32_t>("1 2 3 4") == Ints{1, 2, 3});
  CHECK(chain.error<int32_t>("1 2 3 cat").message == "output 'out': element [3]: 'cat' is no decimal number");
}

TEST_CASE("rows are cut between rows", "[media]") {
  const OneChain chain{parse_list("float32", 2, 0), Form::kPadded, 2, TooLong::kCut};
  CHECK(*chain.run<float>("1 2\n3 4\n5 6\n") == Floats{1, 2, 3, 4});
  CHECK(*chain.run<float>("1 2") == Floats{1, 2});
  CHECK(*chain.run<float>(R"({"b": [[1, 2], [3, 4], [5, 6]]})", "b") == Floats{1, 2, 3, 4});
  CHECK_THAT(chain.error<float>(R"({"b": [[1, 2], [3]]})", "b").message, Catch::Contains("element [1] has 1 elements"));
}

TEST_CASE("a list of one length is a tensor of one shape", "[media]") {
  const OneChain chain{parse_list("int32", 2, 2)};
  CHECK(*chain.run<int32_t>("[[1, 2], [3, 4]]") == Ints{1, 2, 3, 4});
  CHECK(chain.error<int32_t>("1 2").message == "output 'out': the list has a length of 1, not 2");
  CHECK(chain.error<int32_t>("1 2 3 4 5 6").message == "output 'out': the list has a length of 3, not 2");
}

TEST_CASE("each dtype of a list has its numbers", "[media]") {
  const auto run = [](const std::string& dtype, auto zero) {
    const OneChain chain{parse_list(dtype, 0, 0), Form::kRagged, 4};
    using T = decltype(zero);
    CHECK(*chain.run<T>("1 2 100") == std::vector<T>{1, 2, 100});
    CHECK(*chain.run<T>(R"({"a": [1, 2, 100]})", "a") == std::vector<T>{1, 2, 100});
  };
  run("uint8", uint8_t{});
  run("int8", int8_t{});
  run("uint16", uint16_t{});
  run("int16", int16_t{});
  run("uint32", uint32_t{});
  run("int32", int32_t{});
  run("uint64", uint64_t{});
  run("int64", int64_t{});
  run("float32", float{});
  run("float64", double{});
}

}  // namespace
}  // namespace spdld::parse_list_test
