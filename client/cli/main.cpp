// spdlctl: arguments -> one command -> its exit code.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "client/cli/cli.h"
#include "client/cli/format.h"
#include "client/cli/query.h"
#include "config/text/arguments.h"

namespace spdld::cli {
namespace {

constexpr int64_t kTimeoutMaxMs = 86'400'000;

constexpr const char* kFooter =
    "Where spdlctl looks for the daemon:\n"
    "  --socket, else $SPDLD_SOCKET, else /run/spdld/spdld.sock, else this user's private daemon. Only `bench`, "
    "`export`, `samples`, `show`, `try` and `warm` start a private daemon.\n\n"
    "Environment:\n"
    "  SPDLD_SOCKET   the daemon's socket\n"
    "  SPDLD_DAEMON   the program to start as a private daemon\n"
    "  NO_COLOR       turns colour off, even on a terminal\n"
    "  COLUMNS        the width of the output if it is not a terminal (default 80)\n\n"
    "Exit codes:\n"
    "  0  success\n"
    "  1  failure: a file has errors, a bench or a check of doctor failed, or there is no such pipeline\n"
    "  2  wrong usage\n"
    "  3  no daemon reachable\n"
    "  4  denied\n"
    "  5  timed out\n\n"
    "Examples:\n"
    "  spdlctl status\n"
    "  spdlctl describe imagenet-train\n"
    "  spdlctl check train.toml && spdlctl bench train.toml\n"
    "  spdlctl -o json errors | jq '.errors[].name'";

void declare_globals(config::Arguments options, Globals& globals) {
  options.choice("-o,--output", globals.output, {"text", "json"}, "FORMAT", "how to print: text (for people) or json");
  options.text("--socket", globals.socket, "PATH", "the daemon's socket");
  options.number("--timeout-ms", globals.timeout_ms, 1, kTimeoutMaxMs, "N",
                 "how long to wait for an answer (default 5000), or with bench for each batch (default 300000)");
}

int fail(ExitCode code, const char* sentence) {
  std::fprintf(stderr, "spdlctl: %s\n", safe_lines(sentence).c_str());
  return code;
}

int run(const std::vector<std::string>& words) {
  using Next = config::CommandLine::Parsed::Next;
  Globals globals;
  config::CommandLine line("spdlctl", std::string("spdlctl ") + spdld_version(),
                           "spdlctl looks inside spdld, the data-loading daemon, and measures it.", kFooter);
  declare_globals(line.options(), globals);
  std::map<std::string, RunCommand> runs;
  const auto declare = [&](const char* name, const Command& command) {
    command.declare(line.command(name, command.help, command.more), globals, runs[name]);
  };
#define COMMAND(name) declare(#name, name##_command());
#include "client/cli/commands.inc"
#undef COMMAND
  const config::CommandLine::Parsed parsed = line.parse(words);
  if (parsed.next == Next::kWrong) return fail(kUsage, parsed.text.c_str());
  try {
    if (parsed.next == Next::kRun) return runs.at(parsed.command)();
    print(fitted(parsed.text, page_of_stdout().columns));
    return kFine;
  } catch (const Failure& failure) {
    return fail(failure.code(), failure.what());
  }
}

}  // namespace
}  // namespace spdld::cli

int main(int argc, char** argv) {
  ::unsetenv("SPDLD_REPLAY");  // it is meant for trainers: a command looks at the batches that really come
  try {
    return spdld::cli::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    return spdld::cli::fail(spdld::cli::kWrong, error.what());
  }
}
