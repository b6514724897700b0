// Lists of classes as vectors: each element's value, and lists that name no class.
#include <catch2/catch.hpp>
#include <string>

#include "tests/support/one_chain.h"

namespace spdld::multi_hot_test {
namespace {

using test::OneChain;
using Floats = std::vector<float>;

std::vector<config::OperationSpec> multi_hot(int64_t classes, const std::string& dtype = "float32") {
  return {{"multi-hot", {{"classes", classes}, {"dtype", dtype}}, {}}};
}

TEST_CASE("each class of the list is 1 and the others are 0", "[media]") {
  const OneChain chain{multi_hot(4)};
  CHECK(*chain.run<float>("[3, 0]") == Floats{1, 0, 0, 1});
  CHECK(*chain.run<float>("1 1 1") == Floats{0, 1, 0, 0});
  CHECK(*chain.run<float>("[]") == Floats{0, 0, 0, 0});
  CHECK(*chain.run<float>(R"({"a": [2, 1]})", "a") == Floats{0, 1, 1, 0});
  CHECK(*OneChain{multi_hot(2, "uint8")}.run<uint8_t>("1") == std::vector<uint8_t>{0, 1});
  CHECK(*OneChain{multi_hot(2, "float64")}.run<double>("0") == std::vector<double>{1, 0});
}

TEST_CASE("a list that names no class is bad content", "[media]") {
  const OneChain chain{multi_hot(4)};
  for (const auto& [list, words] :
       std::vector<std::pair<std::string, std::string>>{{"[1, 4]", "element [1]: 4 is no class from 0 to 3"},
                                                        {"-1", "element [0]: -1 is no class from 0 to 3"},
                                                        {"9223372036854775807", "is no class from 0 to 3"},
                                                        {"1.5", "element [0]: '1.5' does not fit int64"},
                                                        {"cat", "element [0]: 'cat' is no"},
                                                        {"[[1]]", "element [0]"}}) {
    INFO(list);
    CHECK(chain.error<float>(list).trouble == Trouble::kContent);
    CHECK_THAT(chain.error<float>(list).message, Catch::StartsWith("output 'out': ") && Catch::Contains(words));
  }
  std::string longest = "0";
  for (int i = 1; i < 65'536; ++i) longest += " 3";
  CHECK(*chain.run<float>(longest) == Floats{1, 0, 0, 1});
  CHECK_THAT(chain.error<float>(longest + " 3").message, Catch::Contains("the list has 65537 elements; at most 65536"));
}

}  // namespace
}  // namespace spdld::multi_hot_test
