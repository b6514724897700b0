// bench: from the command line to a plan, and from the report to the screen.
#include "client/cli/bench/bench.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <random>

#include "client/cli/bench/headspace.h"
#include "client/cli/format.h"
#include "client/cli/query.h"
#include "config/checks/load.h"

namespace spdld::cli {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kWorldSizeMax = 256;
constexpr uint64_t kCountMax = uint64_t{1} << 40;

struct Wishes {
  std::string target;  // FILE or NAME
  uint64_t epochs = 1;
  std::optional<uint64_t> batches;
  uint32_t world_size = 1;
  std::string group;
  std::string device;
  bool headspace = false;
  std::optional<double> trainer_ms, seconds;
};

constexpr int64_t kBatchTimeoutMs = 300000;
constexpr double kRowSeconds = 3, kRowSecondsMax = 3600;
constexpr double kTrainerMsMax = 3'600'000;

// One for all ranks, and another one at every run.
std::string fresh_group() {
  std::random_device random;
  return "bench:" + std::to_string(getpid()) + ":" + std::to_string(random());
}

std::string read_text(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(stream)), {});
  if (!stream) throw Failure(kWrong, "can't read " + file + ".");
  return text;
}

ExitCode headspace(const Globals& globals, const Wishes& wishes, const BenchPlan& plan) {
  if (wishes.batches || wishes.epochs != 1 || !wishes.group.empty()) {
    throw Failure(kUsage,
                  "--headspace runs its rows by time, in daemons of its own: --epochs, --batches and --group do not go "
                  "with it; --seconds says how long a row runs.");
  }
  const Headspace found = run_headspace(
      globals, plan, {.trainer_ms = wishes.trainer_ms.value_or(0), .seconds = wishes.seconds.value_or(kRowSeconds)});
  print(globals.json() ? headspace_json(found) : headspace_text(found, page_of_stdout()));
  return found.whole() ? kFine : kWrong;
}

ExitCode bench(const Globals& globals, const Wishes& wishes) {
  BenchPlan plan = plan_for(globals, wishes.target);
  if (!wishes.group.empty()) plan.group = wishes.group;
  plan.device = wishes.device;
  plan.world_size = wishes.world_size;
  plan.epochs = wishes.epochs;
  plan.batches_max = wishes.batches.value_or(0);
  if (wishes.headspace) return headspace(globals, wishes, plan);
  if (wishes.trainer_ms || wishes.seconds)
    throw Failure(kUsage, "--trainer-ms and --seconds belong to --headspace: give that too.");
  const BenchReport report = run_bench(plan);
  print(globals.json() ? report_json(report) : report_text(report, page_of_stdout()));
  return kFine;
}

void declare_bench(config::Arguments command, const Globals& globals, RunCommand& run) {
  const auto wishes = std::make_shared<Wishes>();
  command.word("PIPELINE", wishes->target, "a pipeline file (.toml, .json) or the name of a pipeline");
  command.number("--epochs", wishes->epochs, 1, kCountMax, "N",
                 "how many epochs to run, at most as many as the pipeline has");
  command.number("--batches", wishes->batches, 1, kCountMax, "N",
                 "stop each rank after this many batches (default: at the end of the epochs)");
  command.number("--world-size", wishes->world_size, 1, kWorldSizeMax, "W",
                 "how many ranks to run, each in a process of its own, at most 256");
  command.text("--group", wishes->group, "G", "the id of the training job (default: a new id)");
  command.text("--device", wishes->device, "D",
               "where the ranks take batches: cpu, pinned, cuda, cuda:N (default: as the pipeline says)");
  command.flag("--headspace", wishes->headspace,
               "measure the parts of the pipeline alone, and say what limits it and what would help");
  command.number("--trainer-ms", wishes->trainer_ms, 0.001, kTrainerMsMax, "X",
                 "with --headspace: the trainer's own time for a batch, as a run with SPDLD_REPLAY=1 tells it");
  command.number("--seconds", wishes->seconds, 0.02, kRowSecondsMax, "S",
                 "with --headspace: how long each row runs (default 3)");
  run = [&globals, wishes] { return bench(globals, *wishes); };
}

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

}  // namespace

bool is_file_name(const std::string& target) {
  return target.ends_with(".toml") || target.ends_with(".json") || target.find('/') != std::string::npos;
}

BenchPlan plan_for(const Globals& globals, const std::string& target) {
  BenchPlan plan;
  plan.pipeline = target;
  plan.socket = globals.socket;
  plan.group = fresh_group();
  plan.timeout_ms = globals.timeout_ms.value_or(kBatchTimeoutMs);
  if (!is_file_name(target)) return plan;
  const auto loaded = config::load_pipeline_file(target);
  if (!loaded) throw Failure(kWrong, loaded.sentences());
  plan.pipeline = loaded.value->name;
  plan.spec = read_text(target);
  plan.spec_is_json = target.ends_with(".json");
  plan.spec_folder = fs::absolute(target).parent_path().string();
  return plan;
}

Command bench_command() { return {"attach as trainers and measure the loader", kBenchMore, &declare_bench}; }

}  // namespace spdld::cli
