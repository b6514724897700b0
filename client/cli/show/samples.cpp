// samples: which samples a step of a pipeline has, computed from its order, whether anybody took the step or not.
#include <chrono>
#include <memory>
#include <optional>

#include "client/cli/bench/bench.h"
#include "client/cli/format.h"
#include "client/cli/query.h"
#include "client/cli/show/looking.h"
#include "client/cli/signals.h"
#include "client/cli/table.h"

namespace spdld::cli {
namespace {

using config::Json;
using std::chrono::steady_clock;

constexpr size_t kStepRowsMax = size_t{1} << 24;
constexpr double kLookS = 0.05;
constexpr int64_t kDrawnMs = 60'000;

struct SamplesWishes {
  std::string pipeline;
  uint64_t epoch = 0, step = 0, batch_size = 0;
  std::optional<uint64_t> rank, world_size;
};

// Asks about the running pipeline. Where no pipeline runs, this opens one for looking, and asks about that one.
class Ledger {
 public:
  Ledger(const Globals& globals, const SamplesWishes& wishes) : globals_(globals), wishes_(wishes) {
    if (is_file_name(wishes.pipeline)) open();
  }

  // Part of a rank's samples, from this one on.
  Json ask_for(uint64_t rank, uint64_t from) {
    const std::string words = "step " + std::to_string(wishes_.epoch) + " " + std::to_string(wishes_.step) + " " +
                              std::to_string(rank) + " " + std::to_string(wishes_.world_size.value_or(0)) + " " +
                              std::to_string(wishes_.batch_size) + " " + std::to_string(from);
    const auto until = steady_clock::now() + std::chrono::milliseconds(globals_.timeout_ms.value_or(kDrawnMs));
    while (true) {
      Json answer = answer_to(words);
      if (flag_or_false(answer, "is_drawn")) return answer;
      if (steady_clock::now() > until)
        throw Failure(kTimedOut, "the order of epoch " + std::to_string(wishes_.epoch) + " is still being drawn.");
      const Signals signals;
      signals.wait(kLookS);
      if (signals.end_asked()) throw Failure(kWrong, "the command was ended before the order was drawn.");
    }
  }

 private:
  void open() {
    held_ = look_at(globals_, wishes_.pipeline, "samples", progress_);
    progress_.clear();
  }

  Json answer_to(const std::string& words) {
    if (held_) return ask_of(globals_, *held_, "samples", words);
    try {
      return ask(globals_, "samples", wishes_.pipeline + " " + words);
    } catch (const NotFound&) {
      open();
    }
    return ask_of(globals_, *held_, "samples", words);
  }

  const Globals& globals_;
  const SamplesWishes& wishes_;
  StderrProgress progress_;
  std::unique_ptr<Loader> held_;
};

// The rows of one rank are added; the last answer is returned.
Json add_rank(Ledger& ledger, uint64_t rank, Json& rows) {
  uint64_t next = 0;
  while (true) {
    Json answer = ledger.ask_for(rank, next);
    const uint64_t before = next, count = count_at(answer, "count");
    for (const Json& sample : list_at(answer, "samples"))
      rows.push_back({{"rank", rank},
                      {"row", next++},
                      {"id", count_at(sample, "id")},
                      {"name", sample.find("name") ? *sample.find("name") : Json("")}});
    if (next >= count) return answer;
    if (next == before) throw Failure(kWrong, "the daemon answered without samples.");
    if (rows.size() > kStepRowsMax)
      throw Failure(kWrong, "the step has more samples than can be shown: give a --rank.");
  }
}

ExitCode samples(const Globals& globals, const SamplesWishes& wishes) {
  Ledger ledger(globals, wishes);
  Json rows = Json::array();
  const uint64_t first = wishes.rank.value_or(0);
  const Json head = add_rank(ledger, first, rows);
  const uint64_t world_size = count_at(head, "world_size");
  if (world_size > kRanksMax) throw Failure(kWrong, "the daemon answered with too many ranks.");
  if (!wishes.rank)
    for (uint64_t rank = 1; rank < world_size; rank++) add_rank(ledger, rank, rows);
  if (globals.json()) {
    Json document = {{"pipeline", text_at(head, "pipeline")},
                     {"fingerprint", text_at(head, "fingerprint")},
                     {"epoch", wishes.epoch},
                     {"step", wishes.step},
                     {"steps_per_epoch", count_at(head, "steps_per_epoch")},
                     {"world_size", world_size},
                     {"batch_size", count_at(head, "batch_size")}};
    document["samples"] = std::move(rows);
    print_json(document);
    return kFine;
  }
  Table table({{"RANK", Align::kRight},
               {"ROW", Align::kRight},
               {"SAMPLE", Align::kRight},
               {"NAME", Align::kLeft, Role::kWords}});
  for (const Json& row : rows)
    table.add({std::to_string(count_at(row, "rank")), std::to_string(count_at(row, "row")),
               std::to_string(count_at(row, "id")), text_at(row, "name")});
  print(text_at(head, "pipeline") + ", epoch " + std::to_string(wishes.epoch) + ", step " +
        std::to_string(wishes.step) + " of " + std::to_string(count_at(head, "steps_per_epoch")) + ", " +
        counted(world_size, "rank") + " with batches of " + std::to_string(count_at(head, "batch_size")) + "\n\n" +
        (table.empty() ? "no samples for this rank\n" : table.text(page_of_stdout())));
  return kFine;
}

void declare_samples(config::Arguments command, const Globals& globals, RunCommand& run) {
  const auto wishes = std::make_shared<SamplesWishes>();
  command.word("PIPELINE", wishes->pipeline, "a pipeline's name, as `spdlctl ls` shows it, or its file (.toml)");
  command.number("--epoch", wishes->epoch, 0, kPlaceMax, "E", "the epoch, counted from 0");
  command.number("--step", wishes->step, 0, kPlaceMax, "N", "the step, counted from 0");
  command.number("--rank", wishes->rank, 0, kRanksMax, "R", "only this rank's samples, counted from 0");
  command.number("--world-size", wishes->world_size, 1, kRanksMax, "W",
                 "how many ranks share the data (default: as the job that runs, else 1)");
  command.number("--batch-size", wishes->batch_size, 1, kPlaceMax, "B",
                 "a rank's samples in a step (default: as the job that runs, else as the pipeline says)");
  run = [&globals, wishes] { return samples(globals, *wishes); };
}

constexpr const char* kSamplesMore =
    "The order decides the samples of a step. The command computes them, so that it answers for steps of the past and "
    "of the future alike, and nothing is recorded. Where a sample is bad, its substitute stands in the batch: `spdlctl "
    "errors` names such samples.\n\n"
    "For a name, the job that runs decides the ranks and the batch size. For a file, or where nothing runs, they are "
    "one rank and the pipeline's own, unless the options say otherwise; the command then lists the data set, and "
    "counts in no statistic.\n\n"
    "Examples:\n"
    "  spdlctl samples imagenet-train --epoch 3 --step 1200\n"
    "  spdlctl samples train.toml --epoch 3 --step 1200 --world-size 8 --rank 5 -o json";

}  // namespace

Command samples_command() {
  return {"tell which samples a step of a pipeline has, and for which rank", kSamplesMore, &declare_samples};
}

}  // namespace spdld::cli
