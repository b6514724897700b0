// Lists of numbers in texts: every way to write one, and what is wrong with any other text, and where.
#include <array>
#include <catch2/catch.hpp>
#include <charconv>
#include <limits>
#include <random>
#include <string>

#include "daemon/media/text/list_text.h"

namespace spdld::list_text_test {
namespace {

using config::DType;

template <typename T>
DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return DType::kFloat32;
  if constexpr (std::is_same_v<T, double>) return DType::kFloat64;
  if constexpr (std::is_same_v<T, int64_t>) return DType::kInt64;
  if constexpr (std::is_same_v<T, uint64_t>) return DType::kUint64;
  if constexpr (std::is_same_v<T, int8_t>) return DType::kInt8;
  return DType::kInt32;
}

template <typename T>
Result<std::vector<T>> list_of(std::string_view text, uint64_t width = 0) {
  std::vector<T> numbers(1000);
  text::NumberList list{dtype_of<T>(), reinterpret_cast<uint8_t*>(numbers.data()), numbers.size(), width};
  const std::string copy(text);  // so that reading behind its end shows
  if (const Status status = text::read_list(copy, list); !status) return status.error();
  numbers.resize(list.count);
  return numbers;
}

template <typename T = int32_t>
std::string error_of(std::string_view text, uint64_t width = 0) {
  const auto list = list_of<T>(text, width);
  if (list) return "";
  CHECK(list.error().trouble == Trouble::kContent);
  return list.error().message;
}

using Ints = std::vector<int32_t>;

TEST_CASE("numbers stand with white space or a comma between them, in brackets or not") {
  for (const char* text :
       {"3 5 8", "3,5,8", " 3 , 5 ,8\n", "[3, 5, 8]", "[3 5 8]\r\n", "[ 3\t5\n8 ]", "3\n5\n8\n", "+3 +5 8",
        "\xef\xbb\xbf"
        "3 5 8",
        "\xef\xbb\xbf[3, 5, 8]"}) {
    INFO(text);
    CHECK(*list_of<int32_t>(text) == Ints{3, 5, 8});
  }
  CHECK(*list_of<int32_t>(std::string_view("3 5\0\0", 5)) == Ints{3, 5});
  for (const char* text : {"", " \n", "[]", "[ ]"}) CHECK(list_of<int32_t>(text)->empty());
}

TEST_CASE("rows stand in brackets, or each ends before its line does") {
  for (const char* text : {"1 2\n3 4\n", "1 2 3 4", "1,2,3,4", "1,2\n\n3,4", "[1,2],[3,4]", "[1 2] [3 4]", "[1 2][3 4]",
                           "[[1, 2], [3, 4]]", "[ [1\n2]\n[3\n4] ]\n", "1 2,\n3 4"}) {
    INFO(text);
    CHECK(*list_of<int32_t>(text, 2) == Ints{1, 2, 3, 4});
  }
  CHECK(*list_of<int32_t>("[1, 2, 3]", 3) == Ints{1, 2, 3});
  CHECK(*list_of<int32_t>("[[5], [6]]", 1) == Ints{5, 6});
  CHECK(*list_of<int32_t>("5\n6", 1) == Ints{5, 6});
  for (const char* text : {"", "\n", "[]", " [ ] "}) CHECK(list_of<int32_t>(text, 4)->empty());
}

TEST_CASE("an error says which element is wrong, and why") {
  CHECK(error_of("1 2 cat") == "element [2]: 'cat' is no decimal number");
  CHECK(error_of("1 2.5") == "element [1]: '2.5' does not fit int32");
  CHECK(error_of("1 2.0") == "element [1]: '2.0' does not fit int32");
  CHECK(error_of("2147483648") == "element [0]: '2147483648' does not fit int32");
  CHECK(error_of<int8_t>("127 -128 -129") == "element [2]: '-129' does not fit int8");
  CHECK(error_of<uint64_t>("18446744073709551615 -1") == "element [1]: '-1' does not fit uint64");
  CHECK(error_of<uint64_t>("18446744073709551616") == "element [0]: '18446744073709551616' does not fit uint64");
  CHECK(error_of<float>("1e38 1e39") == "element [1]: '1e39' does not fit float32");
  CHECK(error_of<double>("1e999") == "element [0]: '1e999' does not fit float64");
  for (const char* word : {"nan", "inf", "-inf", "NaN", "0x10", "1_000", "1e", "--1", "+-1", "1;2", "'1'"}) {
    INFO(word);
    CHECK(error_of<float>(std::string("5 ") + word) == std::string("element [1]: '") + word + "' is no decimal number");
  }
  CHECK(error_of("\x80 1") == "element [0]: '?' is no decimal number");
  CHECK(error_of("1,,2") == "element [1] is missing: a comma stands in its place");
  CHECK(error_of(",1") == "element [0] is missing: a comma stands in its place");
  CHECK(error_of("1, 2,") == "element [2] is missing: the text ends behind a comma");
  CHECK(error_of("[1, 2, ]") == "element [2] is missing: a ']' stands behind a comma");
  CHECK(error_of("[1, 2") == "the list has no end: a ']' is missing");
  CHECK(error_of("1, 2]") == "element [2]: a ']' has no '[' before it");
  CHECK(error_of("[1, 2] 3") == "element [2]: '3' stands behind the list's end");
  CHECK(error_of("[1, [2]]") == "element [1] is a list, not a number");
  CHECK(error_of(std::string("1\0002", 3)) == "element [0]: '1?2' is no decimal number");
  CHECK(error_of("1 " + std::string(1000, 'x')) == "element [1]: '" + std::string(32, 'x') + "' is no decimal number");
}

TEST_CASE("an error in rows says the row, and the number in it") {
  CHECK(error_of("1 2\n3 cat", 2) == "element [1][1]: 'cat' is no decimal number");
  CHECK(error_of("1 2\n3\n4 5", 2) == "element [1] has 1 numbers, not 2");
  CHECK(error_of("1 2\n3", 2) == "element [1] has 1 numbers, not 2");
  CHECK(error_of("1 2 3", 2) == "element [1] has 1 numbers, not 2");
  CHECK(error_of("[1, 2], [3, 4, 5]", 2) == "element [1] has more than 2 numbers, not 2");
  CHECK(error_of("[[1, 2], [3]]", 2) == "element [1] has 1 numbers, not 2");
  CHECK(error_of("[[1, 2], []]", 2) == "element [1] has 0 numbers, not 2");
  CHECK(error_of("[[]]", 2) == "element [0] has 0 numbers, not 2");
  CHECK(error_of("[1, 2, 3, 4]", 2) == "element [0] has more than 2 numbers, not 2");
  CHECK(error_of("[[1, 2], 3]", 2) == "element [1]: '3' is not a row of 2 numbers");
  CHECK(error_of("[1, 2], 3", 2) == "element [1]: '3' is not a row of 2 numbers");
  CHECK(error_of("[[[1, 2]]]", 2) == "element [0][0] is a list, not a number");
  CHECK(error_of("1 2 [3 4]", 2) == "element [1][0] is a list, not a number");
  CHECK(error_of("[[1, 2], [3, 4]", 2) == "the list has no end: a ']' is missing");
  CHECK(error_of("[1, 2], [3, 4]]", 2) == "element [2][0]: a ']' has no '[' before it");
  CHECK(error_of("[] [1, 2]", 2) == "element [0]: '[1' stands behind the list's end");
}

TEST_CASE("numbers behind the room are read, checked and counted, and not written") {
  std::array<int32_t, 4> memory = {7, 7, 7, 7};
  text::NumberList list{DType::kInt32, reinterpret_cast<uint8_t*>(memory.data()), 2};
  REQUIRE(text::read_list("1 2 3 4 5", list));
  CHECK(list.count == 5);
  CHECK(memory == std::array<int32_t, 4>{1, 2, 7, 7});
  text::NumberList bad{DType::kInt32, reinterpret_cast<uint8_t*>(memory.data()), 2};
  CHECK_FALSE(text::read_list("1 2 3 4 cat", bad));
}

TEST_CASE("random numbers keep every bit") {
  std::mt19937_64 random(3);
  const auto check = [&](auto zero, auto make) {
    using T = decltype(zero);
    std::vector<T> numbers(500);
    std::string text;
    for (T& number : numbers) {
      number = make();
      std::array<char, 64> digits;
      text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
      text += std::array{" ", ",", ", ", "\n", "\t , \n"}[random() % 5];
    }
    text.resize(text.find_last_of("0123456789") + 1);
    CHECK(*list_of<T>(text) == numbers);
    CHECK(*list_of<T>("[" + text + "]") == numbers);
  };
  std::uniform_real_distribution<double> share(-1, 1);
  for (int turn = 0; turn < 20; ++turn) {
    check(int64_t{}, [&] { return static_cast<int64_t>(random() >> (random() % 64)) * (random() % 2 ? 1 : -1); });
    check(uint64_t{}, [&] { return random() >> (random() % 64); });
    check(int8_t{}, [&] { return static_cast<int8_t>(random()); });
    check(double{}, [&] { return std::ldexp(share(random), static_cast<int>(random() % 1800) - 900); });
    check(float{},
          [&] { return std::ldexp(static_cast<float>(share(random)), static_cast<int>(random() % 200) - 100); });
  }
}

}  // namespace
}  // namespace spdld::list_text_test
