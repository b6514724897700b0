// bench: from the command line to a plan, and from the report to the screen.
#include "client/cli/bench.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <random>

#include "client/cli/format.h"
#include "client/cli/query.h"
#include "config/load.h"

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
};

constexpr int64_t kBatchTimeoutMs = 300000;

// One for all ranks, and another one at every run.
std::string fresh_group() {
  std::random_device random;
  return "bench:" + std::to_string(getpid()) + ":" + std::to_string(random());
}

bool is_file_name(const std::string& target) {
  return target.ends_with(".toml") || target.ends_with(".json") || target.find('/') != std::string::npos;
}

std::string read_text(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(stream)), {});
  if (!stream) throw Failure(kWrong, "can't read " + file + ".");
  return text;
}

ExitCode bench(const Globals& globals, const Wishes& wishes) {
  BenchPlan plan = plan_for(globals, wishes.target);
  if (!wishes.group.empty()) plan.group = wishes.group;
  plan.device = wishes.device;
  plan.world_size = wishes.world_size;
  plan.epochs = wishes.epochs;
  plan.batches_max = wishes.batches.value_or(0);
  const BenchReport report = run_bench(plan);
  print(globals.json() ? report_json(report) : report_text(report, page_of_stdout()));
  return kFine;
}

}  // namespace

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

void declare_bench(config::Arguments command, const Globals& globals, Run& run) {
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
  run = [&globals, wishes] { return bench(globals, *wishes); };
}

}  // namespace spdld::cli
