// The rows of bench --headspace as a table and as JSON.
#include <algorithm>

#include "client/cli/bench/headspace.h"
#include "client/cli/table.h"
#include "config/text/json.h"

namespace spdld::cli {
namespace {

const char* subject_name(HeadspaceSubject subject) {
  switch (subject) {
    case HeadspaceSubject::kHandOver:
      return "hand-over";
    case HeadspaceSubject::kFetch:
      return "fetch";
    case HeadspaceSubject::kFetchAll:
      return "fetch-all";
    case HeadspaceSubject::kOutputs:
      return "outputs";
    case HeadspaceSubject::kWhole:
      return "whole";
    case HeadspaceSubject::kCache:
      return "cache";
    case HeadspaceSubject::kThreads:
      return "threads";
  }
  return "";
}

template <typename Value>
double median(const std::vector<HeadspaceRound>& rounds, Value value) {
  std::vector<double> values;
  for (const HeadspaceRound& round : rounds) values.push_back(value(round));
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

double of_whole(const Headspace& headspace, const HeadspaceRow& row) {
  const HeadspaceRow* whole = headspace.whole();
  return whole && whole->images_per_s() > 0 ? row.images_per_s() / whole->images_per_s() : 0;
}

std::string ratio_text(double ratio) { return decimal_text(ratio, ratio < 10 ? 2 : 0) + " x"; }

std::string what_text(const HeadspaceRow& row) {
  if (!row.fault.empty()) return "did not run: " + row.fault;
  if (row.subject != HeadspaceSubject::kCache) return row.what;
  return row.what + "; " + count_text(std::min(row.kept, row.to_keep)) + " of " + counted(row.to_keep, "sample") +
         " kept, " + bytes_text(row.kept_bytes);
}

config::Json row_json(const Headspace& headspace, const HeadspaceRow& row) {
  config::Json json = {
      {"kind", subject_name(row.subject)}, {"name", row.name}, {"what", row.what}, {"threads", row.threads}};
  if (!row.fault.empty()) {
    json["fault"] = row.fault;
    return json;
  }
  json["images_per_s"] = row.images_per_s();
  json["images_per_s_min"] = row.slowest();
  json["images_per_s_max"] = row.fastest();
  json["of_whole"] = of_whole(headspace, row);
  json["cpu_ms_per_image"] = row.cpu_ms();
  json["cores"] = row.cores();
  json["decode_busy"] = row.busy();
  if (row.subject != HeadspaceSubject::kCache) return json;
  json["cache"] = row.form;
  json["samples_kept"] = std::min(row.kept, row.to_keep);
  json["samples_to_keep"] = row.to_keep;
  json["bytes_kept"] = row.kept_bytes;
  return json;
}

}  // namespace

double HeadspaceRow::images_per_s() const {
  return median(rounds, [](const HeadspaceRound& round) { return round.images_per_s; });
}
double HeadspaceRow::cpu_ms() const {
  return median(rounds, [](const HeadspaceRound& round) { return round.cpu_ms; });
}
double HeadspaceRow::cores() const {
  return median(rounds, [](const HeadspaceRound& round) { return round.cores; });
}
double HeadspaceRow::busy() const {
  return median(rounds, [](const HeadspaceRound& round) { return round.busy; });
}
double HeadspaceRow::slowest() const {
  double least = rounds.empty() ? 0 : rounds.front().images_per_s;
  for (const HeadspaceRound& round : rounds) least = std::min(least, round.images_per_s);
  return least;
}
double HeadspaceRow::fastest() const {
  double most = 0;
  for (const HeadspaceRound& round : rounds) most = std::max(most, round.images_per_s);
  return most;
}

const HeadspaceRow* Headspace::whole() const {
  const auto found = std::find_if(rows.begin(), rows.end(), [](const HeadspaceRow& row) {
    return row.subject == HeadspaceSubject::kWhole && row.ran();
  });
  return found == rows.end() ? nullptr : &*found;
}

double Headspace::loader_images_per_s() const {
  double least = whole() ? whole()->images_per_s() : 0;
  for (const HeadspaceRow& row : rows) {
    if (row.subject == HeadspaceSubject::kFetchAll && row.ran()) least = std::min(least, row.images_per_s());
  }
  return least;
}

std::string headspace_text(const Headspace& headspace, const Page& page) {
  Facts facts;
  facts.add("pipeline", headspace.pipeline);
  facts.add("measured", "with " + counted(headspace.threads, "decode thread") + ", " + count_text(headspace.measured) +
                            " of " + counted(headspace.samples, "sample"));
  Table table({{"RUNS", Align::kLeft, Role::kKey},
               {"IMAGES/S", Align::kRight},
               {"OF WHOLE", Align::kRight},
               {"SLOWEST", Align::kRight},
               {"FASTEST", Align::kRight},
               {"CPU MS", Align::kRight},
               {"CORES", Align::kRight},
               {"BUSY", Align::kRight},
               {"WHAT", Align::kLeft, Role::kWords}});
  for (const HeadspaceRow& row : headspace.rows) {
    if (!row.ran()) {
      table.add(
          {Cell(row.name, Style::kStrong), "-", "-", "-", "-", "-", "-", "-", Cell(what_text(row), Style::kWarning)});
      continue;
    }
    table.add({Cell(row.name, Style::kStrong), Cell(text::rate_text(row.images_per_s()), Style::kStrong),
               ratio_text(of_whole(headspace, row)), text::rate_text(row.slowest()), text::rate_text(row.fastest()),
               decimal_text(row.cpu_ms(), 3), decimal_text(row.cores(), 1), percent_text(row.busy()), what_text(row)});
  }
  std::string text = facts.text(page) + "\n" + table.text(page);
  for (const std::string& sentence : recommendation(headspace)) {
    text += "\n";
    for (const std::string& line : wrapped(sentence, page.columns)) text += line + "\n";
  }
  return text;
}

std::string headspace_json(const Headspace& headspace) {
  config::Json rows = config::Json::array();
  for (const HeadspaceRow& row : headspace.rows) rows.push_back(row_json(headspace, row));
  config::Json document = {{"pipeline", headspace.pipeline},
                           {"threads", headspace.threads},
                           {"samples", headspace.samples},
                           {"samples_measured", headspace.measured},
                           {"step_samples", headspace.step_samples}};
  if (headspace.trainer_ms > 0) {
    document["trainer_ms"] = headspace.trainer_ms;
    document["trainer_images_per_s"] = headspace.demand();
  }
  document["rows"] = std::move(rows);
  document["recommendation"] = recommendation(headspace);
  return document.dump(2) + "\n";
}

}  // namespace spdld::cli
