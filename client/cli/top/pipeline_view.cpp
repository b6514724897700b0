// One pipeline with all of its parts.
#include "client/cli/query.h"
#include "client/cli/top/cells.h"
#include "client/cli/top/views.h"

namespace spdld::cli::top {
namespace {

using config::Json;

Grid stages_grid(const PipelineSight& pipeline) {
  Grid grid({{"STAGE", Align::kLeft, 0, 8, true},
             {"SAMPLES/S", Align::kRight, 0, 9},
             {"BYTES/S", Align::kRight, 5, 10},
             {"BUSY", Align::kRight, 0, 6, false, true},
             {"QUEUE", Align::kRight, 3, 5},
             {"MEAN", Align::kRight, 4, 7},
             {"P50", Align::kRight, 1, 7},
             {"P90", Align::kRight, 6, 7},
             {"P99", Align::kRight, 2, 7},
             {"WAIT P50", Align::kRight, 3, 8},
             {"WAIT P99", Align::kRight, 7, 8},
             {"FAILED", Align::kRight, 8, 6}});
  const auto totals = list_or_empty(*pipeline.now, "stages").values();
  size_t number = 0;
  for (const Json& stage : list_or_empty(*pipeline.rates, "stages")) {
    const uint64_t lanes = count_or_zero(stage, "lanes");
    const double busy = number_or_zero(stage, "busy"), use = ratio(busy, static_cast<double>(lanes));
    const uint64_t failures = number < totals.size() ? count_or_zero(totals[number], "failures") : 0;
    grid.add(std::to_string(number++),
             {GridCell(text_or_empty(stage, "name"), Style::kStrong), rate_cell(number_or_zero(stage, "samples_per_s")),
              bytes_cell(number_or_zero(stage, "bytes_per_s"), "/s"),
              bar_cell(busy_text(busy, lanes), use, use_style(use)), count_cell(stage, "waiting"),
              time_cell(stage, "mean_us"), time_cell(stage, "p50_us"), time_cell(stage, "p90_us"),
              time_cell(stage, "p99_us"), time_cell(stage, "wait_p50_us"), time_cell(stage, "wait_p99_us"),
              GridCell(count_text(failures), failures > 0 ? Style::kWarning : Style::kPlain)});
  }
  return grid;
}

// The time of an operation of the daemon's is measured for one sample in many, so its share of a sample's time is what
// it tells.
Grid operations_grid(const PipelineSight& pipeline) {
  Grid grid({{"OUTPUT", Align::kLeft, 1, 8, true},
             {"OPERATION", Align::kLeft, 0, 12, true},
             {"SHARE", Align::kRight, 0, 5, false, true},
             {"A SAMPLE", Align::kRight, 2, 8}});
  const auto each_s = [](const Json& operation) {
    return ratio(number_or_zero(operation, "busy"), number_or_zero(operation, "samples_per_s"));
  };
  double all_s = 0;
  for (const Json& operation : list_or_empty(*pipeline.rates, "operations")) all_s += each_s(operation);
  size_t number = 0;
  for (const Json& operation : list_or_empty(*pipeline.rates, "operations")) {
    const double share = ratio(each_s(operation), all_s);
    grid.add(std::to_string(number++),
             {GridCell(text_or_empty(operation, "output"), Style::kStrong), GridCell(text_or_empty(operation, "op")),
              bar_cell(percent_text(share), share, Style::kGood),
              GridCell(each_s(operation) > 0 ? duration_text(each_s(operation)) : "-")});
  }
  return grid;
}

Grid caches_grid(const PipelineSight& pipeline) {
  Grid grid({{"CACHE", Align::kLeft, 0, 8, true},
             {"FORM", Align::kLeft, 2, 8},
             {"HIT", Align::kRight, 0, 5, false, true},
             {"SAMPLES", Align::kRight, 1, 7},
             {"MEMORY", Align::kRight, 0, 9},
             {"DISK", Align::kRight, 3, 9},
             {"HITS/S", Align::kRight, 4, 7},
             {"FROM DISK/S", Align::kRight, 5, 11},
             {"MISSES/S", Align::kRight, 4, 8}});
  size_t number = 0;
  for (const Json& cache : list_or_empty(*pipeline.rates, "caches")) {
    const double in_memory = number_or_zero(cache, "memory_hits_per_s"),
                 on_disk = number_or_zero(cache, "disk_hits_per_s");
    const double misses = number_or_zero(cache, "misses_per_s");
    const double rate = ratio(in_memory + on_disk, in_memory + on_disk + misses);
    const bool is_used = in_memory + on_disk + misses > 0;
    grid.add(std::to_string(number++),
             {GridCell(text_or_empty(cache, "field"), Style::kStrong), GridCell(text_or_empty(cache, "form")),
              bar_cell(is_used ? percent_text(rate) : "-", rate, Style::kGood), count_cell(cache, "memory_entries"),
              bytes_cell(number_or_zero(cache, "memory_bytes")), bytes_cell(number_or_zero(cache, "disk_bytes")),
              rate_cell(in_memory + on_disk), rate_cell(on_disk), rate_cell(misses)});
  }
  return grid;
}

Grid rings_grid(const PipelineSight& pipeline) {
  Grid grid({{"RANK", Align::kRight, 0, 5, true},
             {"GROUP", Align::kLeft, 6, 8},
             {"SAMPLES/S", Align::kRight, 0, 9},
             {"READY", Align::kRight, 0, 5, false, true},
             {"FILLING", Align::kRight, 4, 7},
             {"HELD", Align::kRight, 3, 4},
             {"FREE", Align::kRight, 5, 4},
             {"DEPTH", Align::kRight, 7, 5},
             {"READY MEAN", Align::kRight, 8, 10},
             {"FULL", Align::kRight, 2, 5},
             {"FILL P50", Align::kRight, 3, 8},
             {"HELD P50", Align::kRight, 4, 8},
             {"BATCHES", Align::kRight, 9, 9},
             {"SLOT", Align::kRight, 10, 9}});
  size_t number = 0;
  for (const RingSight& ring : rings_of(pipeline)) {
    const Json &now = *ring.now, &rates = *ring.rates;
    const uint64_t ready = count_or_zero(now, "ready"), slots = count_or_zero(now, "slots");
    const bool is_shared = flag_or_false(now, "shared");
    grid.add(std::to_string(number++),
             {GridCell(level_text(count_or_zero(now, "rank"), count_or_zero(now, "world_size"))),
              GridCell(is_shared ? "(shared)" : text_or_empty(now, "group")),
              rate_cell(number_or_zero(rates, "samples_per_s")),
              bar_cell(level_text(ready, slots), ratio(static_cast<double>(ready), static_cast<double>(slots)),
                       Style::kGood),
              count_cell(now, "filling"), count_cell(now, "held"), count_cell(now, "free"),
              GridCell(level_text(count_or_zero(now, "depth"), count_or_zero(now, "depth_max"))),
              GridCell(decimal_text(number_or_zero(rates, "ready_mean"), 1)), share_cell(number_or_zero(rates, "full")),
              time_cell(rates, "fill_p50_us"), time_cell(rates, "held_p50_us"), count_cell(now, "batches"),
              bytes_cell(number_or_zero(now, "slot_bytes"))});
  }
  return grid;
}

Grid trainers_grid(const PipelineSight& pipeline) {
  Grid grid({{"RANK", Align::kRight, 0, 5, true},
             {"PID", Align::kRight, 0, 7, true},
             {"BATCHES/S", Align::kRight, 0, 9},
             {"WAIT", Align::kRight, 0, 5, false, true},
             {"HOLDS", Align::kRight, 3, 5},
             {"BEHIND", Align::kRight, 4, 6},
             {"BATCHES", Align::kRight, 5, 9},
             {"TRAINER", Align::kLeft, 1, 7}});
  for (const TrainerSight& trainer : trainers_of(pipeline)) {
    const double waited = number_or_zero(*trainer.rates, "waited");
    grid.add(trainer.key,
             {GridCell(level_text(count_or_zero(*trainer.ring, "rank"), count_or_zero(*trainer.ring, "world_size"))),
              GridCell(std::to_string(count_or_zero(*trainer.now, "pid"))),
              rate_cell(number_or_zero(*trainer.rates, "batches_per_s")),
              bar_cell(percent_text(waited), waited, waiting_cell(waited).style), count_cell(*trainer.now, "leases"),
              count_cell(*trainer.now, "behind"), count_cell(*trainer.now, "batches"),
              GridCell(text_or_empty(*trainer.now, "name"))});
  }
  return grid;
}

std::string share_of_decoding(const Sight& sight, const Json& rates) {
  const double cpu = number_or_zero(rates, "cpu");
  return decimal_text(cpu, 2) + " cores, " + percent_text(ratio(cpu, number_or_zero(*sight.node, "decode_busy"))) +
         " of all decoding";
}

std::string bad_text(const Json& now) {
  return counted(bad_of(now), "bad sample") + ", " + count_text(count_or_zero(now, "substituted")) + " replaced, " +
         count_text(count_or_zero(now, "masked")) + " masked";
}

std::string dropped_text(const Json& now) {
  return counted(count_or_zero(now, "dropped"), "sample") + " dropped by user code, " +
         count_text(count_or_zero(now, "absent")) + " absent";
}

}  // namespace

std::vector<Section> pipeline_sections(const Sight&, const PipelineSight& pipeline) {
  std::vector<Section> sections;
  const auto add = [&](std::string title, Grid grid) {
    if (!grid.empty()) sections.push_back({std::move(title), std::move(grid)});
  };
  add("stages", stages_grid(pipeline));
  add("operations", operations_grid(pipeline));
  add("caches", caches_grid(pipeline));
  add("rings", rings_grid(pipeline));
  add("trainers", trainers_grid(pipeline));
  return sections;
}

Facts pipeline_facts(const Sight& sight, const PipelineSight& pipeline) {
  const Json &now = *pipeline.now, &rates = *pipeline.rates;
  const std::string state = text_or_empty(now, "state"), store = text_or_empty(now, "store");
  Facts facts;
  facts.add("pipeline", Cell(pipeline.name, Style::kStrong));
  facts.add("state", Cell(state, state_style(state)));
  facts.add("rate", text::rate_text(number_or_zero(rates, "samples_per_s")) + " samples/s, " +
                        text::rate_text(number_or_zero(rates, "batches_per_s")) + " batches/s; the trainer waits " +
                        percent_text(number_or_zero(rates, "waiting")) + ", the ring is full " +
                        percent_text(number_or_zero(rates, "full")) + " of the time");
  facts.add("cpu", share_of_decoding(sight, rates));
  facts.add("so far", counted(count_or_zero(now, "samples"), "sample") + " in " +
                          counted(count_or_zero(now, "batches"), "batch", "batches"));
  if (bad_of(now) > 0) facts.add("bad", Cell(bad_text(now), Style::kWarning));
  if (count_or_zero(now, "dropped") > 0) facts.add("dropped", dropped_text(now));
  if (!store.empty()) facts.add("store", store);
  return facts;
}

Lines pipeline_lines(const Sight& sight, const PipelineSight& pipeline, size_t columns) {
  const Json &now = *pipeline.now, &rates = *pipeline.rates;
  const std::string state = text_or_empty(now, "state");
  Lines lines;
  const auto add = [&](const std::string& text, Style style) {
    for (const std::string& part : broken(text, columns)) lines.push_back(line_of(part, style));
  };
  add(text::rate_text(number_or_zero(rates, "samples_per_s")) + " samples/s  " +
          text::rate_text(number_or_zero(rates, "batches_per_s")) + " batches/s  waiting " +
          percent_text(number_or_zero(rates, "waiting")) + "  full " + percent_text(number_or_zero(rates, "full")),
      Style::kStrong);
  add_at_end(lines.back(), state, columns, state_style(state));
  add("cpu " + share_of_decoding(sight, rates) + "; " + counted(count_or_zero(now, "samples"), "sample") + " so far",
      Style::kPlain);
  if (bad_of(now) > 0) add(bad_text(now), Style::kWarning);
  if (count_or_zero(now, "dropped") > 0) add(dropped_text(now), Style::kPlain);
  lines.push_back(way_line(pipeline, columns));
  lines.emplace_back();
  for (Line& line : verdict_lines(pipeline, columns)) lines.push_back(std::move(line));
  for (const Section& section : pipeline_sections(sight, pipeline)) {
    lines.emplace_back();
    for (Line& line : section.grid.lines(columns, {})) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace spdld::cli::top
