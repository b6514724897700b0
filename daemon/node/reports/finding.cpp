#include "daemon/node/reports/finding.h"

#include <cstdint>
#include <filesystem>
#include <tuple>

#include "config/text/words.h"
#include "daemon/node/reports/description.h"
#include "daemon/node/reports/sight.h"
#include "proto/text.h"

namespace spdld::node {
namespace {

constexpr std::string_view kFirst = "#1";

// A trainer has the pipeline, or waits until it is listed.
bool has_trainer(const State& state, const Pipelines::Entry& entry) {
  return !entry.waiting.empty() || !feeds_of(state, entry).empty();
}

}  // namespace

Result<const Pipelines::Entry*> find_pipeline(const State& state, Asker asker, const std::string& name) {
  const Sight sight(state, asker);
  const bool is_numbered = name.find('#') != std::string::npos;
  const std::string shown = name.ends_with(kFirst) ? name.substr(0, name.size() - kFirst.size()) : name;
  const Pipelines::Entry* found = nullptr;
  // The greatest is meant.
  using Rank = std::tuple<bool, bool, uint64_t, uint64_t>;
  Rank best;
  for (const auto& [key, entry] : state.pipelines.entries()) {
    if (!sight.of(*entry)) continue;
    const bool is_shown_so = entry->shown_name == shown;
    if (is_numbered ? !is_shown_so : !is_shown_so && entry->spec.name != name) continue;
    const bool is_trained = has_trainer(state, *entry);
    const Rank rank = {is_trained, is_trained && is_shown_so, is_trained ? 0 : entry->idle_since_ns, entry->number};
    if (found == nullptr || rank > best) {
      found = entry.get();
      best = rank;
    }
  }
  if (found) return found;
  if (available_pipelines(state, asker).contains(name))
    return Error{Trouble::kNotFound, "pipeline '" + name + "' is available, but nobody has opened it yet"};
  return not_open(name);
}

Result<const Pipelines::Entry*> find_pipeline_of(const State& state, Asker asker, const std::string& name,
                                                 const std::string& group) {
  const Sight sight(state, asker);
  for (const auto& [key, entry] : state.pipelines.entries()) {
    if (entry->spec.name != name && entry->shown_name != name) continue;
    for (const auto& [feed_key, feed] : feeds_of(state, *entry))
      if (sight.of_user(feed_key.uid) && feed->has_job(group)) return entry.get();
  }
  return Error{Trouble::kNotFound, "no job '" + config::printable(group) + "' has a pipeline '" +
                                       config::printable(name) + "' here: see spdlctl ls"};
}

std::set<std::string> available_pipelines(const State& state, Asker asker) {
  std::set<std::string> names;
  const auto& folder = state.options.settings.pipelines_dir;
  std::error_code error, ignored;
  if (folder.empty()) return names;
  for (const auto& file : std::filesystem::directory_iterator(folder, error))
    if (file.path().extension() == ".toml" && file.is_regular_file(ignored) &&
        proto::text_fault(proto::TextKind::kPipeline, file.path().stem().native()).empty() &&
        asker.may_use(state.options.settings, file.path().stem()))
      names.insert(file.path().stem());
  for (const auto& [key, entry] : state.pipelines.entries())
    if (!entry->looks) names.erase(entry->named_as);
  return names;
}

Error not_open(const std::string& name) {
  return {Trouble::kNotFound, "no pipeline '" + config::printable(name) + "' is open here: see spdlctl ls"};
}

Error still_being_listed(const std::string& name) {
  return {Trouble::kNotFound, "pipeline '" + name + "' is still being listed"};
}

}  // namespace spdld::node
