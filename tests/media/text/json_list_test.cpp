// Lists of numbers inside of JSON.
#include <catch2/catch.hpp>
#include <string>

#include "daemon/media/text/json/json_reader.h"

namespace spdld::json_list_test {
namespace {

using config::DType;

struct Read {
  std::vector<double> numbers;  // as many as there is room for
  uint64_t count = 0;
  std::string error;
};

Read read(const std::string& json, const std::string& path, uint64_t width = 0, uint64_t room = 100) {
  text::JsonReader reader;
  REQUIRE(reader.read({reinterpret_cast<const uint8_t*>(json.data()), json.size()}));
  Read all{std::vector<double>(room), 0, {}};
  text::NumberList list{DType::kFloat64, reinterpret_cast<uint8_t*>(all.numbers.data()), room, width};
  const Status status = reader.read_list(config::parse_field_path("json:" + path).steps, list);
  if (!status) CHECK(status.error().trouble == Trouble::kContent);
  if (!status) return {{}, 0, status.error().message};
  all.count = list.count;
  all.numbers.resize(std::min(room, all.count));
  return all;
}

template <typename T>
std::string int_error(DType dtype, const std::string& json, std::vector<T> wanted) {
  text::JsonReader reader;
  REQUIRE(reader.read({reinterpret_cast<const uint8_t*>(json.data()), json.size()}));
  std::vector<T> numbers(wanted.size());
  text::NumberList list{dtype, reinterpret_cast<uint8_t*>(numbers.data()), numbers.size(), 0};
  const Status status = reader.read_list(config::parse_field_path("json:a").steps, list);
  CHECK(numbers == wanted);
  return status ? "" : status.error().message;
}

using Numbers = std::vector<double>;

TEST_CASE("a list in JSON keeps its numbers", "[media]") {
  CHECK(read(R"({"a": [1, 2.5, -3e2, 18446744073709551615]})", "a").numbers ==
        Numbers{1, 2.5, -300, 18446744073709551615.0});
  CHECK(read(R"({"a": []})", "a").numbers.empty());
  CHECK(read(R"({"m": [{"a": [7]}]})", "m[0].a").numbers == Numbers{7});
  CHECK(read(R"([[1], [2, 3]])", "[1]").numbers == Numbers{2, 3});
  CHECK(read(R"({"a": [[1, 2], [3, 4]]})", "a", 2).numbers == Numbers{1, 2, 3, 4});
  CHECK(read(R"({"a": []})", "a", 4).numbers.empty());
}

TEST_CASE("numbers of a list in JSON behind the room are counted", "[media]") {
  const Read some = read(R"({"a": [[1, 2], [3, 4], [5, 6]]})", "a", 2, 4);
  CHECK(some.count == 6);
  CHECK(some.numbers == Numbers{1, 2, 3, 4});
  CHECK(read(R"({"a": [[1, 2], [3, 4], [5, null]]})", "a", 2, 4).error ==
        "\"a\", element [2][1] is null, not a number");
}

TEST_CASE("what is no such list in JSON is refused by its element", "[media]") {
  CHECK(read(R"({"a": 5})", "a").error == "\"a\" is a number, not a list");
  CHECK(read(R"({"a": "1 2"})", "a").error == "\"a\" is a text, not a list");
  CHECK(read(R"({"b": 5})", "a").error == "the JSON has no \"a\"");
  CHECK(read(R"({"a": [1, "2"]})", "a").error == "\"a\", element [1] is a text, not a number");
  CHECK(read(R"({"a": [1, NaN], "b": Infinity})", "a").error == "\"a\", element [1] is NaN, not a number");
  CHECK(read(R"({"a": [1, true]})", "a").error == "\"a\", element [1] is true or false, not a number");
  CHECK(read(R"({"a": [1, [2]]})", "a").error == "\"a\", element [1] is a list, not a number");
  CHECK(read(R"({"a": [[1, 2], 3]})", "a", 2).error == "\"a\", element [1] is a number, not a list of 2 numbers");
  CHECK(read(R"({"a": [[1, 2], [3]]})", "a", 2).error == "\"a\", element [1] has 1 elements, not 2");
  CHECK(read(R"({"a": [[1, 2, 3]]})", "a", 2).error == "\"a\", element [0] has 3 elements, not 2");
  CHECK(read(R"({"a": [[1, [2]]]})", "a", 2).error == "\"a\", element [0][1] is a list, not a number");
}

TEST_CASE("an empty member is no JSON, also where it has no memory", "[media]") {
  text::JsonReader reader;
  const Status status = reader.read({});
  REQUIRE_FALSE(status);
  CHECK_THAT(status.error().message, Catch::Contains("no sound JSON"));
}

TEST_CASE("a list's integers in JSON fit their type", "[media]") {
  CHECK(int_error<int8_t>(DType::kInt8, R"({"a": [127, -128, 128]})", {127, -128, 0}) ==
        "\"a\", element [2]: 128 does not fit int8");
  CHECK(int_error<uint8_t>(DType::kUint8, R"({"a": [255, -1]})", {255, 0}) ==
        "\"a\", element [1]: -1 does not fit uint8");
  CHECK(int_error<int64_t>(DType::kInt64, R"({"a": [-9223372036854775808, 9223372036854775808]})", {INT64_MIN, 0}) ==
        "\"a\", element [1]: 9223372036854775808 does not fit int64");
  CHECK(int_error<uint64_t>(DType::kUint64, R"({"a": [18446744073709551615]})", {UINT64_MAX}).empty());
  CHECK(int_error<int32_t>(DType::kInt32, R"({"a": [1, 3.0]})", {1, 0}) ==
        "\"a\", element [1]: 3.0 does not fit int32");
  CHECK(int_error<float>(DType::kFloat32, R"({"a": [0.1, 1e39]})", {0.1F, 0}) ==
        "\"a\", element [1]: 1e+39 does not fit float32");
}

}  // namespace
}  // namespace spdld::json_list_test
