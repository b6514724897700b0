#include "client/cli/table.h"

#include <catch2/catch.hpp>
#include <stdexcept>

using namespace spdld::cli;

TEST_CASE("a table's columns are as wide as their widest cell") {
  Table table({{"NAME"}, {"COUNT", Align::kRight}, {"WHY"}});
  CHECK(table.empty());
  table.add({"a", "1", ""});
  table.add({"Zürich-train", "1,000", "late"});
  CHECK(table.text(false) ==
        "NAME          COUNT  WHY\n"
        "a                 1\n"
        "Zürich-train  1,000  late\n");
}

TEST_CASE("colour leaves the columns where they are") {
  Table table({{"STATE"}, {"N"}});
  table.add({Cell("ready", Style::kGood), "1"});
  table.add({Cell("failed", Style::kBad), "2"});
  CHECK(table.text(true) ==
        "\033[1mSTATE   N\033[0m\n"
        "\033[32mready\033[0m   1\n"
        "\033[31mfailed\033[0m  2\n");
}

TEST_CASE("a row with too few cells is refused") {
  Table table({{"A"}, {"B"}});
  CHECK_THROWS_AS(table.add({"1"}), std::logic_error);
}

TEST_CASE("facts stand in two columns") {
  Facts facts;
  facts.add("images/s", "812.4");
  facts.add("waited", Cell("1.0 s", Style::kWarning));
  CHECK(facts.text(false) ==
        "images/s  812.4\n"
        "waited    1.0 s\n");
}

TEST_CASE("states look as they are") {
  CHECK(state_style("running") == Style::kGood);
  CHECK(state_style("degraded") == Style::kWarning);
  CHECK(state_style("failed") == Style::kBad);
  CHECK(state_style("available") == Style::kPlain);
}
