#include "daemon/node/reports/sight.h"

#include "config/side_paths.h"
#include "config/uri_pattern.h"

namespace spdld::node {
namespace {

constexpr const char* kHidden = "...";

void hide(std::string& path) {
  if (!path.empty()) path = kHidden;
}

void hide(config::Selection& selection) {
  hide(selection.include);
  hide(selection.exclude);
  if (selection.part.has_groups_file()) hide(selection.part.groups);
}

}  // namespace

bool Sight::of_everything() const { return asker_.is_owner(); }

bool Sight::of_user(uid_t uid) const { return of_everything() || asker_.is_user(uid); }

bool Sight::of(const control::Client& other) const { return asker_.has_session(other.session) || of_user(other.uid); }

bool Sight::of(const Pipelines::Entry& entry) const {
  if (entry.looks) return false;
  if (of_everything()) return true;
  return entry.named_as.empty() ? asker_.is_user(entry.uid) : asker_.may_use(state_.options.settings, entry.named_as);
}

bool Sight::of_paths(const Pipelines::Entry& entry) const { return of_everything() || entry.named_as.empty(); }

config::PipelineSpec Sight::spec(const Pipelines::Entry& entry) const {
  config::PipelineSpec spec = entry.spec;
  if (of_paths(entry)) return spec;
  hide(spec.order);
  if (spec.order.has_weights_file()) hide(spec.order.weights);
  for (auto& source : spec.sources) {
    hide(source);
    if (config::is_list_path(source.classes)) hide(source.classes);
    for (std::string& uri : source.uris) hide(uri);
  }
  config::for_each_side_path(spec.outputs, [](std::string& path) { hide(path); });
  return spec;
}

std::string Sight::sentence(const Pipelines::Entry& entry, const std::string& text) const {
  return of_paths(entry) ? text : hidden_paths(entry.spec).shown(text);
}

control::HiddenPaths hidden_paths(const config::PipelineSpec& spec) {
  std::vector<std::string> paths;
  for (config::ListPath& list : config::list_paths_of(spec)) paths.push_back(std::move(list.path));
  for (const auto& source : spec.sources) {
    paths.insert(paths.end(), source.uris.begin(), source.uris.end());
    for (std::string place : config::places_of(source)) paths.push_back(std::move(place));
  }
  for (std::string& path : config::side_paths_of(spec)) paths.push_back(std::move(path));
  return control::HiddenPaths(std::move(paths));
}

}  // namespace spdld::node
