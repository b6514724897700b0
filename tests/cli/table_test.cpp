#include "client/cli/table.h"

#include <catch2/catch.hpp>
#include <stdexcept>

namespace spdld::table_test {

using namespace spdld::cli;

namespace {
constexpr Page kWide{false, 200}, kColoured{true, 200};
}  // namespace

TEST_CASE("a table's columns are as wide as their widest cell") {
  Table table({{"NAME"}, {"COUNT", Align::kRight}, {"WHY"}});
  CHECK(table.empty());
  table.add({"a", "1", ""});
  table.add({"Zürich-train", "1,000", "late"});
  CHECK(table.text(kWide) ==
        "NAME          COUNT  WHY\n"
        "a                 1\n"
        "Zürich-train  1,000  late\n");
}

TEST_CASE("colour leaves the columns where they are") {
  Table table({{"STATE"}, {"N"}});
  table.add({Cell("ready", Style::kGood), "1"});
  table.add({Cell("failed", Style::kBad), "2"});
  CHECK(table.text(kColoured) ==
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
  CHECK(facts.text(kWide) ==
        "images/s  812.4\n"
        "waited    1.0 s\n");
}

TEST_CASE("states look as they are") {
  CHECK(state_style("running") == Style::kGood);
  CHECK(state_style("degraded") == Style::kWarning);
  CHECK(state_style("failed") == Style::kBad);
  CHECK(state_style("available") == Style::kPlain);
}

namespace {

// No line wider than this, but where a single word is.
void check_fits(const std::string& text, size_t columns) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    INFO(text.substr(at, end - at));
    CHECK(display_width(text.substr(at, end - at)) <= columns);
    at = end + 1;
  }
}

Table jobs(const std::string& group) {
  Table table({{"GROUP", Align::kLeft, Role::kKey},
               {"RANK", Align::kRight, Role::kKey},
               {"BATCHES", Align::kRight},
               {"STARVED", Align::kRight},
               {"READY", Align::kRight},
               {"REASON", Align::kLeft, Role::kWords}});
  table.add({group, "0/2", "1,000", "1.5 s", "3", ""});
  table.add({group, "1/2", "9", "3 min 4 s", "12", Cell("the disk is slow today and then some", Style::kWarning)});
  return table;
}

}  // namespace

TEST_CASE("a column of words without words is not there") {
  Table table({{"NAME", Align::kLeft, Role::kKey}, {"REASON", Align::kLeft, Role::kWords}, {"N", Align::kRight}});
  table.add({"a", "", "1"});
  CHECK(table.text(kWide) == "NAME  N\na     1\n");
}

TEST_CASE("words that do not fit stand below their row") {
  CHECK(jobs("run").text({false, 50}) ==
        "GROUP  RANK  BATCHES    STARVED  READY\n"
        "run     0/2    1,000      1.5 s      3\n"
        "run     1/2        9  3 min 4 s     12\n"
        "    reason: the disk is slow today and then some\n");
  CHECK(jobs("run")
            .text({true, 40})
            .find("    \033[33mreason: the disk is slow today and\033[0m\n"
                  "    \033[33mthen some\033[0m\n") != std::string::npos);
}

TEST_CASE("figures that do not fit stand in a second table with the same keys") {
  CHECK(jobs("run").text({false, 40 - 8}) ==
        "GROUP  RANK  BATCHES    STARVED\n"
        "run     0/2    1,000      1.5 s\n"
        "run     1/2        9  3 min 4 s\n"
        "    reason: the disk is slow\n"
        "    today and then some\n"
        "\n"
        "GROUP  RANK  READY\n"
        "run     0/2      3\n"
        "run     1/2     12\n");
}

TEST_CASE("long keys stand above their figures, and are never cut") {
  const std::string group = "imagenet-2026-11-22-ablation-without-flip";
  CHECK(jobs(group).text({false, 60}) ==
        "GROUP  RANK\n"
        "  BATCHES    STARVED  READY\n" +
            group + "  0/2\n" + "    1,000      1.5 s      3\n" + group + "  1/2\n" +
            "        9  3 min 4 s     12\n"
            "    reason: the disk is slow today and then some\n");
  CHECK(jobs(std::string(100, 'x')).text({false, 60}).find(std::string(100, 'x') + "  0/2\n") != std::string::npos);
}

TEST_CASE("whatever the page is, nothing is lost and all of it fits") {
  for (size_t columns = 40; columns <= 120; columns++) {
    const std::string text = jobs("a-job").text({false, columns});
    check_fits(text, columns);
    for (const char* cell : {"1,000", "1.5 s", "3 min 4 s", "12", "0/2", "1/2"})
      CHECK(text.find(cell) != std::string::npos);
  }
}

TEST_CASE("facts go on below where they are too long") {
  Facts facts;
  facts.add("cpu", "2 decode threads on 8 cores, used 3 s");
  facts.add("socket", "/a/path/that/nobody/breaks/since/it/is/copied");
  CHECK(facts.text({false, 30}) ==
        "cpu     2 decode threads on 8\n"
        "        cores, used 3 s\n"
        "socket  /a/path/that/nobody/breaks/since/it/is/copied\n");
  CHECK(facts.text({false, 200}).find("on 8 cores, used") != std::string::npos);
  CHECK(wrapped("", 10) == std::vector<std::string>{""});
  CHECK(wrapped("a  b", 10) == std::vector<std::string>{"a  b"});
  CHECK(wrapped("aa  bb", 5) == std::vector<std::string>{"aa", "bb"});
}

}  // namespace spdld::table_test
