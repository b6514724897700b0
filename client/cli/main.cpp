// spdlctl: arguments -> one command -> its exit code.
#include <array>
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

struct Command {
  const char* name;
  const char* help;
  const char* more;  // below the options of its own --help
  Declare declare;
};

constexpr int64_t kTimeoutMaxMs = 86'400'000;

constexpr const char* kBenchMore =
    "Every rank is a process of its own, which takes batches and returns them unread. So the command measures the "
    "loader alone. If no daemon runs, it starts a private one.\n\n"
    "Output, rate and cost:\n"
    "  images/s      all ranks together, after the first batch\n"
    "  CPU an image  user and system time of the daemon and the ranks, from attach to the end, including the listing\n"
    "  peak memory   the greatest proportional set size (PSS) of the daemon and the ranks, measured 5 times a "
    "second\n\n"
    "Output, times:\n"
    "  first batch   from before attach to the slowest rank's first batch\n"
    "  waited        the time that next() took, in total and for one batch, without each rank's first batch\n\n"
    "If the daemon serves other jobs at the same time, the CPU time includes its work for them.\n\n"
    "With --headspace, each part of the pipeline runs alone, in daemons of the command's own, which end with it. Each "
    "row takes --seconds in two rounds, with all decode threads and some thousand samples at most.\n\n"
    "Rows of parts:\n"
    "  hand-over     the same batches again and again: no trainer can take more\n"
    "  fetch         bytes are read and dropped\n"
    "  fetch, all    the same over the whole dataset, if it has more samples than that\n"
    "  to OPERATION  fetching, and the outputs' operations up to this one\n\n"
    "Rows of the whole pipeline:\n"
    "  whole         without a cache\n"
    "  cache = FORM  from a cache that holds the samples\n"
    "  N threads     with fewer decode threads\n\n"
    "Below the table stands what limits the pipeline, and what would help. To find a trainer's own time for a batch, "
    "run the trainer with SPDLD_REPLAY=1, which hands out its first batch again and again; at its end it says which "
    "--trainer-ms it needs.\n\n"
    "Examples:\n"
    "  spdlctl bench train.toml --headspace --trainer-ms 42\n"
    "  spdlctl bench train.toml --epochs 3\n"
    "  spdlctl bench imagenet-train --world-size 4 --batches 200 -o json";

constexpr const char* kDoctorMore =
    "Each line is a check, with what was found and, after an arrow, what to do:\n"
    "  OK    nothing to do\n"
    "  NOTE  worth knowing; nothing is wrong\n"
    "  WARN  it works, but slowly, or not for long\n"
    "  FAIL  something does not work; the exit code is 1\n\n"
    "The command needs no daemon: it looks at the kernel, the limits of processes and control groups, the clock, the "
    "GPU "
    "driver, the settings file, the folders that the file names, and the servers of its stores. If a daemon runs, its "
    "own "
    "limits and its status are looked at too. Nothing is changed.\n\n"
    "Root sees the most: folders are looked at with the rights of the daemon's user. Servers are asked for a "
    "connection, "
    "from spdlctl and not from the daemon; whether a store takes the daemon's credentials is seen in the line \"store "
    "in "
    "use\" of a running daemon. No look takes longer than some seconds.\n\n"
    "Examples:\n"
    "  sudo spdlctl doctor\n"
    "  spdlctl doctor --config new.toml -o json | jq '.checks[] | select(.level == \"FAIL\")'";

constexpr const char* kShowMore =
    "Each sample has a picture \"before\", as its file has it, and the pictures of its outputs, as a trainer gets "
    "them. "
    "Boxes, masks and points are drawn on the pictures of their view; labels and other values stand below. Colours are "
    "what they were before `normalize`.\n\n"
    "The samples come in the order in which a single rank gets them, or with --rank and --world-size one of several, "
    "from --epoch and --step on. The command takes them as a job of its own, which keeps nothing in the node's cache, "
    "counts in no statistic, and takes little of a busy daemon's time. If no daemon runs, it starts a private "
    "one.\n\n"
    "Without SHEET, the terminal shows the pictures: by kitty's graphics protocol or as sixels where the terminal's "
    "name "
    "says that it can, else as coloured blocks.\n\n"
    "Examples:\n"
    "  spdlctl show train.toml sheet.png\n"
    "  spdlctl show train.toml --samples 2 --epoch 3";

constexpr const char* kWhyMore =
    "The daemon judges by what it measured in the last ten seconds, without touching the training.\n\n"
    "A part of the pipeline limits:\n"
    "  trainer     The trainer finds a batch whenever it wants one: the loader keeps up.\n"
    "  fetch       Reads from the local disk limit.\n"
    "  store       Requests to a remote store limit.\n"
    "  decode      The operations limit, on all threads that decode.\n"
    "  copy        Copies to a GPU limit.\n\n"
    "Something beside the pipeline limits:\n"
    "  cpu         Other pipelines, other programs or a quota have the cores.\n"
    "  memory      The bound of bytes in flight limits, or memory is short.\n"
    "  source      A source fails and is asked again.\n\n"
    "No part and nothing beside it limits:\n"
    "  stragglers  Few samples take long, so that batches come in bursts.\n"
    "  unknown     Nobody reads, or too little has happened.\n\n"
    "SPEEDUP is the samples a second after the change, by the samples a second now. The forecast takes each part of "
    "the pipeline to go on as it did, so that the next part limits. Changes without a number have no forecast.\n\n"
    "Examples:\n"
    "  spdlctl why imagenet-train\n"
    "  spdlctl why imagenet-train --watch";

constexpr const char* kTopMore =
    "The view is drawn anew at each look, and its last line shows the keys: rows are marked and opened, sorted and "
    "turned around; 1, 2 and 3 choose the last 1, 10 or 60 seconds; h explains keys and columns. Without an answer the "
    "last view stays, and the view goes on when a daemon answers again.\n\n"
    "With --batch, each look is a block of plain text, as wide as COLUMNS says. With -o json, each look is a line: the "
    "daemon's document `metrics`, with totals and with the rates of 1, 10 and 60 seconds.\n\n"
    "Examples:\n"
    "  spdlctl top\n"
    "  spdlctl top imagenet-train --batch --interval 60 >> train.log\n"
    "  spdlctl -o json top --iterations 1 | jq .verdicts";

constexpr std::array<Command, 17> kCommands = {{
    {"bench", "attach as trainers and measure the loader", kBenchMore, &declare_bench},
    {"check", "check files and print every error as file:line: key: what is wrong and what is allowed",
     "The command needs no daemon. The exit code is 1 if any file has an error. For local data, lists and files beside "
     "it that are not there, or that this user can't read, a line with \"data\" follows; the exit code stays, since "
     "the "
     "daemon may run as another user.\n\n"
     "Example:\n"
     "  spdlctl check /etc/spdld/spdld.toml train.toml",
     &declare_check},
    {"describe", "show one pipeline: listing, stages, cache, tuning, rings, and its bottleneck",
     "The bottleneck is the part of the pipeline that limited it in the last ten seconds; see `spdlctl why --help`.\n\n"
     "  LISTING     how far the listing of the data set is.\n"
     "  CACHED      samples in the cache, out of all that it will keep.\n"
     "  JOB         how far the slowest rank of the job is in its epoch.\n"
     "  STARVED     time in which a trainer had room but no batch was ready.\n"
     "  FULL        time in which all slots were ready or held (back-pressure).\n"
     "  FREE, FILLING, READY, HELD  slots in each state.\n"
     "  READY MEAN  the average number of ready slots.\n"
     "  HIT RATE    share of the cache look-ups that found their sample.\n"
     "  FROM DISK   hits that were read from the cache's disk.\n"
     "  STALE       cached samples whose file had changed.\n"
     "  REFUSED     samples for which the cache had no room.\n"
     "  TUNED       decode threads, reads at once and batches ahead. Each number is as small as it can be without "
     "making trainers wait, unless the daemon's file pins it.\n\n"
     "With --watch, the view is redrawn in place, with rates and times left, and survives a restart of the daemon. "
     "Changing values come first. Lines for which the terminal has no room are left out until Ctrl-C, which shows the "
     "whole view and ends with exit code 0. With -o json, each look is one line.\n\n"
     "Examples:\n"
     "  spdlctl describe imagenet-train --watch\n"
     "  spdlctl -o json describe imagenet-train --watch --interval 10 >> train.jsonl",
     &declare_describe},
    {"doctor", "check this node, and say what to do", kDoctorMore, &declare_doctor},
    {"errors", "list samples that could not be used, what data sets miss, and why",
     "Equal errors of one sample are counted together; the last 1,000 are kept. FIRST and LAST say when such an error "
     "was met, and TIMES how often. KIND is \"damaged\", "
     "\"unsupported\" for a picture in a format that this build does not decode, or \"too_long\" for a sample that an "
     "output leaves out. If a pipeline has on_missing = "
     "\"warn\", a table above the errors lists what its data set misses. A private daemon leaves its errors behind for "
     "--last.\n\n"
     "With --follow, each new error is a line, and so is each error that was met again. The errors that were there "
     "before "
     "come first. One look prints at most 50 errors, the newest, below a line that counts the others. The command goes "
     "on "
     "when the daemon is restarted. Ctrl-C ends it with exit code 0. With -o json, each error is one line, and the "
     "count "
     "of others is {\"more\":N}.\n\n"
     "Examples:\n"
     "  spdlctl errors imagenet-train --follow\n"
     "  spdlctl -o json errors --follow --interval 10 >> errors.jsonl",
     &declare_errors},
    {"export", "write the listing of a pipeline's data set to a file",
     "The file is text. Its head holds the listing's fingerprint and the number of samples. Then each line holds one "
     "sample: its id, a tab and its name. In a name, a backslash is doubled, and bytes that are not printable UTF-8 "
     "are written as \\xNN.\n\n"
     "Uses of the listing in a pipeline file:\n"
     "  fingerprint = \"...\" in [source]  refuses the data set if its listing has another fingerprint.\n"
     "  include = \"FILE\" in [order]      takes only the samples in the file, whole or with lines removed.\n\n"
     "Example:\n"
     "  spdlctl export train.toml train.listing",
     &declare_export},
    {"ls", "list the pipelines",
     "A named pipeline that nobody has opened yet is \"available\".\n\n"
     "CPU is the pipeline's share of all pipelines' decoding time in the last ten seconds. If pipelines want "
     "more time than there is, they share it by WEIGHT (cpu_weight in the pipeline's file, or in the daemon's file).",
     &declare_list},
    {"ops", "list the operations and sources that a pipeline file may name, with their parameters",
     "The command needs no daemon.", &declare_operations},
    {"page", "open the daemon's status page in a browser",
     "The page shows pipelines with their rates and waits, what limits them, sessions, errors and the latest pictures. "
     "A private daemon begins to serve the page when this command asks for it. A service serves it where [http] of its "
     "file has a listen address and page = true.\n\n"
     "The command prints the page's address, with the token where this user may know it, and opens the page on a "
     "desktop. In a session of ssh it says how the page comes to the desktop's browser.\n\n"
     "Example:\n"
     "  spdlctl page --no-open",
     &declare_page},
    {"ping", "see whether the daemon answers", "", &declare_ping},
    {"samples", "tell which samples a step of a pipeline has, and for which rank",
     "The order decides the samples of a step. The command computes them, so that it answers for steps of the past and "
     "of the future alike, and nothing is recorded. Where a sample is bad, its substitute stands in the batch: "
     "`spdlctl errors` names such samples.\n\n"
     "For a name, the job that runs decides the ranks and the batch size. For a file, or where nothing runs, they "
     "are one rank and the pipeline's own, unless the options say otherwise; the command then lists the data set, and "
     "counts in no statistic.\n\n"
     "Examples:\n"
     "  spdlctl samples imagenet-train --epoch 3 --step 1200\n"
     "  spdlctl samples train.toml --epoch 3 --step 1200 --world-size 8 --rank 5 -o json",
     &declare_samples},
    {"show", "draw a sheet of a pipeline's samples, before and after its operations", kShowMore, &declare_show},
    {"status", "show the daemon: CPU, memory, cache, sessions, pipelines",
     "The table CACHED has one line for each field of each data set in the node's cache. USED says whether a pipeline "
     "has the data set open. Unused data sets make room for used ones. The table STORE has one line for each remote "
     "store that "
     "pipelines read from: RETRIED counts attempts that were made again, FAILED requests that ended with an error, and "
     "NOW those under way.",
     &declare_status},
    {"top", "watch pipelines, sessions and what limits them, live on a terminal", kTopMore, &declare_top},
    {"trace", "record what the threads do for a pipeline, as a file for Perfetto or Chrome",
     "The file is in Chrome's trace format: https://ui.perfetto.dev and chrome://tracing open it. It has each fetch "
     "and "
     "each decode by thread, the batches' ways from fetch to RELEASE as flows, waits as bars, and the lengths of "
     "queues "
     "and the states of slots as counters.\n\n"
     "The daemon makes one recording at a time, of one pipeline, and of about a million events; further ones are "
     "dropped, and counted. Ctrl-C ends the recording early and still writes the file. A recording slows the pipeline "
     "a "
     "little.\n\n"
     "Example:\n"
     "  spdlctl trace imagenet-train train.json --seconds 5",
     &declare_trace},
    {"warm", "fill the node's cache with a pipeline's samples, before the trainers need them",
     "The command takes one epoch of batches as a job of its own and returns them unread. The pipeline's `cache` "
     "says what is kept: with cache = \"encoded\" the bytes, with \"indexed\" bytes with an index, with \"packed\" "
     "JPEGs' coefficients, with \"decoded\" the pictures' planes. It shows its "
     "progress, "
     "and at the end what the cache has. If no daemon runs, it starts a private one, whose memory goes with it: a "
     "cache folder stays.\n\n"
     "Example:\n"
     "  spdlctl warm imagenet-train",
     &declare_warm},
    {"why", "say what limits a pipeline, and what each change would bring", kWhyMore, &declare_why},
}};

constexpr const char* kFooter =
    "Where spdlctl looks for the daemon:\n"
    "  --socket, else $SPDLD_SOCKET, else /run/spdld/spdld.sock, else this user's private daemon. Only `bench`, "
    "`export`, `samples`, `show` and `warm` start a private daemon.\n\n"
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
  ::unsetenv("SPDLD_REPLAY");  // it is meant for trainers: a command looks at the batches that really come
  try {
    return spdld::cli::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    return spdld::cli::fail(spdld::cli::kWrong, error.what());
  }
}
