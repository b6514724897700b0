#include "client/cli/state/screen.h"

#include <catch2/catch.hpp>

#include "tests/cli/terminal.h"

namespace spdld::screen_test {

using spdld::cli::Screen;
using spdld::cli::visible_width;
using spdld::test::Terminal;

TEST_CASE("colours take no columns") {
  CHECK(visible_width("") == 0);
  CHECK(visible_width("\033[1mSTATE\033[0m  \033[32mready\033[0m") == 12);
  CHECK(visible_width("Zürich") == 6);
  CHECK(visible_width("broken \033[3") == 7);
}

TEST_CASE("a text stands in the place of the one before") {
  Terminal terminal(20, 6);
  terminal.write("$ spdlctl\n");
  Screen screen;
  terminal.write(screen.show("one\ntwo longer\nthree\n", 20, 6));
  CHECK(terminal.shown() == "$ spdlctl\none\ntwo longer\nthree\n");
  terminal.write(screen.show("1\n\033[32mtwo\033[0m\n", 20, 6));
  CHECK(terminal.shown() == "$ spdlctl\n1\ntwo\n");
  terminal.write(screen.show("one\ntwo\nthree\n", 20, 6));
  terminal.write(screen.end("one\ntwo\nthree\nfour\n"));
  CHECK(terminal.shown() == "$ spdlctl\none\ntwo\nthree\nfour\n");
  CHECK(terminal.scrolled().empty());
  CHECK(terminal.row() == 5);
}

TEST_CASE("what is shown behind an end stands below it") {
  Terminal terminal(20, 6);
  Screen screen;
  terminal.write(screen.show("one\ntwo\n", 20, 6));
  terminal.write(screen.end("end\n"));
  terminal.write(screen.show("1\n2\n", 20, 6));
  CHECK(terminal.shown() == "end\n1\n2\n");
  terminal.write(screen.end("end\n"));
  terminal.write(screen.end("again\n"));
  CHECK(terminal.shown() == "end\nend\nagain\n");
}

TEST_CASE("a text with more lines than the terminal never scrolls it again") {
  Terminal terminal(20, 6);
  terminal.write("$ spdlctl\n");
  Screen screen;
  const std::string text = "1\n2\n3\n4\n5\n6\n7\n";
  for (int i = 0; i < 3; i++) terminal.write(screen.show(text, 20, 6));
  CHECK(terminal.shown() == "1\n2\n3\n4\n... 3 lines more\n");
  CHECK(terminal.scrolled().size() == 1);  // the prompt's line made room, once
  terminal.write(screen.end(text));
  CHECK(terminal.shown() == "3\n4\n5\n6\n7\n");
  CHECK(terminal.scrolled().size() == 3);
}

TEST_CASE("a text of exactly as many lines as there is room for is whole") {
  Terminal terminal(20, 6);
  Screen screen;
  for (int i = 0; i < 2; i++) terminal.write(screen.show("1\n2\n3\n4\n5\n", 20, 6));
  CHECK(terminal.shown() == "1\n2\n3\n4\n5\n");
  CHECK(terminal.scrolled().empty());
}

TEST_CASE("a line that is wider than the terminal counts as the rows that it takes") {
  Terminal terminal(10, 6);
  Screen screen;
  const std::string text = "a\n0123456789012\n0123456789\nend\n";  // 1 + 2 + 1 + 1 rows
  for (int i = 0; i < 3; i++) terminal.write(screen.show(text, 10, 6));
  CHECK(terminal.shown() == "a\n0123456789\n012\n0123456789\nend\n");
  CHECK(terminal.scrolled().empty());
  terminal.write(screen.show(text + "x\n", 10, 6));
  CHECK(terminal.shown() == "a\n0123456789\n012\n0123456789\n... 2 line\n");
}

TEST_CASE("a terminal of another size is drawn anew") {
  Screen screen;
  screen.show("1\n2\n3\n4\n5\n", 20, 10);
  Terminal terminal(30, 4);
  terminal.write("rest\nof what was\nthere\n");
  terminal.write(screen.show("1\n2\n3\n4\n5\n", 30, 4));
  CHECK(terminal.shown() == "1\n2\n... 3 lines more\n");
  terminal.write(screen.show("1\n2\n3\n", 30, 4));
  CHECK(terminal.shown() == "1\n2\n3\n");
}

TEST_CASE("a terminal that says it has no size is no reason to fail") {
  Screen screen;
  CHECK_FALSE(screen.show("a\nb\nc\nd\n", 0, 0).empty());
  CHECK_FALSE(screen.show("", 80, 24).empty());
}

}  // namespace spdld::screen_test
