#include "daemon/node/reports/metrics_document.h"

#include <algorithm>

#include "daemon/metrics/document.h"
#include "daemon/node/reports/measuring.h"

namespace spdld::node {
namespace {

using config::Json;

constexpr uint32_t kJudgedWindowS = 10;

const Pipelines::Entry* entry_of(const State& state, uint64_t number) {
  for (const auto& [key, entry] : state.pipelines.entries())
    if (entry->number == number) return entry.get();
  return nullptr;
}

void hide(const Sight& sight, metrics::RingFigures& ring) {
  if (sight.of_user(static_cast<uid_t>(ring.uid))) return;
  ring.group.clear();
  ring.readers.clear();
}

void keep_visible(const State& state, const Sight& sight, std::string_view name, metrics::NodeFigures& figures) {
  std::erase_if(figures.pipelines, [&](const metrics::PipelineFigures& pipeline) {
    const Pipelines::Entry* entry = entry_of(state, pipeline.number);
    return entry == nullptr || !sight.of(*entry) || (!name.empty() && pipeline.name != name);
  });
  for (auto& pipeline : figures.pipelines) {
    for (auto& ring : pipeline.rings) hide(sight, ring);
    if (!sight.of_everything()) pipeline.store.clear();
  }
  if (!sight.of_everything()) figures.stores.clear();
}

Json document_of(const metrics::Verdict& verdict) {
  Json remedies = Json::array();
  for (const auto& remedy : verdict.remedies)
    remedies.push_back({{"change", remedy.change}, {"speedup", remedy.speedup}, {"is_done", remedy.is_done}});
  return {
      {"limiter", verdict.limiter}, {"sentence", verdict.sentence},           {"confidence", verdict.confidence},
      {"waiting", verdict.waiting}, {"samples_per_s", verdict.samples_per_s}, {"trainer_per_s", verdict.trainer_per_s},
      {"remedies", remedies}};
}

// The verdict needs all that the window has; only the store's name is kept from others.
Json verdict_on(const Sight& sight, const metrics::Window& window, const Pipelines::Entry& entry) {
  const auto& pipelines = window.figures.pipelines;
  const auto at = std::find_if(pipelines.begin(), pipelines.end(),
                               [&](const auto& pipeline) { return pipeline.number == entry.number; });
  metrics::PipelineFigures judged = at == pipelines.end() ? metrics::PipelineFigures() : *at;
  if (!sight.of_everything() && !judged.store.empty()) judged.store = "of this data set";
  Json verdict = document_of(metrics::judge(window, judged));
  verdict["pipeline"] = entry.shown_name;
  verdict["seconds"] = window.seconds;
  return verdict;
}

}  // namespace

Json verdict_document_on(const State& state, const Sight& sight, const Pipelines::Entry& entry) {
  return verdict_on(sight, state.history.window(measure_with(state, entry), kJudgedWindowS), entry);
}

Json metrics_document(const State& state, const Sight& sight, std::string_view pipeline) {
  metrics::NodeFigures now = measure(state);
  metrics::NodeFigures shown = now;
  keep_visible(state, sight, pipeline, shown);
  Json out = {{"now", metrics::totals_of(shown)}};
  for (const uint32_t seconds : metrics::History::kWindowsS) {
    metrics::Window window = state.history.window(now, seconds);
    if (seconds == kJudgedWindowS) {
      Json verdicts = Json::array();
      for (const auto& judged : shown.pipelines)
        if (const auto* entry = entry_of(state, judged.number)) verdicts.push_back(verdict_on(sight, window, *entry));
      out["verdicts"] = std::move(verdicts);
    }
    keep_visible(state, sight, pipeline, window.figures);
    out["last_" + std::to_string(seconds) + "_s"] = metrics::rates_of(window);
  }
  return out;
}

}  // namespace spdld::node
