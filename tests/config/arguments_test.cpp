#include "config/text/arguments.h"

#include <catch2/catch.hpp>
#include <cstdint>

namespace spdld::arguments_test {

using namespace spdld::config;
using Next = CommandLine::Parsed::Next;

namespace {

// A program with two commands, and what its words were taken for.
struct Tool {
  CommandLine line{"tool", "tool 1.2", "tool does things.", "The end."};
  std::string output = "text";
  std::optional<int64_t> timeout_ms;
  uint64_t epochs = 1;
  std::optional<double> interval_s;
  bool watch = false;
  std::string target, socket;
  std::vector<std::string> files;

  Tool() {
    Arguments options = line.options();
    options.choice("-o,--output", output, {"text", "json"}, "FORMAT", "how to print");
    options.number("--timeout-ms", timeout_ms, 1, 1000, "N", "how long to wait");
    options.text("--socket", socket, "PATH", "where");
    Arguments run = line.command("run", "run it", "More of run.");
    run.word("TARGET", target, "what to run");
    run.number("--epochs", epochs, 1, uint64_t{1} << 40, "N", "how many");
    run.number("--interval", interval_s, 0.1, 3600, "S", "how often");
    run.flag("-w,--watch", watch, "again and again");
    line.command("check", "look at files", "").words("FILE", files, "the files");
  }

  std::string wrong(const std::vector<std::string>& words) {
    const auto parsed = line.parse(words);
    CHECK(parsed.next == Next::kWrong);
    return parsed.text;
  }
};

}  // namespace

TEST_CASE("words and options reach their variables, wherever the program's own options stand") {
  Tool tool;
  const auto parsed =
      tool.line.parse({"--timeout-ms", "7", "run", "x.toml", "--epochs=3", "-w", "--interval", "0.5", "-o", "json"});
  CHECK(parsed.next == Next::kRun);
  CHECK(parsed.command == "run");
  CHECK((tool.target == "x.toml" && tool.epochs == 3 && tool.watch && tool.interval_s == 0.5));
  CHECK((tool.output == "json" && tool.timeout_ms == 7 && tool.socket.empty()));
}

TEST_CASE("what is not written keeps its default") {
  Tool tool;
  const auto parsed = tool.line.parse({"check", "a", "b"});
  CHECK(parsed.command == "check");
  CHECK(tool.files == std::vector<std::string>{"a", "b"});
  CHECK((tool.output == "text" && tool.epochs == 1 && !tool.watch));
  CHECK((!tool.timeout_ms && !tool.interval_s));
}

TEST_CASE("help shows the values and their defaults") {
  const auto program = Tool().line.parse({"--help"});
  CHECK(program.next == Next::kPrint);
  for (const char* part :
       {"tool does things.", "The end.", "look at files", "FORMAT=text", "--timeout-ms N", "--version"})
    CHECK_THAT(program.text, Catch::Contains(part));
  const auto run = Tool().line.parse({"run", "--help"});
  CHECK(run.next == Next::kPrint);
  for (const char* part : {"what to run", "--epochs N=1", "More of run."}) CHECK_THAT(run.text, Catch::Contains(part));
  CHECK(Tool().line.parse({"--version"}).text == "tool 1.2\n");
}

TEST_CASE("wrong words are answered by a sentence") {
  CHECK(Tool().wrong({"rum"}) == "there is no command \"rum\" (did you mean \"run\"?); see tool --help.");
  CHECK(Tool().wrong({"run", "x", "--epoch", "2"}) ==
        "there is no option \"--epoch\" (did you mean \"--epochs\"?); see tool --help.");
  CHECK_THAT(Tool().wrong({"run", "x", "--epochs", "0"}), Catch::Contains("--epochs") && Catch::Contains("0"));
  CHECK_THAT(Tool().wrong({"run", "x", "--epochs", "1.5"}), Catch::Contains("--epochs"));
  CHECK_THAT(Tool().wrong({"run", "x", "--interval", "9999"}), Catch::Contains("3600"));
  CHECK_THAT(Tool().wrong({"run", "x", "-o", "xml"}), Catch::Contains("xml"));
  CHECK_THAT(Tool().wrong({"run"}), Catch::Contains("TARGET"));
  CHECK_THAT(Tool().wrong({}), Catch::Contains("subcommand"));
}

TEST_CASE("a program without commands needs no word") {
  bool is_private = false;
  CommandLine line("daemon", "daemon 1.2", "daemon serves.", "");
  line.options().flag("--private", is_private, "for one user");
  CHECK(line.parse({}).next == Next::kRun);
  CHECK(line.parse({"--private"}).command.empty());
  CHECK(is_private);
  CHECK(line.parse({"--privat"}).text ==
        "there is no option \"--privat\" (did you mean \"--private\"?); see daemon --help.");
}

}  // namespace spdld::arguments_test
