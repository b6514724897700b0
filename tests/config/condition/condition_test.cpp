#include "config/condition/condition.h"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <random>

namespace spdld::config::condition_test {
namespace {

constexpr Truths kFalse = only(Truth::kFalse), kTrue = only(Truth::kTrue), kUnknown = only(Truth::kUnknown);

using Row = std::map<std::string, Cell, std::less<>>;

Condition parsed(const std::string& text) {
  ParsedCondition got = parse_condition(text);
  INFO(text << ": " << got.error);
  REQUIRE(got.condition);
  return *got.condition;
}

Truths truths(const Condition& condition, const Row& row) {
  return condition.truths([&](const Comparison& comparison) {
    const auto found = row.find(condition.columns()[comparison.column]);
    return comparison.of(found == row.end() ? Cell() : found->second);
  });
}
Truths truths(const std::string& text, const Row& row) { return truths(parsed(text), row); }

std::string error_of(const std::string& text) {
  const ParsedCondition got = parse_condition(text);
  INFO(text);
  CHECK_FALSE(got.condition);
  return got.error;
}

Cell text(std::string_view value) { return value; }
Cell number(Number value) { return value; }

}  // namespace

TEST_CASE("a condition compares columns with values", "[condition]") {
  const Row row{{"split", text("train")}, {"width", number(300)}, {"is drawn", true}, {"a.b", number(-1.5L)}};
  CHECK(truths("split == 'train'", row) == kTrue);
  CHECK(truths("split = \"train\" AND width >= 224", row) == kTrue);
  CHECK(truths("split != 'train' or width < 300", row) == kFalse);
  CHECK(truths("split <> 'val'", row) == kTrue);
  CHECK(truths("width > 299.5 and width <= 3e2", row) == kTrue);
  CHECK(truths("`is drawn` == true", row) == kTrue);
  CHECK(truths("not `is drawn` == false", row) == kTrue);
  CHECK(truths("a.b == -1.5 and a.b < +.5", row) == kTrue);
  CHECK(truths("split in ('val', 'train',)", row) == kTrue);
  CHECK(truths("width not in [1, 2, 300]", row) == kFalse);
  CHECK(truths("split > 'trail' and split < 'trainz'", row) == kTrue);
  CHECK(truths("split == 'it''s'", {{"split", text("it's")}}) == kTrue);
  CHECK(truths("`a``b` is not null", {{"a`b", number(1)}}) == kTrue);
}

TEST_CASE("and binds more than or, and not more than and", "[condition]") {
  for (int bits = 0; bits < 8; ++bits) {
    const bool a = (bits & 1) != 0, b = (bits & 2) != 0, c = (bits & 4) != 0;
    const Row row{{"a", a}, {"b", b}, {"c", c}};
    const auto told = [](bool holds) { return holds ? kTrue : kFalse; };
    CHECK(truths("a == true or b == true and c == true", row) == told(a || (b && c)));
    CHECK(truths("(a == true or b == true) and c == true", row) == told((a || b) && c));
    CHECK(truths("not a == true and b == true", row) == told(!a && b));
    CHECK(truths("not (a == true and b == true) or not not c == true", row) == told(!(a && b) || c));
  }
}

TEST_CASE("a comparison with a value that is not there is neither true nor false", "[condition]") {
  const Row none;
  for (const char* one : {"x == 1", "x != 1", "not x == 1", "x in (1, 2)", "x not in (1, 2)", "x < 'a'"})
    CHECK(truths(one, none) == kUnknown);
  CHECK(truths("x is null", none) == kTrue);
  CHECK(truths("x is not null", none) == kFalse);
  CHECK(truths("x == 1 or x is null", none) == kTrue);
  CHECK(truths("x == 1 and x is not null", none) == kFalse);
  CHECK(truths("x == 1 and x is null", none) == kUnknown);
}

TEST_CASE("NaN is less than no number, equal to none and unequal to each", "[condition]") {
  const Row row{{"x", number(std::numeric_limits<Number>::quiet_NaN())}};
  for (const char* one : {"x == 1", "x < 1", "x <= 1", "x > 1", "x >= 1", "x in (1, 2)", "x is null"})
    CHECK(truths(one, row) == kFalse);
  CHECK(truths("x != 1 and x not in (1, 2)", row) == kTrue);
}

TEST_CASE("whole numbers of 64 bits are compared exactly", "[condition]") {
  const auto at = [](uint64_t value) { return Row{{"x", number(static_cast<Number>(value))}}; };
  constexpr uint64_t kBeyondDoubles = (uint64_t{1} << 53) + 1;
  CHECK(truths("x == 9007199254740993", at(kBeyondDoubles)) == kTrue);
  CHECK(truths("x == 9007199254740992", at(kBeyondDoubles)) == kFalse);
  CHECK(truths("x == 18446744073709551615", at(UINT64_MAX)) == kTrue);
  CHECK(truths("x < 18446744073709551615", at(UINT64_MAX - 1)) == kTrue);
  CHECK(truths("x == -9223372036854775808", {{"x", number(static_cast<Number>(INT64_MIN))}}) == kTrue);
}

TEST_CASE("comparisons are asked for from the left, and only as far as they count", "[condition]") {
  const auto asked = [](const std::string& text, Truths first) {
    size_t count = 0;
    parsed(text).truths([&](const Comparison&) {
      ++count;
      return first;
    });
    return count;
  };
  CHECK(asked("a == 1 and b == 1 and c == 1", kFalse) == 1);
  CHECK(asked("a == 1 or b == 1 or c == 1", kTrue) == 1);
  CHECK(asked("a == 1 and b == 1", kUnknown) == 2);
}

TEST_CASE("a text that is no condition is refused with its place", "[condition]") {
  CHECK(error_of("") ==
        "is no condition: it ends too early: there must be the name of a column (in `backquotes` where it has other "
        "signs than letters, digits, \"_\" and \".\", or is a word such as \"in\")");
  CHECK(error_of("a == 1 b == 2") ==
        "is no condition: at character 8, \"b == 2\": there must be \"and\", \"or\" or the end");
  CHECK(error_of("a == b").find("there must be a value: a number, true, false, or a text in quotes") !=
        std::string::npos);
  CHECK(error_of("a == null").find("write \"is null\"") != std::string::npos);
  CHECK(error_of("a == 1 && b == 2").find("write and") != std::string::npos);
  CHECK(error_of("a == 1 | b == 2").find("write or") != std::string::npos);
  CHECK(error_of("~a").find("write not") != std::string::npos);
  CHECK(error_of("a == 'x").find("this ' has no end") != std::string::npos);
  CHECK(error_of("a in ()").find("there must be a value in the list") != std::string::npos);
  CHECK(error_of("a in (1, 'x')").find("and the first one is a number") != std::string::npos);
  CHECK(error_of("a in (1, 2").find("it ends too early") != std::string::npos);
  CHECK(error_of("a in (1]").find("there must be a comma or the closing bracket") != std::string::npos);
  CHECK(error_of("a is 1").find("there must be \"null\" behind \"is\"") != std::string::npos);
  CHECK(error_of("a not 1").find("there must be \"in\" behind \"not\"") != std::string::npos);
  CHECK(error_of("a").find("there must be a comparison behind the column") != std::string::npos);
  CHECK(error_of("a == 1e").find("this is no number") != std::string::npos);
  CHECK(error_of("a == 12x").find("this is no number") != std::string::npos);
  CHECK(error_of("a == 1e999").find("this is no number") != std::string::npos);
  CHECK(error_of("(a == 1").find("it ends too early") != std::string::npos);
  CHECK(error_of("and == 1").find("there must be the name of a column") != std::string::npos);
  CHECK(error_of("`` == 1").find("there must be the name of a column") != std::string::npos);
}

TEST_CASE("a condition has bounds", "[condition]") {
  const auto brackets = [](int depth) {
    return std::string(static_cast<size_t>(depth), '(') + "a == 1" + std::string(static_cast<size_t>(depth), ')');
  };
  CHECK(parse_condition(brackets(kConditionDepthMax)).condition);
  CHECK(error_of(brackets(kConditionDepthMax + 1)).find("more than 32 brackets") != std::string::npos);
  std::string nots;
  for (int i = 0; i < 100'000 && nots.size() < kConditionBytesMax - 10; ++i) nots += "not ";
  CHECK(error_of(nots + "a == 1").find("more than 32 brackets") != std::string::npos);
  CHECK(error_of(std::string(kConditionBytesMax + 1, ' ')) == "has more than 262144 bytes");
  std::string columns, parts;
  for (size_t i = 0; i <= kConditionColumnsMax; ++i)
    columns += (i == 0 ? "" : " or ") + ("c" + std::to_string(i)) + " == 1";
  CHECK(error_of(columns).find("more than 64 columns") != std::string::npos);
  for (int i = 0; i < 10'000; ++i) parts += (i == 0 ? "" : " and ") + std::string("a != ") + std::to_string(i);
  CHECK(truths(parts, {{"a", number(-1)}}) == kTrue);
}

TEST_CASE("what is said of many rows holds for each of them", "[condition]") {
  std::mt19937_64 random(37);
  const auto draw = [&](uint64_t below) { return random() % below; };
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  uint64_t decided = 0;
  for (int round = 0; round < 4000; ++round) {
    // Rows with numbers in n and texts in t, of few distinct values, so that bounds are often equal.
    std::vector<Row> rows(1 + draw(4));
    const uint64_t spread = 1 + draw(4);
    std::vector<std::string> texts = {"a", "ab", "b", "c"};
    std::map<std::string, Extent> extents = {{"n", {{}, false, false, false}}, {"t", {{}, false, false, false}}};
    const auto widen = [&](Extent& extent, const ConditionValue& value) {
      extent.has_values = true;
      if (!extent.bounds) extent.bounds = {value, value};
      extent.bounds->first = std::min(extent.bounds->first, value);
      extent.bounds->second = std::max(extent.bounds->second, value);
    };
    const uint64_t start = draw(3);
    for (Row& row : rows) {
      if (draw(5) == 0) {
        extents["n"].has_nulls = true;
      } else if (draw(8) == 0) {
        row["n"] = number(kNan);
        extents["n"].has_nan = extents["n"].has_values = true;
      } else {
        const auto value = static_cast<Number>(start + draw(spread));
        row["n"] = number(value);
        widen(extents["n"], value);
      }
      if (draw(5) == 0) {
        extents["t"].has_nulls = true;
      } else {
        const std::string& value = texts[draw(std::min<uint64_t>(spread, texts.size()))];
        row["t"] = text(value);
        widen(extents["t"], value);
      }
    }
    for (auto& [name, extent] : extents) {
      if (extent.has_values && !extent.bounds) extent.has_nan = true;
      if (draw(10) == 0) extent.bounds.reset();
    }
    const auto comparison = [&]() -> std::string {
      constexpr std::array<const char*, 6> kSigns = {"==", "!=", "<", "<=", ">", ">="};
      const std::string sign = kSigns[draw(6)];
      switch (draw(5)) {
        case 0:
          return "n " + sign + ' ' + std::to_string(draw(6));
        case 1:
          return "t " + sign + " '" + texts[draw(4)] + "'";
        case 2:
          return "n in (" + std::to_string(draw(6)) + ", " + std::to_string(draw(6)) + ")";
        case 3:
          return std::string("t not in ['") + texts[draw(4)] + "', '" + texts[draw(4)] + "']";
        default:
          return std::string(draw(2) == 0 ? "n" : "t") + (draw(2) == 0 ? " is null" : " is not null");
      }
    };
    std::string condition = comparison();
    for (uint64_t more = draw(4); more > 0; --more)
      condition = (draw(2) == 0 ? "not (" : "(") + condition + ") " + (draw(2) == 0 ? "and " : "or ") + comparison();
    const Condition made = parsed(condition);
    const Truths told =
        made.truths([&](const Comparison& one) { return one.of(extents.at(made.columns()[one.column])); });
    for (const Row& row : rows) {
      INFO(condition);
      CHECK((truths(made, row) & told) != 0);
    }
    if (told == kTrue || !may_be(told, Truth::kTrue)) ++decided;
  }
  CHECK(decided > 400);  // the bounds decide often enough to be worth it
}

}  // namespace spdld::config::condition_test
