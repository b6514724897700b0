#include <catch2/catch.hpp>

#include "client/cli/top/grid.h"
#include "client/cli/top/lines.h"

namespace spdld::top_lines_test {

using namespace spdld::cli;
using namespace spdld::cli::top;

TEST_CASE("columns are those of a terminal: wide characters take two, marks none, broken bytes one") {
  CHECK(columns_of("plain") == 5);
  CHECK(columns_of("日本語") == 6);
  CHECK(columns_of("한글🙂") == 6);
  CHECK(columns_of("e\u0301\u200B") == 1);
  CHECK(columns_of("größe") == 5);
  CHECK(columns_of("\xff\xc3") == 2);
  CHECK(columns_of("\xe6\x97") == 2);
  CHECK(columns_of("\xe6zz") == 3);
  CHECK(columns_of("\xed\xa0\x80") == 3);  // a surrogate, which is no character
}

TEST_CASE("a text is cut between characters, and is never wider than its place") {
  CHECK(cut("pipeline", 8) == "pipeline");
  CHECK(cut("pipeline", 7) == "pipel..");
  CHECK(cut("pipeline", 2) == "pi");
  CHECK(cut("pipeline", 0).empty());
  CHECK(cut("日本語", 5) == "日..");  // half of a character does not fit
  CHECK(cut("日本語", 1).empty());
  CHECK(padded("ab", 4) == "ab  ");
  CHECK(padded("ab", 4, true) == "  ab");
  CHECK(columns_of(padded("日本語", 5)) == 5);
}

TEST_CASE("a bar is as full as its part; something shows, and nonsense does no harm") {
  const auto bar = [](double part, size_t columns) {
    Line line;
    add_bar(line, part, columns, Style::kGood);
    return line.text();
  };
  CHECK(bar(0, 6) == "[    ]");
  CHECK(bar(0.5, 6) == "[||  ]");
  CHECK(bar(1, 6) == "[||||]");
  CHECK(bar(0.001, 6) == "[|   ]");
  CHECK(bar(7, 6) == "[||||]");
  CHECK(bar(-1, 6) == "[    ]");
  CHECK(bar(0.0 / 0.0, 6) == "[    ]");
  CHECK(bar(1, 2).empty());
}

TEST_CASE("words are broken between words, and longer ones within") {
  CHECK(broken("one two three", 7) == std::vector<std::string>{"one two", "three"});
  CHECK(broken("abcdefgh ij", 3) == std::vector<std::string>{"abc", "def", "gh", "ij"});
  CHECK(broken("日本語", 4) == std::vector<std::string>{"日本", "語"});
  CHECK(broken("日本", 1) == std::vector<std::string>{"日", "本"});  // wider than the screen: it is cut later
  CHECK(broken("ab", 0) == std::vector<std::string>{"a", "b"});
}

Grid grid() {
  Grid grid({{"NAME", Align::kLeft, 0, 10, true},
             {"RATE", Align::kRight, 0, 6},
             {"MORE", Align::kRight, 3, 8},
             {"BAR", Align::kRight, 1, 3, false, true}});
  const auto add = [&](const char* key, const char* name, double rate) {
    GridCell bar("1/2", Style::kGood, 0.5);
    bar.bar = 0.5;
    grid.add(key, {GridCell(name), GridCell(std::to_string(static_cast<int>(rate)), Style::kPlain, rate),
                   GridCell("more"), bar});
  };
  add("b", "beta", 20);
  add("a", "alpha-with-a-long-name", 100);
  add("c", "gamma", 20);
  return grid;
}

TEST_CASE("a table leaves its least important columns out, then shortens names") {
  const auto head = [](size_t columns) { return grid().lines(columns, {}).front().text(); };
  CHECK(head(60).find("MORE") != std::string::npos);
  CHECK(head(34).find("MORE") == std::string::npos);
  CHECK(head(34).find("BAR") != std::string::npos);
  CHECK(head(20).find("BAR") == std::string::npos);
  CHECK(head(20).find("RATE") != std::string::npos);
  for (size_t columns = 15; columns < 100; columns++)
    for (const Line& line : grid().lines(columns, {})) CHECK(line.columns() <= columns);
  const std::string row = grid().lines(34, {}).at(2).text();
  CHECK(row.find("alpha-wi..") != std::string::npos);
  CHECK(row.find("] 1/2") != std::string::npos);
}

TEST_CASE("rows are sorted by numbers or by letters, and equal ones by their keys") {
  Grid table = grid();
  table.sort({1, false});
  CHECK(table.keys() == std::vector<std::string>{"a", "b", "c"});
  table.sort({1, true});
  CHECK(table.keys() == std::vector<std::string>{"b", "c", "a"});
  table.sort({0, false});
  CHECK(table.keys() == std::vector<std::string>{"c", "b", "a"});
  const Lines lines = table.lines(60, {1, 1, 1, Sort{0, false}});
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].text().starts_with("NAMEv"));
  CHECK(lines[1].text().starts_with("beta"));
  CHECK(lines[1].is_reversed);
  CHECK(table.lines(60, {0, 3, 1, Sort{1, true}})[0].text().find("^RATE") != std::string::npos);
  CHECK_THROWS_AS(table.add("d", {GridCell("one")}), std::logic_error);
}

}  // namespace spdld::top_lines_test
