// spdlctl: arguments -> one command -> its exit code.
#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "client/cli/cli.h"
#include "client/cli/format.h"
#include "client/cli/query.h"
#include "config/arguments.h"

namespace spdld::cli {
namespace {

struct Command {
  const char* name;
  const char* help;
  const char* more;  // below the options of its own --help
  Declare declare;
};

constexpr int64_t kTimeoutMaxMs = 86'400'000;

constexpr const char* kBenchMore =
    "Every rank is a process of its own that takes batches and hands them back unread, so what is measured is the\n"
    "loader alone. Where no daemon runs, a private one is started.\n\n"
    "What it prints:\n"
    "  images/s          after the first batch, of all ranks together\n"
    "  CPU an image      user and system time of the daemon and of the ranks, from attach to end, listing included;\n"
    "                    a daemon that serves others at the same time counts their work as well\n"
    "  first batch       from before attach to the slowest rank's first batch\n"
    "  waited            what next() took, in all and of one batch, without each rank's first\n"
    "  peak memory       greatest proportional set size (PSS) of the daemon and the ranks, looked at 5 times a "
    "second\n\n"
    "Examples:\n"
    "  spdlctl bench train.toml --epochs 3\n"
    "  spdlctl bench imagenet-train --world-size 4 --batches 200 -o json";

constexpr std::array<Command, 9> kCommands = {{
    {"bench", "attach as trainers and measure the loader", kBenchMore, &declare_bench},
    {"check", "check files; prints every error as file:line: key: what is wrong and what is allowed",
     "Needs no daemon. Exit code 1 when any file has an error.\n\nExample:\n  spdlctl check /etc/spdld/spdld.toml "
     "train.toml",
     &declare_check},
    {"describe", "show one pipeline: listing, stages, cache, tuning, rings, and its bottleneck",
     "The bottleneck is \"trainer\" when batches waited longer for trainers than\n"
     "trainers waited for batches: the loader keeps up. Else the bottleneck is the\n"
     "stage, fetch or decode, whose lanes were the busiest.\n\n"
     "  LISTING     how far the listing of the data set is\n"
     "  CACHED      samples that the cache keeps, of those that it will keep\n"
     "  JOB         how far the job is in its epoch: the place of its slowest rank\n"
     "  STARVED     time in which a trainer had room, but no batch was ready\n"
     "  FULL        time in which all slots were ready or held (back-pressure)\n"
     "  FREE, FILLING, READY, HELD    slots in each state; READY MEAN: the average\n"
     "  HIT RATE    share of the samples looked for that the cache had\n"
     "  FROM DISK   hits that were read from the cache's disk\n"
     "  STALE       cached samples whose file had changed\n"
     "  REFUSED     samples for which the cache had no room\n"
     "  TUNED       how much decodes, reads and is kept ready at once: as little as\n"
     "              keeps the trainers from waiting, unless the daemon's file pins it\n\n"
     "With --watch the view is drawn anew in its place, with rates and times left. It\n"
     "survives a restart of the daemon. What changes stands first, and what the\n"
     "terminal has no room for is left out until Ctrl-C, which shows all of it and\n"
     "ends with exit code 0. With -o json each look is one line.\n\n"
     "Examples:\n"
     "  spdlctl describe imagenet-train --watch\n"
     "  spdlctl -o json describe imagenet-train --watch --interval 10 >> train.jsonl",
     &declare_describe},
    {"errors", "list samples that could not be used, what data sets miss, and why",
     "Equal errors of one sample are counted together; the last 1,000 are kept. KIND: \"damaged\", or \"unsupported\" "
     "for a "
     "picture of a\nformat that this build does not decode. A table before them lists what data sets miss, where "
     "on_missing "
     "= \"warn\".\nA private daemon leaves its errors behind for --last.",
     &declare_errors},
    {"export", "write the listing of a pipeline's data set to a file",
     "The file is text: a head with the listing's fingerprint and the number of samples, then a line a sample, its id, "
     "a tab and its\nname (a backslash in it doubled, bytes that are no printable UTF-8 as \\xNN).\n"
     "  fingerprint = \"...\" in [source] pins a pipeline to it: what lists something else is refused.\n"
     "  include = \"FILE\" in [order] takes it as it is, or with lines taken out.\n\n"
     "Example:\n  spdlctl export train.toml train.listing",
     &declare_export},
    {"ls", "list the pipelines",
     "\"available\": a named pipeline that nobody has opened yet.\n"
     "CPU: the part that it got of the decode threads' time of the last ten seconds. Pipelines that want more than "
     "there is\nget it by WEIGHT (cpu_weight in the pipeline's file, or in the daemon's).",
     &declare_list},
    {"ops", "list the operations and sources that a pipeline file may name, with their parameters", "Needs no daemon.",
     &declare_operations},
    {"ping", "see whether the daemon answers", "", &declare_ping},
    {"status", "show the daemon: CPU, memory, cache, sessions, pipelines",
     "The table CACHED has a line a field of each data set in the node's cache; USED: a pipeline has it open. One that "
     "is "
     "not used\nmakes room for those that are.",
     &declare_status},
}};

constexpr const char* kFooter =
    "Where the daemon is looked for:\n"
    "  --socket, else $SPDLD_SOCKET, else /run/spdld/spdld.sock, else this user's private daemon. Only `bench` and "
    "`export` start one.\n\n"
    "Environment:\n"
    "  SPDLD_SOCKET   the daemon's socket\n"
    "  SPDLD_DAEMON   the program to start as a private daemon\n"
    "  NO_COLOR       no colour, not even on a terminal\n"
    "  COLUMNS        the width of the output where it is no terminal (default 80)\n\n"
    "Exit codes:\n"
    "  0  fine\n"
    "  1  the thing asked about is wrong: errors in a file, a bench that failed, no such pipeline\n"
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
                 "how long to wait for an answer (default 5000); for bench: for each batch (default 300000)");
}

int fail(ExitCode code, const char* sentence) {
  std::fprintf(stderr, "spdlctl: %s\n", sentence);
  return code;
}

int run(const std::vector<std::string>& words) {
  using Next = config::CommandLine::Parsed::Next;
  Globals globals;
  config::CommandLine line("spdlctl", std::string("spdlctl ") + spdld_version(),
                           "spdlctl looks inside spdld, the data-loading daemon, and measures it.", kFooter);
  declare_globals(line.options(), globals);
  std::map<std::string, Run> runs;
  for (const Command& command : kCommands)
    command.declare(line.command(command.name, command.help, command.more), globals, runs[command.name]);
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
  try {
    return spdld::cli::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    return spdld::cli::fail(spdld::cli::kWrong, error.what());
  }
}
