// warm: fills the node's cache with what a pipeline keeps, by one epoch of a job that nobody trains on.
#include <algorithm>
#include <memory>

#include "client/cli/bench/bench.h"
#include "client/cli/format.h"
#include "client/cli/query.h"
#include "client/cli/table.h"

namespace spdld::cli {
namespace {

using config::Json;

void refuse_without_cache(const Json& describe) {
  const Json& cache = table_or_empty(describe, "cache");
  if (text_or_empty(cache, "form") != "off") return;
  throw Failure(kWrong, "nothing of this pipeline is kept: " + text_or_empty(cache, "why") + ".");
}

std::string kept_text(const Json& field, uint64_t taken) {
  const uint64_t in_memory = count_or_zero(field, "memory_entries"), on_disk = count_or_zero(field, "disk_entries");
  std::string text = count_text(std::min(std::max(in_memory, on_disk), taken)) + " of " + count_text(taken) +
                     " samples: " + count_text(in_memory) + " in memory (" +
                     bytes_text(number_or_zero(field, "memory_bytes")) + ")";
  if (on_disk > 0)
    text += ", " + count_text(on_disk) + " on disk (" + bytes_text(number_or_zero(field, "disk_bytes")) + ")";
  return text;
}

ExitCode warm(const Globals& globals, const std::string& target) {
  const BenchPlan plan = plan_for(globals, target);
  const BenchReport report = run_bench(plan);
  const Json describe = ask(globals, "describe", plan.pipeline);
  refuse_without_cache(describe);
  const Json& cache = table_or_empty(describe, "cache");
  if (globals.json()) {
    Json document = {{"pipeline", plan.pipeline}, {"samples", report.images}, {"seconds", report.seconds}};
    document["cache"] = cache;
    print_json(document);
    return kFine;
  }
  Facts facts;
  facts.add("pipeline", plan.pipeline);
  facts.add("read", count_text(report.images) + " samples in " + decimal_text(report.seconds, 1) + " s");
  for (const auto& field : list_or_empty(cache, "fields"))
    facts.add("cached " + text_or_empty(field, "field") + ", " + text_or_empty(field, "form"),
              kept_text(field, count_or_zero(cache, "taken")));
  print(facts.text(page_of_stdout()));
  return kFine;
}

void declare_warm(config::Arguments command, const Globals& globals, RunCommand& run) {
  const auto target = std::make_shared<std::string>();
  command.word("PIPELINE", *target, "a pipeline file (.toml, .json) or the name of a pipeline");
  run = [&globals, target] { return warm(globals, *target); };
}

constexpr const char* kWarmMore =
    "The command takes one epoch of batches as a job of its own and returns them unread. The pipeline's `cache` says "
    "what is kept: with cache = \"encoded\" the bytes, with \"indexed\" bytes with an index, with \"packed\" JPEGs' "
    "coefficients, with \"decoded\" the pictures' planes. It shows its progress, and at the end what the cache has. If "
    "no daemon runs, it starts a private one, whose memory goes with it: a cache folder stays.\n\n"
    "Example:\n"
    "  spdlctl warm imagenet-train";

}  // namespace

Command warm_command() {
  return {"fill the node's cache with a pipeline's samples, before the trainers need them", kWarmMore, &declare_warm};
}

}  // namespace spdld::cli
