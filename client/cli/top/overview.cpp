// The pipelines, and one pipeline's way from its source to its trainers.
#include <algorithm>

#include "client/cli/query.h"
#include "client/cli/state/verdict_text.h"
#include "client/cli/top/cells.h"
#include "client/cli/top/views.h"

namespace spdld::cli::top {
namespace {

using config::Json;

constexpr size_t kStationBarLeast = 6, kStationBarMost = 24;
constexpr size_t kStageLeast = 6;  // columns

// The names of all pipelines' stages, in the order of a sample's way.
std::vector<std::string> stage_names(const Sight& sight) {
  std::vector<std::string> names;
  for (const PipelineSight& pipeline : sight.pipelines) {
    auto behind = names.begin();
    for (const Json& stage : list_or_empty(*pipeline.rates, "stages")) {
      const std::string name = text_or_empty(stage, "name");
      auto at = std::find(names.begin(), names.end(), name);
      if (at == names.end()) at = names.insert(behind, name);
      behind = at + 1;
    }
  }
  return names;
}

std::string upper_case(std::string name) {
  for (char& letter : name)
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  return name;
}

std::vector<GridColumn> pipelines_columns(const std::vector<std::string>& stages) {
  std::vector<GridColumn> columns = {{"PIPELINE", Align::kLeft, 0, 16, true}, {"STATE", Align::kLeft, 5, 8},
                                     {"SAMPLES/S", Align::kRight, 0, 9},      {"BATCHES/S", Align::kRight, 10, 9},
                                     {"WAIT", Align::kRight, 2, 5},           {"FULL", Align::kRight, 9, 5}};
  for (const std::string& stage : stages) {
    const bool is_last = &stage == &stages.back();  // mostly the dearest one
    columns.push_back({upper_case(stage), Align::kRight, is_last ? size_t{3} : size_t{4}, kStageLeast});
  }
  for (GridColumn& column : std::vector<GridColumn>{{"READY", Align::kRight, 4, 5, false, true},
                                                    {"CPU", Align::kRight, 6, 5},
                                                    {"HIT", Align::kRight, 7, 5},
                                                    {"BAD", Align::kRight, 8, 4},
                                                    {"BATCHES", Align::kRight, 12, 9},
                                                    {"SAMPLES", Align::kRight, 11, 11},
                                                    {"LIMITER", Align::kLeft, 1, 10}})
    columns.push_back(std::move(column));
  return columns;
}

GridCell stage_cell(const Json& rates, std::string_view name) {
  const Json& stage = stage_of(rates, name);
  if (stage.empty()) return {"-"};
  const double busy = number_or_zero(stage, "busy");
  return {busy_text(busy, count_or_zero(stage, "lanes")), Style::kPlain, busy};
}

GridCell ready_cell(const Json& now) {
  const RingSums sums = ring_sums(now);
  const double part = ratio(static_cast<double>(sums.ready), static_cast<double>(sums.slots));
  GridCell cell(sums.slots > 0 ? level_text(sums.ready, sums.slots) : "-", Style::kGood, part);
  if (sums.slots > 0) cell.bar = part;
  return cell;
}

GridCell hit_cell(const Json& rates) {
  const auto rate = hit_rate(list_or_empty(rates, "caches"));
  return {rate ? percent_text(*rate) : "-", Style::kPlain, rate.value_or(-1)};
}

GridCell limiter_name_cell(const PipelineSight& pipeline) {
  const std::string limiter = text_or_empty(*pipeline.verdict, "limiter");
  if (limiter.empty() || limiter == "unknown") return {"-"};
  return {limiter, limiter_style(limiter)};
}

// A part of a sample's way with its bar.
struct Station {
  std::string name;
  double use;
  std::string text;
  Style style;
};

std::vector<Station> stations_of(const PipelineSight& pipeline) {
  std::vector<Station> stations;
  for (const Json& stage : list_or_empty(*pipeline.rates, "stages")) {
    const double busy = number_or_zero(stage, "busy");
    const uint64_t lanes = count_or_zero(stage, "lanes");
    const double use = ratio(busy, static_cast<double>(lanes));
    stations.push_back({text_or_empty(stage, "name"), use, busy_text(busy, lanes), use_style(use)});
  }
  const RingSums sums = ring_sums(*pipeline.now);
  if (sums.slots == 0) return stations;
  const size_t rings = list_or_empty(*pipeline.now, "rings").size();
  const double part = ratio(static_cast<double>(sums.ready), static_cast<double>(sums.slots));
  stations.push_back({rings > 1 ? "rings" : "ring", part, level_text(sums.ready, sums.slots), Style::kGood});
  return stations;
}

std::string limiter_title(const Json& verdict) {
  const std::string limiter = text_or_empty(verdict, "limiter");
  return limiter == "unknown" ? limiter : limiter + " (" + surety_text(number_or_zero(verdict, "confidence")) + ")";
}

}  // namespace

Grid pipelines_grid(const Sight& sight) {
  const std::vector<std::string> stages = stage_names(sight);
  Grid grid(pipelines_columns(stages));
  const double decoding = number_or_zero(*sight.node, "decode_busy");
  for (const PipelineSight& pipeline : sight.pipelines) {
    const Json &now = *pipeline.now, &rates = *pipeline.rates;
    const std::string state = text_or_empty(now, "state");
    const uint64_t bad = bad_of(now);
    const bool is_failed = state == "failed";
    std::vector<GridCell> cells = {
        GridCell(pipeline.name, is_failed ? Style::kBad : Style::kStrong),
        GridCell(state, state_style(state)),
        rate_cell(number_or_zero(rates, "samples_per_s")),
        rate_cell(number_or_zero(rates, "batches_per_s")),
        waiting_cell(number_or_zero(rates, "waiting")),
        share_cell(number_or_zero(rates, "full")),
    };
    for (const std::string& stage : stages) cells.push_back(stage_cell(rates, stage));
    for (GridCell& cell :
         std::vector<GridCell>{ready_cell(now), share_cell(ratio(number_or_zero(rates, "cpu"), decoding)),
                               hit_cell(rates), count_cell(bad, bad > 0 ? Style::kWarning : Style::kPlain),
                               count_cell(now, "batches"), count_cell(now, "samples"), limiter_name_cell(pipeline)})
      cells.push_back(std::move(cell));
    grid.add(pipeline.key, std::move(cells));
  }
  return grid;
}

Line way_line(const PipelineSight& pipeline, size_t columns) {
  const std::vector<Station> stations = stations_of(pipeline);
  if (stations.empty()) return line_of("no stages yet: " + text_or_empty(*pipeline.now, "state"), Style::kDim);
  const uint64_t trainers = ring_sums(*pipeline.now).trainers;
  std::string end = trainers > 0 ? "-> " + counted(trainers, "trainer") : "-> no trainer";
  size_t fixed = columns_of(end);
  for (const Station& station : stations) fixed += columns_of(station.name) + columns_of(station.text) + 4;
  if (fixed > columns) {
    fixed -= columns_of(end);
    end.clear();
  }
  const size_t room = (columns - std::min(columns, fixed)) / stations.size();
  const size_t bar = room < kStationBarLeast ? 0 : std::min(room, kStationBarMost);
  Line line;
  for (const Station& station : stations) {
    line.add(station.name + " ", Style::kStrong);
    if (bar > 0) add_bar(line, station.use, bar, station.style);
    line.add((bar > 0 ? " " : "") + station.text + "  ");
  }
  return line.add(end);
}

Lines verdict_lines(const PipelineSight& pipeline, size_t columns) {
  const Json& verdict = *pipeline.verdict;
  const std::string limiter = text_or_empty(verdict, "limiter");
  if (limiter.empty()) return {line_of("The daemon gives no verdict on it.", Style::kDim)};
  Lines lines;
  const std::string title = limiter_title(verdict) + ": ";
  for (const std::string& part : broken(title + text_or_empty(verdict, "sentence"), columns)) {
    const size_t named = lines.empty() && part.size() >= title.size() ? title.size() : 0;
    lines.push_back(line_of(part.substr(0, named), limiter_style(limiter)));
    lines.back().add(part.substr(named));
  }
  for (const Json& remedy : list_or_empty(verdict, "remedies")) {
    const std::string gain = forecast_text(remedy);
    const std::string forecast = gain.empty() ? "  " : padded(gain, 8, true) + "  ";
    std::string start = forecast;
    for (const std::string& part : broken(text_or_empty(remedy, "change"), columns - std::min(columns, start.size()))) {
      lines.push_back(line_of(start, Style::kStrong));
      lines.back().add(part);
      start.assign(forecast.size(), ' ');
    }
  }
  return lines;
}

Grid sessions_grid(const Sight& sight) {
  Grid grid({{"PIPELINE", Align::kLeft, 0, 16, true},
             {"RANK", Align::kRight, 0, 5},
             {"PID", Align::kRight, 0, 7},
             {"UID", Align::kRight, 6, 5},
             {"SAMPLES/S", Align::kRight, 0, 9},
             {"BATCHES/S", Align::kRight, 3, 9},
             {"WAIT", Align::kRight, 1, 5},
             {"HOLDS", Align::kRight, 4, 5},
             {"BEHIND", Align::kRight, 5, 6},
             {"BATCHES", Align::kRight, 7, 9},
             {"TRAINER", Align::kLeft, 2, 7}});
  for (const PipelineSight& pipeline : sight.pipelines)
    for (const TrainerSight& trainer : trainers_of(pipeline)) {
      const double batches_per_s = number_or_zero(*trainer.rates, "batches_per_s");
      const uint64_t rank = count_or_zero(*trainer.ring, "rank"), pid = count_or_zero(*trainer.now, "pid");
      grid.add(pipeline.key + " " + trainer.key,
               {GridCell(pipeline.name, Style::kStrong),
                GridCell(level_text(rank, count_or_zero(*trainer.ring, "world_size")), Style::kPlain,
                         static_cast<double>(rank)),
                GridCell(std::to_string(pid), Style::kPlain, static_cast<double>(pid)),
                GridCell(std::to_string(count_or_zero(*trainer.now, "uid")), Style::kPlain,
                         number_or_zero(*trainer.now, "uid")),
                rate_cell(batches_per_s * number_or_zero(*trainer.ring, "batch_size")), rate_cell(batches_per_s),
                waiting_cell(number_or_zero(*trainer.rates, "waited")), count_cell(*trainer.now, "leases"),
                count_cell(*trainer.now, "behind"), count_cell(*trainer.now, "batches"),
                GridCell(text_or_empty(*trainer.now, "name"))});
    }
  return grid;
}

}  // namespace spdld::cli::top
