#include "daemon/node/sight.h"

#include <algorithm>

#include "config/uri_pattern.h"
#include "daemon/node/access.h"

namespace spdld::node {
namespace {

constexpr const char* kHidden = "...";

void hide(std::string& path) {
  if (!path.empty()) path = kHidden;
}

void hide(config::Selection& selection) {
  hide(selection.include);
  hide(selection.exclude);
}

// Each path that the spec names, the longest first: one may begin another.
std::vector<std::string> paths_of(const config::PipelineSpec& spec) {
  std::vector<std::string> paths = {spec.order.include, spec.order.exclude};
  if (spec.order.weights != config::kWeightsByClass) paths.push_back(spec.order.weights);
  for (const auto& source : spec.sources) {
    paths.insert(paths.end(), {source.include, source.exclude});
    paths.insert(paths.end(), source.uris.begin(), source.uris.end());
    for (std::string place : config::places_of(source)) paths.push_back(std::move(place));
  }
  std::erase_if(paths, [](const std::string& path) { return path.size() < 2; });  // "/" stands in every path
  std::sort(paths.begin(), paths.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return paths;
}

}  // namespace

bool Sight::of_everything() const { return is_owner(client_.uid); }

bool Sight::of_user(uid_t uid) const { return of_everything() || is_same_user(client_, uid); }

bool Sight::of(const control::Client& other) const { return client_.session == other.session || of_user(other.uid); }

bool Sight::of(const Pipelines::Entry& entry) const {
  if (of_everything()) return true;
  return entry.named_as.empty() ? is_same_user(client_, entry.uid)
                                : may_use(view_.options.settings, entry.named_as, client_);
}

bool Sight::of_paths(const Pipelines::Entry& entry) const { return of_everything() || entry.named_as.empty(); }

config::PipelineSpec Sight::spec(const Pipelines::Entry& entry) const {
  config::PipelineSpec spec = entry.spec;
  if (of_paths(entry)) return spec;
  hide(spec.order);
  if (spec.order.weights != config::kWeightsByClass) hide(spec.order.weights);
  for (auto& source : spec.sources) {
    hide(source);
    for (std::string& uri : source.uris) hide(uri);
  }
  return spec;
}

std::string Sight::sentence(const Pipelines::Entry& entry, const std::string& text) const {
  return of_paths(entry) ? text : without_paths(text, entry.spec);
}

std::string without_paths(std::string text, const config::PipelineSpec& spec) {
  for (const std::string& path : paths_of(spec))
    for (size_t at = 0; (at = text.find(path, at)) != std::string::npos; at += std::string_view(kHidden).size())
      text.replace(at, path.size(), kHidden);
  return text;
}

}  // namespace spdld::node
