#include "config/text/json.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>

namespace spdld::json_test {

using config::Json;

TEST_CASE("a JSON value is written with its keys sorted, and read as it was written") {
  const Json value = {{"b", 1}, {"a", {1, "two", true, nullptr == nullptr}}, {"c", {{"deep", 2.5}}}, {"d", Json()}};
  CHECK(value.dump() == R"({"a":[1,"two",true,true],"b":1,"c":{"deep":2.5},"d":null})");
  const auto read = Json::parse(value.dump(2));
  REQUIRE(read);
  CHECK(read->dump() == value.dump());
  CHECK_FALSE(Json::parse("{"));
}

TEST_CASE("numbers keep every digit") {
  CHECK(Json(std::numeric_limits<uint64_t>::max()).dump() == "18446744073709551615");
  CHECK(Json(std::numeric_limits<int64_t>::min()).dump() == "-9223372036854775808");
  CHECK(Json(0.1).dump() == "0.1");
  CHECK(Json::parse("18446744073709551615")->count() == UINT64_MAX);
  CHECK(Json(-3).count() == 0);
  CHECK(Json(1e300).count() == UINT64_MAX);
  CHECK(Json(std::numeric_limits<double>::quiet_NaN()).count() == 0);
  CHECK(Json(int8_t{-3}).number() == -3);
}

TEST_CASE("a list of pairs that begin with texts is a table, any other is a list") {
  CHECK(Json({{"a", 1}, {"b", 2}}).is_object());
  CHECK(Json({"a", 1}).is_array());
  CHECK(Json({{"a", 1}, 2}).is_array());
  CHECK(Json(std::vector<std::string>{"a", "b"}).dump() == R"(["a","b"])");
}

TEST_CASE("a table is found in, added to and put over another") {
  Json table;
  table["a"]["b"] = 1;
  table.update({{"c", 2}, {"a", 3}});
  CHECK(table.dump() == R"({"a":3,"c":2})");
  CHECK(table.find("d") == nullptr);
  CHECK(table.find("a")->number() == 3);
  CHECK(Json("text").find("a") == nullptr);
  CHECK(Json("text").empty());
  CHECK_THROWS_AS(table.push_back(1), std::logic_error);
  CHECK_THROWS_AS(table.text(), std::logic_error);
}

TEST_CASE("a text that is no UTF-8 is written with the replacement character") {
  CHECK(Json("a\xff").dump() == "\"a\xef\xbf\xbd\"");
}

}  // namespace spdld::json_test
