#include "client/cli/top/sight.h"

#include <map>

#include "client/cli/query.h"

namespace spdld::cli::top {
namespace {

using config::Json;

constexpr double kBusyUse = 0.9;

// Tells pipelines of one name apart by their order in a list.
class Keys {
 public:
  std::string next(const std::string& name) {
    const size_t number = ++met_[name];
    return number == 1 ? name : name + "#" + std::to_string(number);
  }

 private:
  std::map<std::string, size_t> met_;
};

std::map<std::string, const Json*> by_key(const Json& list, const char* name) {
  std::map<std::string, const Json*> found;
  Keys keys;
  for (const Json& entry : list) found[keys.next(text_or_empty(entry, name))] = &entry;
  return found;
}

const Json& entry_or_empty(const std::map<std::string, const Json*>& entries, const std::string& key) {
  static const Json none = Json::object();
  const auto at = entries.find(key);
  return at == entries.end() ? none : *at->second;
}

}  // namespace

Sight sight_of(const Json& document, uint32_t window_s) {
  Sight sight;
  sight.document = &document;
  sight.node = &table_or_empty(document, ("last_" + std::to_string(window_s) + "_s").c_str());
  sight.window_s = window_s;
  const auto rates = by_key(list_or_empty(*sight.node, "pipelines"), "name");
  const auto verdicts = by_key(list_or_empty(document, "verdicts"), "pipeline");
  Keys keys;
  for (const Json& now : list_or_empty(table_or_empty(document, "now"), "pipelines")) {
    const std::string name = text_or_empty(now, "name"), key = keys.next(name);
    sight.pipelines.push_back({name, key, &now, &entry_or_empty(rates, key), &entry_or_empty(verdicts, key)});
  }
  return sight;
}

std::vector<RingSight> rings_of(const PipelineSight& pipeline) {
  static const Json none = Json::object();
  const auto nows = list_or_empty(*pipeline.now, "rings").values();
  const auto rates = list_or_empty(*pipeline.rates, "rings").values();  // in the same order
  std::vector<RingSight> rings;
  for (size_t r = 0; r < nows.size(); r++) {
    const bool is_same = r < rates.size() && count_or_zero(rates[r], "rank") == count_or_zero(nows[r], "rank");
    rings.push_back({&nows[r], is_same ? &rates[r] : &none});
  }
  return rings;
}

std::vector<TrainerSight> trainers_of(const PipelineSight& pipeline) {
  static const Json none = Json::object();
  std::vector<TrainerSight> trainers;
  size_t number = 0;
  for (const RingSight& ring : rings_of(pipeline)) {
    const auto nows = list_or_empty(*ring.now, "trainers").values();
    const auto rates = list_or_empty(*ring.rates, "trainers").values();
    for (size_t t = 0; t < nows.size(); t++, number++) {
      const uint64_t pid = count_or_zero(nows[t], "pid");
      const bool is_same = t < rates.size() && count_or_zero(rates[t], "pid") == pid;
      trainers.push_back(
          {std::to_string(number) + " " + std::to_string(pid), &nows[t], is_same ? &rates[t] : &none, ring.now});
    }
  }
  return trainers;
}

const Json& stage_of(const Json& pipeline, std::string_view name) {
  static const Json none = Json::object();
  for (const Json& stage : list_or_empty(pipeline, "stages"))
    if (text_or_empty(stage, "name") == name) return stage;
  return none;
}

RingSums ring_sums(const Json& pipeline) {
  RingSums sums;
  for (const Json& ring : list_or_empty(pipeline, "rings")) {
    sums.ready += count_or_zero(ring, "ready");
    sums.slots += count_or_zero(ring, "slots");
    sums.trainers += list_or_empty(ring, "trainers").size();
  }
  return sums;
}

uint64_t bad_of(const Json& totals) {
  return count_or_zero(totals, "damaged") + count_or_zero(totals, "unsupported") + count_or_zero(totals, "too_long");
}

std::optional<double> hit_rate(const Json& caches) {
  double hits = 0, misses = 0;
  for (const Json& cache : caches) {
    hits += number_or_zero(cache, "memory_hits_per_s") + number_or_zero(cache, "disk_hits_per_s");
    misses += number_or_zero(cache, "misses_per_s");
  }
  if (hits + misses <= 0) return std::nullopt;
  return hits / (hits + misses);
}

double ratio(double of, double whole) { return whole > 0 ? of / whole : 0; }

std::string busy_text(double busy, uint64_t lanes) { return decimal_text(busy, 1) + "/" + std::to_string(lanes); }

std::string level_text(uint64_t level, uint64_t most) { return std::to_string(level) + "/" + std::to_string(most); }

Style use_style(double use) { return use >= kBusyUse ? Style::kWarning : Style::kGood; }

}  // namespace spdld::cli::top
